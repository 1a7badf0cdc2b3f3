"""Which answer is which: a result, a refusal by the server, or a fault of the server.

Owns the mapping from HTTP status, headers and JSON-RPC body to the error family; values in, values out. Sources:
JSON-RPC 2.0 section 5, MCP Streamable HTTP (statuses), RFC 6750 section 3 (challenges).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import httpx

from agent_discovery.versions import InvalidVersion, Version, one_per_major
from agent_discovery.wire import (
    EXTENSION_ID,
    EXTENSION_VERSION_NOT_SUPPORTED,
    METHOD_NOT_FOUND,
    PROTOCOL_VERSION_NOT_SUPPORTED,
)

from .challenge import parse_challenges
from .errors import (
    ExtensionVersionNotSupported,
    HostError,
    InsufficientScope,
    NotAuthenticated,
    ServerFault,
    ServerRefused,
    SessionEnded,
    UnsupportedProtocolVersion,
)
from .events import parse_json

__all__ = ["Answer", "Asked", "read_result", "refusal"]

_EXCERPT = 200


class Asked(Protocol):
    """What must be known of a request to judge its answer."""

    @property
    def name(self) -> str: ...
    @property
    def message(self) -> Mapping[str, Any] | None: ...
    @property
    def in_session(self) -> bool: ...


@dataclass(frozen=True, slots=True)
class Answer:
    """A complete answer: `message` is the JSON-RPC response if the body is one; `body` JSON, else text, else None."""

    status: int
    headers: Mapping[str, str]
    message: Mapping[str, Any] | None
    body: Any

    @classmethod
    def of(cls, response: httpx.Response, content: bytes) -> "Answer":
        """Parse a body that was read whole."""
        headers = {name.lower(): value for name, value in response.headers.items()}
        body: Any = None
        if content:
            try:
                body = parse_json(content)
            except ValueError:
                # Whatever charset it claims: MCP's texts are UTF-8, and the claim may name no charset at all.
                body = content.decode(errors="replace")
        is_response = isinstance(body, dict) and body.get("jsonrpc") == "2.0" and ("result" in body or "error" in body)
        return cls(response.status_code, headers, body if is_response else None, body)

    @property
    def result(self) -> dict[str, Any]:
        """The `result` of an answer that `read_result` let pass."""
        result: dict[str, Any] = (self.message or {})["result"]
        return result


def read_result(asked: Asked, answer: Answer, url: str) -> dict[str, Any]:
    """The result object of an answer to a JSON-RPC request, or the error that the answer amounts to."""
    if not 200 <= answer.status < 300:
        raise refusal(asked, answer, url)
    message = answer.message
    if message is None:
        raise _not_json_rpc(asked, answer, url)
    has_result, error = "result" in message, message.get("error")
    if message.get("jsonrpc") != "2.0" or has_result == ("error" in message):
        raise ServerFault(f"its answer to {asked.name} is not a JSON-RPC response", status=answer.status)
    if not has_result and message.get("id") is None and isinstance(error, dict):
        raise refusal(asked, answer, url)  # JSON-RPC leaves the id out where it could not be read
    expected, got = (asked.message or {}).get("id"), message.get("id")
    if type(got) is not type(expected) or got != expected:
        raise ServerFault(f"its answer to {asked.name} has id {got!r} instead of {expected!r}", status=answer.status)
    if not has_result:
        raise refusal(asked, answer, url)
    if not isinstance(message["result"], dict):
        kind = type(message["result"]).__name__
        raise ServerFault(f"the result of {asked.name} is {kind}, not an object", status=answer.status)
    return message["result"]


def refusal(asked: Asked, answer: Answer, url: str) -> HostError:
    """The error for an answer that carries no result."""
    status, headers = answer.status, answer.headers
    if denied := _denied(asked, answer):
        return denied
    if error := _json_rpc_error(answer):
        return _rpc_refusal(error, answer)
    if 300 <= status < 400:
        return _redirect(answer, url)
    if 400 <= status < 500:
        return ServerRefused(_text(answer, f"{asked.name} at {url}"), data=answer.body, status=status, headers=headers)
    return ServerFault(f"no usable answer to {asked.name}: {_text(answer, 'empty body')}", status=status)


def _denied(asked: Asked, answer: Answer) -> ServerRefused | None:
    """The refusals that HTTP itself tells apart, whatever the body says."""
    status, headers = answer.status, answer.headers
    if status == httpx.codes.UNAUTHORIZED:
        return NotAuthenticated(_text(answer, "no valid token"), status=status, headers=headers, data=answer.body)
    if status == httpx.codes.FORBIDDEN:
        return _insufficient_scope(answer)
    error = _json_rpc_error(answer) or {}
    if asked.in_session and status == httpx.codes.NOT_FOUND and error.get("code") != METHOD_NOT_FOUND:
        return SessionEnded(_text(answer, "the session is unknown"), status=status, headers=headers)
    return None


def _json_rpc_error(answer: Answer) -> Mapping[str, Any] | None:
    error = answer.message.get("error") if answer.message else None
    if not isinstance(error, dict) or type(error.get("code")) is not int:
        return None
    return error


def _rpc_refusal(error: Mapping[str, Any], answer: Answer) -> HostError:
    code, message, data = error["code"], str(error.get("message", "")), error.get("data")
    if code == PROTOCOL_VERSION_NOT_SUPPORTED:
        return _unsupported_protocol(message, data, answer)
    if code == EXTENSION_VERSION_NOT_SUPPORTED and (ours := _versions_refused(data)) is not None:
        return _unsupported_extension(message, ours, data, answer)
    return ServerRefused(message, code=code, data=data, status=answer.status, headers=answer.headers)


def _unsupported_protocol(message: str, data: Any, answer: Answer) -> UnsupportedProtocolVersion:
    named = data if isinstance(data, dict) else {}
    supported = named.get("supported")
    return UnsupportedProtocolVersion(
        message,
        supported=tuple(map(str, supported)) if isinstance(supported, list) else (),
        requested=str(named["requested"]) if "requested" in named else None,
        code=PROTOCOL_VERSION_NOT_SUPPORTED,
        data=data,
        status=answer.status,
        headers=answer.headers,
    )


def _versions_refused(data: Any) -> Mapping[str, Any] | None:
    """What -32005 says of this extension; None where it is another extension's version that failed."""
    extensions = data.get("extensions") if isinstance(data, dict) else None
    ours = extensions.get(EXTENSION_ID) if isinstance(extensions, dict) else None
    return ours if isinstance(ours, dict) else None


