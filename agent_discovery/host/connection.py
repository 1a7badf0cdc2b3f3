"""A host's connection to one MCP server, and what both wires have in common.

Owns the credential, the opening, views that speak with another token, and the choice between the wires. What a
request looks like is in `session` and `stateless`; sending it, and what an answer means, in `exchange` and `answers`.
"""

import copy
import hashlib
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, ClassVar, Literal, Self

import anyio
import httpx

from agent_discovery.wire import EXTENSION_ID, LIST_CHANGED, extension_settings

from .errors import BadRequest, ExtensionMissing
from .exchange import Call, Channel
from .frames import Observer

__all__ = ["ClientInfo", "Connection", "Credential", "Notification", "Opening", "Wire"]

Wire = Literal["session", "stateless"]

_CLOSING_SECONDS = 2.0


@dataclass(frozen=True, slots=True)
class Credential:
    """A bearer token (RFC 6750), and a label for people. Its repr does not show the token."""

    token: str = field(repr=False)
    label: str = ""

    def __post_init__(self) -> None:
        if not self.token or not all("!" <= character <= "~" for character in self.token):
            raise BadRequest(
                "Credential: token must be visible ASCII without spaces; pass the bare token, no 'Bearer '"
            )

    @property
    def context(self) -> str:
        """Names the authorization context without giving away the token: stable, one per token."""
        return "token-" + hashlib.sha256(self.token.encode()).hexdigest()[:32]


@dataclass(frozen=True, slots=True)
class ClientInfo:
    """How this host introduces itself to servers."""

    name: str = "agent-discovery-host"
    version: str = "0.1.0"

    def to_wire(self) -> dict[str, str]:
        """The `clientInfo` object that travels."""
        return {"name": self.name, "version": self.version}


@dataclass(frozen=True, slots=True)
class Opening:
    """What the server said of itself: in answer to `initialize` or to `server/discover`.

    `settings` are those it advertises for the extension, None where it does not advertise it.
    """

    wire: Wire
    protocol_version: str
    server_info: Mapping[str, Any]
    capabilities: Mapping[str, Any]
    instructions: str | None
    settings: Mapping[str, Any] | None

    @classmethod
    def of(
        cls, wire: Wire, protocol_version: str, server_info: object, capabilities: object, instructions: object
    ) -> "Opening":
        """Take what a result holds; members of the wrong type count as absent."""
        return cls(
            wire=wire,
            protocol_version=protocol_version,
            server_info=server_info if isinstance(server_info, dict) else {},
            capabilities=capabilities if isinstance(capabilities, dict) else {},
            instructions=instructions if isinstance(instructions, str) else None,
            settings=extension_settings(capabilities),
        )

    @property
    def has_agents(self) -> bool:
        """Whether the server advertises agent discovery; only then may a host use it."""
        return self.settings is not None

    def require_agents(self) -> None:
        """Raise `ExtensionMissing` unless the server advertises agent discovery."""
        if not self.has_agents:
            raise ExtensionMissing(str(self.server_info.get("name", "the server")))


@dataclass(frozen=True, slots=True)
class Notification:
    """A notification as it arrived on a stream; `params` is empty where it had none."""

    method: str
    params: Mapping[str, Any]

    @property
    def is_list_changed(self) -> bool:
        """Whether it says that the roster, or a card in it, changed."""
        return self.method == LIST_CHANGED


@dataclass(slots=True)
class Shared:
    """What a connection and its views share: one opening, and on the session wire one session."""

    opening: Opening | None = None
    session_id: str | None = None
    protocol_version: str | None = None
    contexts: set[str] = field(default_factory=set)


