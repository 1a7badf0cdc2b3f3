"""What can go wrong between a host and a server, sorted by who has to act.

Owns the one family of errors that this package raises. The type names the side at fault, the attributes carry the
data, and the text ends with the next move. Which answer becomes which error is decided in `answers`,
and what a broken connection becomes in `failures`.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from agent_discovery.wire import EXTENSION_VERSION_NOT_SUPPORTED

if TYPE_CHECKING:
    from agent_discovery.versions import Version

    from .challenge import Challenge

__all__ = [
    "BadRequest",
    "ExtensionMissing",
    "ExtensionVersionNotSupported",
    "HostError",
    "InsufficientScope",
    "NotAuthenticated",
    "ProtocolVersionTooLow",
    "ServerFault",
    "ServerRefused",
    "SessionEnded",
    "StreamLost",
    "TimedOut",
    "Unreachable",
    "UnsupportedProtocolVersion",
]

_NO_HEADERS: Mapping[str, str] = MappingProxyType({})


class HostError(Exception):
    """The family: catch this one to catch everything that this package raises."""


class BadRequest(HostError, ValueError):
    """The caller of this package asked for something that cannot be done; nothing was sent."""


class ServerRefused(HostError):
    """The server understood and said no: a JSON-RPC error or an HTTP refusal.

    `code` is the JSON-RPC error code (None where the refusal was HTTP only), `message` and `data` are the server's
    own, `status` is the HTTP status (0 when unknown), `headers` the answer's headers with lower-case names.
    """

    def __init__(
        self,
        message: str,
        *,
        code: int | None = None,
        data: Any = None,
        status: int = 0,
        headers: Mapping[str, str] = _NO_HEADERS,
    ) -> None:
        self.code = code
        self.message = message
        self.data = data
        self.status = status
        self.headers = headers
        super().__init__(self._text())

    @property
    def reason(self) -> str | None:
        """`data.reason`, by which the draft tells refusals of one code apart; None where there is none."""
        reason = self.data.get("reason") if isinstance(self.data, Mapping) else None
        return reason if isinstance(reason, str) else None

    def _text(self) -> str:
        marks = [f"JSON-RPC {self.code}"] if self.code is not None else []
        marks += [f"HTTP {self.status}"] if self.status else []
        marks += [self.reason] if self.reason else []
        text = f"the server refused: {self.message}" + (f" ({', '.join(marks)})" if marks else "")
        move = self._next_move()
        return f"{text}; {move}" if move else text

    def _next_move(self) -> str:
        # An MCP server that refuses a message says why in JSON-RPC; a bare status is a web server without this page.
        nowhere = self.code is None and self.status == 404
        return "not an MCP endpoint? Check the path (often /mcp)" if nowhere else ""


class NotAuthenticated(ServerRefused):
    """HTTP 401: the request carried no token, or none that the server accepts (RFC 6750 section 3)."""

    def _next_move(self) -> str:
        return "connect with a token that this server accepts"


class InsufficientScope(ServerRefused):
    """HTTP 403 with a Bearer challenge `insufficient_scope` (RFC 6750 section 3.1); see `challenge`."""

    def __init__(
        self,
        message: str,
        *,
        challenge: "Challenge",
        data: Any = None,
        status: int = 403,
        headers: Mapping[str, str] = _NO_HEADERS,
    ) -> None:
        self.challenge = challenge
        super().__init__(message, data=data, status=status, headers=headers)

    def _next_move(self) -> str:
        wanted = " ".join(self.challenge.scope)
        if not wanted:
            return "the challenge names no scope, so ask the server's operator which one is needed"
        return f'get a token that also has scope "{wanted}" and retry the same request'


class SessionEnded(ServerRefused):
    """HTTP 404 for a session: it has expired, was ended, or belongs to another user."""

    def _next_move(self) -> str:
        return "open a new connection"


class UnsupportedProtocolVersion(ServerRefused):
    """The server does not speak the protocol version that was asked for (-32022, or another answer to `initialize`).

    `supported` holds the versions that the server named, `requested` the one that it refused.
    """

    def __init__(
        self,
        message: str,
        *,
        supported: tuple[str, ...] = (),
        requested: str | None = None,
        code: int | None = None,
        data: Any = None,
        status: int = 0,
        headers: Mapping[str, str] = _NO_HEADERS,
    ) -> None:
        self.supported = supported
        self.requested = requested
        super().__init__(message, code=code, data=data, status=status, headers=headers)

    def _next_move(self) -> str:
        if not self.supported:
            return "try the other wire"
        return f"it speaks {', '.join(self.supported)}: connect with the wire that matches, or with wire='auto'"


class ExtensionVersionNotSupported(ServerRefused):
    """The server does not speak the declared major of the extension (-32005), and no other one could be agreed on.

    `requested` is what the server took for declared, `supported` what it has. Source: extension-versioning draft.
    """

    def __init__(
        self,
        message: str,
        *,
        supported: "tuple[Version, ...]",
        requested: str,
        data: Any = None,
        status: int = 0,
        headers: Mapping[str, str] = _NO_HEADERS,
    ) -> None:
        self.supported = supported
        self.requested = requested
        super().__init__(message, code=EXTENSION_VERSION_NOT_SUPPORTED, data=data, status=status, headers=headers)

    def _next_move(self) -> str:
        return (
            f"it has {', '.join(map(str, self.supported))} of the extension, and {self.requested} was declared: "
            "declare one of its majors if this host speaks it, else go on with tools/list and tools/call"
        )


class ServerFault(HostError):
    """The server broke the protocol: the answer cannot be what was asked for.

    `detail` says what is wrong with it and `status` is the HTTP status (0 when unknown).
    """

    def __init__(self, detail: str, *, status: int = 0) -> None:
        self.detail = detail
        self.status = status
        super().__init__(f"the server is at fault: {detail}" + (f" (HTTP {status})" if status else ""))


class Unreachable(HostError):
    """No connection to the server could be made; `url` is where it was tried."""

    def __init__(self, url: str, detail: str) -> None:
        self.url = url
        self.detail = detail
        super().__init__(f"cannot reach {url}: {detail}; check the address and that the server is running")


class TimedOut(HostError):
    """No answer to `method` within `seconds`; whether the server acted on the request is unknown."""

    def __init__(self, method: str, seconds: float) -> None:
        self.method = method
        self.seconds = seconds
        super().__init__(f"no answer to {method} within {seconds:g} s; retry, or allow more time with timeout=")


class StreamLost(HostError):
    """The network connection broke while an answer or a stream was under way; `detail` says how."""

    def __init__(self, detail: str) -> None:
        self.detail = detail
        super().__init__(f"the connection broke: {detail}; reconnect and treat what was cached as stale")


class ExtensionMissing(HostError):
    """The server does not advertise agent discovery, so neither method may be called (draft, "Negotiation")."""

    def __init__(self, server: str) -> None:
        self.server = server
        super().__init__(f"{server} does not advertise agent discovery; go on with tools/list and tools/call")


class ProtocolVersionTooLow(HostError):
    """The server's agents need a newer protocol version than this connection speaks (`requires.protocolVersion`).

    Nothing was refused: the server leaves it to the host to decline (extension-versioning draft, "Protocol Version
    Dependencies"). `required` and `spoken` are protocol versions.
    """

    def __init__(self, server: str, *, required: str, spoken: str) -> None:
        self.server = server
        self.required = required
        self.spoken = spoken
        super().__init__(
            f"the agents of {server} need protocol version {required} or newer, and this connection speaks {spoken}; "
            "connect with the wire that has it, or go on with tools/list and tools/call"
        )
