"""Scope challenges: the refusal a handler raises, and the ASGI edge that gives an answer its true HTTP status.

Owns `StepUpRequired` and the way from it to HTTP 403 with a Bearer challenge (RFC 6750, section 3; MCP authorization,
"Scope challenge"). It leaves the decision to whoever raises. The edge reads no request: by the time the SDK sends the
first byte of an answer, the handler has decided, and its decision lies in a holder that travels with the request.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp_types import RequestId
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from agent_discovery.server.openings import end_session
from agent_discovery.wire import INVALID_REQUEST

__all__ = ["Challenge", "StepUpEdge", "StepUpRequired", "TrueAnswer", "answer_with", "at_edge", "opens_no_session"]

_HOLDER: Final = "agent_discovery.true_answer"
_UNQUOTABLE: Final = re.compile(r"[^\x20-\x21\x23-\x5B\x5D-\x7E]")


class StepUpRequired(MCPError):
    """The caller may know of the thing, and using it takes more scope than its token has.

    `scopes` names all that the operation takes, in order; `description` says what to do next. Behind a `StepUpEdge`
    this becomes HTTP 403; without one (stdio) it travels as the JSON-RPC error it is.
    """

    def __init__(self, scopes: tuple[str, ...], description: str) -> None:
        super().__init__(INVALID_REQUEST, description, {"reason": "insufficient_scope", "scope": " ".join(scopes)})
        self.scopes = scopes
        self.description = description


@dataclass(frozen=True)
class Challenge:
    """A `WWW-Authenticate: Bearer` challenge: the parameters but for the resource metadata, which the edge knows."""

    error: str
    scopes: tuple[str, ...]
    description: str

    def header(self, resource_metadata_url: str | None) -> str:
        """The header's value: quoted strings within RFC 6750's character set, so that nothing needs escaping."""
        parameters = {
            "error": self.error,
            "scope": " ".join(self.scopes),
            "error_description": self.description,
            "resource_metadata": resource_metadata_url,
        }
        return "Bearer " + ", ".join(
            f'{name}="{_UNQUOTABLE.sub("?", value.replace(chr(34), chr(39)))}"'
            for name, value in parameters.items()
            if value is not None
        )


@dataclass(frozen=True)
class TrueAnswer:
    """What an HTTP answer really is, in place of what the SDK is about to send."""

    status: int
    body: Mapping[str, Any]
    challenge: Challenge | None = None

    @classmethod
    def step_up(cls, refusal: StepUpRequired) -> "TrueAnswer":
        """HTTP 403 for a refusal."""
        challenge = Challenge("insufficient_scope", refusal.scopes, refusal.description)
        return cls(
            403,
            {
                "error": challenge.error,
                "error_description": challenge.description,
                "scope": " ".join(challenge.scopes),
            },
            challenge,
        )

    @classmethod
    def error(cls, status: int, request_id: RequestId | None, error: MCPError) -> "TrueAnswer":
        """A JSON-RPC error with a status of its own."""
        content = error.error.model_dump(mode="json", exclude_none=True)
        return cls(status, {"jsonrpc": "2.0", "id": request_id, "error": content})


@dataclass
class _Holder:
    """Travels in the ASGI scope of one request, from the edge to the handler and back."""

    answer: TrueAnswer | None = None
    opens_nothing: bool = False


def at_edge(ctx: ServerRequestContext[Any, Any]) -> bool:
    """Whether this request came through a `StepUpEdge`."""
    return _holder_of(ctx) is not None


def answer_with(ctx: ServerRequestContext[Any, Any], answer: TrueAnswer) -> None:
    """Say what the HTTP answer to this request is. Without an edge around the server this does nothing."""
    holder = _holder_of(ctx)
    if holder is not None:
        holder.answer = answer


def opens_no_session(ctx: ServerRequestContext[Any, Any]) -> None:
    """Say that this `initialize` was refused. Without an edge around the server this does nothing."""
    holder = _holder_of(ctx)
    if holder is not None:
        holder.opens_nothing = True


def _holder_of(ctx: ServerRequestContext[Any, Any]) -> _Holder | None:
    # On both wires of Streamable HTTP the SDK hands on the Starlette request it serves; on stdio there is none.
    scope = getattr(ctx.request, "scope", None)
    holder = scope.get(_HOLDER) if isinstance(scope, Mapping) else None
    return holder if isinstance(holder, _Holder) else None


class StepUpEdge:
    """ASGI wrapper, to be put between bearer authentication and the SDK's transport.

    It holds back the start of the answer to a POST until the first byte of its body: the SDK sends 200 for a streamed
    answer before any handler has run. If by then the handler gave a true answer, that goes out; else everything passes
    through as it comes, and streams stay streams.

    Args:
        app: the SDK's transport.
        resource_metadata_url: where the protected-resource metadata (RFC 9728) of this server is.
    """

    def __init__(self, app: ASGIApp, *, resource_metadata_url: str | None = None) -> None:
        self._app = app
        self._resource_metadata_url = resource_metadata_url

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] != "POST":
            # A GET stream sends its start at once and may have no body for hours: it must not be held.
            await self._app(scope, receive, send)
            return
        holder = _Holder()
        held: list[Message] = []
        replaced = False

        async def send_true(message: Message) -> None:
            nonlocal replaced
            if replaced:
                return
            held.append(message)
            if message["type"] == "http.response.start" or (holder.opens_nothing and holder.answer is None):
                return
            if holder.answer is not None and held[0]["type"] == "http.response.start":
                replaced = True
                await self._send(holder.answer, held[0], send)
                return
            await _flush(held, send)

        await self._app({**scope, _HOLDER: holder}, receive, send_true)
        if replaced:
            return
        if holder.opens_nothing and held:
            held[0] = await end_session(self._app, scope, held[0])
        await _flush(held, send)

    async def _send(self, answer: TrueAnswer, replaced: Message, send: Send) -> None:
        body = json.dumps(answer.body, separators=(",", ":")).encode()
        headers = [
            # The session, where there is one, outlives the refusal.
            *((name, value) for name, value in replaced.get("headers", ()) if name.lower() == b"mcp-session-id"),
            (b"content-type", b"application/json"),
            (b"content-length", str(len(body)).encode()),
            (b"cache-control", b"no-store"),
        ]
        if answer.challenge is not None:
            header = answer.challenge.header(self._resource_metadata_url)
            headers.append((b"www-authenticate", header.encode("ascii")))
        await send({"type": "http.response.start", "status": answer.status, "headers": headers})
        await send({"type": "http.response.body", "body": body, "more_body": False})


async def _flush(held: list[Message], send: Send) -> None:
    while held:
        await send(held.pop(0))
