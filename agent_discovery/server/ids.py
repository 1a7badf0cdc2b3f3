"""Requests whose id is none: refused on the session wire, where the SDK would take them for notifications.

Owns that one check. It leaves every other judgement of a body to the SDK: on any doubt the body goes on untouched.
JSON-RPC 2.0, section 4; MCP, "Requests" (an id is a string or an integer and must not be null). On the stateless wire
the SDK refuses such requests itself.
"""

import json
from typing import Final

import pydantic_core
from mcp.server.transport_security import DEFAULT_MAX_REQUEST_BODY_SIZE, RequestBodyLimitMiddleware
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from agent_discovery.wire import INVALID_REQUEST

__all__ = ["RequestIdGuard", "on_session_wire", "protocol_version_header"]

_REFUSAL: Final = json.dumps(
    {
        "jsonrpc": "2.0",
        "id": None,
        "error": {
            "code": INVALID_REQUEST,
            "message": "A request's id must be a string or an integer; send a notification without an id",
        },
    },
    separators=(",", ":"),
).encode()


def protocol_version_header(scope: Scope) -> str | None:
    """The value of `MCP-Protocol-Version`, read as the SDK reads it to choose the wire: the first one counts."""
    for name, value in scope["headers"]:
        if name == b"mcp-protocol-version":
            return str(value.decode("latin-1"))
    return None


def on_session_wire(scope: Scope) -> bool:
    """Whether the SDK serves this HTTP request on the session wire."""
    version = protocol_version_header(scope)
    return version is None or version in HANDSHAKE_PROTOCOL_VERSIONS


class RequestIdGuard:
    """ASGI wrapper around the SDK's transport.

    Args:
        app: the SDK's transport.
        max_body_size: bytes; must not be less than the transport's own limit. What is larger is answered with 413.
    """

    def __init__(self, app: ASGIApp, *, max_body_size: int = DEFAULT_MAX_REQUEST_BODY_SIZE) -> None:
        self._app = app
        # The SDK's own middleware gathers the body within the limit and hands it on in one message.
        self._gathered = RequestBodyLimitMiddleware(self._check, max_body_size)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        guarded = scope["type"] == "http" and scope["method"] == "POST" and on_session_wire(scope)
        await (self._gathered if guarded else self._app)(scope, receive, send)

    async def _check(self, scope: Scope, receive: Receive, send: Send) -> None:
        first: Message | None = await receive()
        whole = first is not None and first["type"] == "http.request" and not first.get("more_body", False)
        if first is not None and whole and _is_request_with_a_bad_id(first.get("body", b"")):
            await Response(_REFUSAL, 400, media_type="application/json")(scope, receive, send)
            return

        async def replay() -> Message:
            nonlocal first
            if first is not None:
                message, first = first, None
                return message
            return await receive()

        await self._app(scope, replay, send)


def _is_request_with_a_bad_id(body: bytes) -> bool:
    try:
        # The very function by which the SDK reads a body on this wire, so that both always read the same.
        message = pydantic_core.from_json(body)
    except ValueError:
        return False
    if not isinstance(message, dict) or "method" not in message or "id" not in message:
        return False
    return not isinstance(message["id"], (str, int)) or isinstance(message["id"], bool)