class Connection(ABC):
    """One server, one wire, one token. Requests may be under way at the same time, also through views.

    Make one with `connect` (opened) or `build_connection` (not opened yet). Use it as an async context manager, or
    call `aclose`.
    """

    wire: ClassVar[Wire]

    def __init__(
        self,
        channel: Channel,
        credential: Credential | None,
        *,
        timeout: float,
        client_info: ClientInfo,
        declare_extension: bool,
    ) -> None:
        self._channel = channel
        self._shared = Shared()
        self._client_info = client_info
        self._declares = declare_extension
        self._is_view = False
        self.timeout = timeout
        self.credential = credential
        self._shared.contexts.add(self.authorization)

    @property
    def url(self) -> str:
        """The endpoint, as given."""
        return self._channel.url

    @property
    def opening(self) -> Opening | None:
        """What the server said of itself; None before `open`."""
        return self._shared.opening

    @property
    def authorization(self) -> str:
        """Names the authorization context of this connection's token; empty without a token."""
        return self.credential.context if self.credential else ""

    @property
    def listens_for(self) -> frozenset[str]:
        """The authorization contexts whose changes `notifications` of this connection announce."""
        return frozenset({self.authorization})

    @abstractmethod
    async def open(self) -> Opening:
        """Ask the server who it is and what it offers. Raises `HostError`."""

    @abstractmethod
    def notifications(self) -> AbstractAsyncContextManager[AsyncIterator[Notification]]:
        """A stream of what the server tells unasked; entered only once it is really open.

        Iteration ends where the server ended the stream on purpose and raises `StreamLost` where it broke.
        """

    @abstractmethod
    def _dress(self, message: dict[str, Any]) -> Call:
        """The request as this wire sends it: headers, and what belongs into the message."""

    async def request(
        self, method: str, params: Mapping[str, Any] | None = None, *, timeout: float | None = None
    ) -> dict[str, Any]:
        """Send a JSON-RPC request; returns its `result` object as received. Raises `HostError`.

        `timeout` in seconds covers the whole exchange, and is the connection's own where it is not given.
        """
        message: dict[str, Any] = {"jsonrpc": "2.0", "id": self._channel.next_id(), "method": method}
        if params is not None:
            message["params"] = dict(params)
        answer = await self._channel.ask(self._dress(message), self.timeout if timeout is None else timeout)
        return answer.result

    def as_token(self, credential: Credential | None) -> Self:
        """The same connection speaking with another token: same session, HTTP pool, frame numbers and observers.

        Closing a view closes nothing.
        """
        view = copy.copy(self)
        view.credential = credential
        view._is_view = True
        self._shared.contexts.add(view.authorization)
        return view

    def on_wire(self, other: "type[Connection]") -> "Connection":
        """An unopened connection on the other wire, with this one's HTTP pool, frame numbers and observers."""
        return other(
            self._channel,
            self.credential,
            timeout=self.timeout,
            client_info=self._client_info,
            declare_extension=self._declares,
        )

    def observe(self, observer: Observer) -> Callable[[], None]:
        """Have `observer` called with each frame of this connection and its views; returns what undoes it."""
        return self._channel.observe(observer)

    async def aclose(self) -> None:
        """End the session, if there is one, and close the HTTP pool. Bounded, idempotent, never raises."""
        if self._is_view or self._channel.closed:
            return
        with anyio.CancelScope(shield=True):
            with anyio.move_on_after(_CLOSING_SECONDS):
                await self._say_goodbye()
            await self._channel.aclose()

    async def __aenter__(self) -> Self:
        """Open the connection unless it is open already."""
        if self.opening is None:
            try:
                await self.open()
            except BaseException:
                await self.aclose()
                raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the connection; see `aclose`."""
        await self.aclose()

    @abstractmethod
    async def _say_goodbye(self) -> None:
        """What this wire tells the server before closing."""

    def _call(self, headers: Mapping[str, str], message: Mapping[str, Any] | None, http_method: str = "POST") -> Call:
        token, label = (self.credential.token, self.credential.label) if self.credential else (None, "")
        return Call(
            http_method=http_method,
            headers={"Accept": "application/json, text/event-stream", **headers},
            message=message,
            token=token,
            caller=label,
            in_session="Mcp-Session-Id" in headers,
        )

    def _capabilities(self) -> dict[str, Any]:
        return {"extensions": {EXTENSION_ID: {}}} if self._declares else {}


def checked_url(url: str) -> str:
    """The endpoint, or `BadRequest` where it cannot be one."""
    try:
        parsed = httpx.URL(url)
    except (httpx.InvalidURL, TypeError) as error:
        raise BadRequest(
            f"url must be an http or https address, got {url!r} ({error}); e.g. http://host/mcp"
        ) from error
    if parsed.scheme not in ("http", "https") or not parsed.host:
        raise BadRequest(f"url must be an http or https address, got {url!r}; e.g. http://host/mcp")
    if parsed.userinfo:
        raise BadRequest("url must not hold a user name or password; pass a Credential instead")
    return url