def _unsupported_extension(message: str, ours: Mapping[str, Any], data: Any, answer: Answer) -> HostError:
    supported = ours.get("supported")
    try:
        versions = one_per_major(map(Version.parse, supported if isinstance(supported, list) else ()))
    except InvalidVersion as error:
        detail = f"it refuses the extension's version, and those that it names instead are malformed: {error}"
        return ServerFault(detail, status=answer.status)
    return ExtensionVersionNotSupported(
        message,
        supported=versions,
        requested=str(ours.get("requested"))[:40],
        data=data,
        status=answer.status,
        headers=answer.headers,
    )


def _insufficient_scope(answer: Answer) -> InsufficientScope | None:
    for challenge in parse_challenges(answer.headers.get("www-authenticate", "")):
        if challenge.is_bearer and challenge.error == "insufficient_scope":
            text = challenge.error_description or _text(answer, "more scope is needed")
            return InsufficientScope(
                text, challenge=challenge, data=answer.body, status=answer.status, headers=answer.headers
            )
    return None


def _redirect(answer: Answer, url: str) -> ServerFault:
    target = answer.headers.get("location", "nowhere")
    return ServerFault(
        f"{url} redirects to {target}, which is not followed as the token must not travel there; "
        "connect to that address if it is the server that you mean",
        status=answer.status,
    )


def _not_json_rpc(asked: Asked, answer: Answer, url: str) -> ServerFault:
    kind = answer.headers.get("content-type", "no content type")
    what = f"nothing in answer to {asked.name}" if answer.body is None else f"{kind} that is no JSON-RPC response"
    return ServerFault(
        f"{url} sent {what}: {_text(answer, 'empty body')} - not an MCP endpoint? Check the path (often /mcp)",
        status=answer.status,
    )


def _text(answer: Answer, otherwise: str) -> str:
    """What the server says for itself, shortened: its JSON-RPC message, OAuth description, or plain text."""
    body = answer.body
    if isinstance(body, dict):
        error = body.get("error")
        said = error.get("message") if isinstance(error, dict) else body.get("error_description") or error
        return str(said) if said else otherwise
    if not isinstance(body, str) or not body.strip():
        return otherwise
    text = " ".join(body.split())
    return text if len(text) <= _EXCERPT else text[:_EXCERPT] + "…"
