"""The session that a refused `initialize` leaves behind, ended the way a client ends one.

Owns that one clean-up. The SDK makes a session before it reads `initialize`, and drops it again only if the HTTP status
says that it was refused; a JSON-RPC error has status 200, so such a session would wait for its idle time-out and count
towards the limit. A DELETE by the same caller ends it (MCP, Streamable HTTP, "Session management").
"""

from typing import Final

from starlette.types import ASGIApp, Message, Scope

__all__ = ["end_session"]

_SESSION: Final = b"mcp-session-id"
_OF_THE_BODY: Final = (b"content-type", b"content-length", b"transfer-encoding")


async def end_session(app: ASGIApp, scope: Scope, start: Message) -> Message:
    """End the session that an answer hands out, if the request did not come with one.

    Args:
        app: the SDK's transport.
        scope: the request's; the DELETE is made of it, so that it comes from the same caller.
        start: the beginning of the answer.

    Returns the beginning of the answer without the id, or as it was where no session was handed out.
    """
    handed_out = [value for name, value in start.get("headers", ()) if name.lower() == _SESSION]
    if not handed_out or any(name == _SESSION for name, _value in scope["headers"]):
        return start
    headers = [(name, value) for name, value in scope["headers"] if name not in _OF_THE_BODY]
    await app({**scope, "method": "DELETE", "headers": [*headers, (_SESSION, handed_out[0])]}, _no_body, _unheard)
    kept = [(name, value) for name, value in start["headers"] if name.lower() != _SESSION]
    return {**start, "headers": kept}


async def _no_body() -> Message:
    return {"type": "http.request", "body": b"", "more_body": False}


async def _unheard(_message: Message) -> None:
    """Takes the answer to the DELETE, which is nobody's business."""
