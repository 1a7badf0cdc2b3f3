"""Serving one wire only: the other is refused with the protocol's own error.

Owns `--wire session` and `--wire stateless`. It leaves both wires themselves to the SDK.
"""

import json
from typing import Any

import pydantic_core
from mcp.server.transport_security import DEFAULT_MAX_REQUEST_BODY_SIZE, RequestBodyLimitMiddleware
from mcp_types import DEFAULT_NEGOTIATED_VERSION
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS, MODERN_PROTOCOL_VERSIONS
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from agent_discovery.server.ids import on_session_wire, protocol_version_header
from agent_discovery.wire import PROTOCOL_VERSION_NOT_SUPPORTED
from server.settings import Wire

__all__ = ["OneWire"]


class OneWire:
    """ASGI wrapper that lets one wire through to `app` and answers the other with -32022, HTTP 400."""

    def __init__(self, app: ASGIApp, wire: Wire) -> None:
        self._app = app
        self._session = wire == "session"
        self._refusing = RequestBodyLimitMiddleware(self._refuse, DEFAULT_MAX_REQUEST_BODY_SIZE)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or on_session_wire(scope) == self._session:
            await self._app(scope, receive, send)
        elif scope["method"] == "POST":
            await self._refusing(scope, receive, send)
        elif self._session:
            await self._app(scope, receive, send)
        else:
            await Response(status_code=405, headers={"allow": "POST"})(scope, receive, send)

    async def _refuse(self, scope: Scope, receive: Receive, send: Send) -> None:
        message = _read((await receive()).get("body", b""))
        supported = HANDSHAKE_PROTOCOL_VERSIONS if self._session else MODERN_PROTOCOL_VERSIONS
        error = {
            "code": PROTOCOL_VERSION_NOT_SUPPORTED,
            "message": f"This server does not serve that protocol version; use one of: {', '.join(supported)}",
            "data": {"supported": list(supported), "requested": _requested(scope, message)},
        }
        request_id = message.get("id")
        known_id = request_id if isinstance(request_id, (str, int)) and not isinstance(request_id, bool) else None
        body = json.dumps({"jsonrpc": "2.0", "id": known_id, "error": error}, separators=(",", ":")).encode()
        await Response(body, 400, media_type="application/json")(scope, receive, send)


def _read(body: bytes) -> dict[str, Any]:
    try:
        message = pydantic_core.from_json(body)
    except ValueError:
        return {}
    return message if isinstance(message, dict) else {}


def _requested(scope: Scope, message: dict[str, Any]) -> str:
    """The version the client asked for: by header, by `initialize`, or, as MCP 2025-06-18 has it, the default."""
    header = protocol_version_header(scope)
    if header is not None:
        return header
    params = message.get("params")
    asked = params.get("protocolVersion") if isinstance(params, dict) else None
    return asked if isinstance(asked, str) else DEFAULT_NEGOTIATED_VERSION
