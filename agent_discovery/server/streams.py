"""The ASGI side of GET streams: when one opens, whose it is, and that it ends when the server does.

Owns that report and the graceful end. It leaves what is sent on a stream to `changes`.
"""

from collections.abc import Callable

import anyio
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from agent_discovery.server.access import ScopesOf
from agent_discovery.server.changes import OpenStreams

__all__ = ["Closing", "StreamReporter"]


class Closing:
    """The server's decision to end its streams. `begin()` may be called on the event loop only."""

    def __init__(self) -> None:
        self._hooks: dict[object, Callable[[], None]] = {}
        self.begun = False

    def begin(self) -> None:
        """End every stream that is open, and those that open later."""
        self.begun = True
        for hook in list(self._hooks.values()):
            hook()

    def on_begin(self, hook: Callable[[], None]) -> Callable[[], None]:
        """Call `hook` when closing begins; returns what stops that."""
        token = object()
        self._hooks[token] = hook

        def forget() -> None:
            self._hooks.pop(token, None)

        return forget


class StreamReporter:
    """ASGI wrapper around the SDK's transport that watches GET streams.

    Args:
        app: the SDK's transport.
        streams: told of each stream that opens and closes.
        scopes_of: gives the scopes of the request now being served.
        closing: ends the streams when it begins.
    """

    def __init__(self, app: ASGIApp, *, streams: OpenStreams, scopes_of: ScopesOf, closing: Closing) -> None:
        self._app = app
        self._streams = streams
        self._scopes_of = scopes_of
        self._closing = closing

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        session_id = Headers(scope=scope).get("mcp-session-id") if scope["type"] == "http" else None
        if session_id is None or scope["method"] != "GET":
            await self._app(scope, receive, send)
            return
        await self._watch(session_id, scope, receive, send)

    async def _watch(self, session_id: str, scope: Scope, receive: Receive, send: Send) -> None:
        over = anyio.Event()
        forget = self._closing.on_begin(over.set)
        if self._closing.begun:
            over.set()
        closed: Callable[[], None] | None = None
        started = complete = False

        async def report(message: Message) -> None:
            nonlocal closed, started, complete
            if message["type"] == "http.response.start":
                started = True
                if message["status"] == 200:
                    closed = self._streams.opened(session_id, self._scopes_of(Request(scope)))
            elif message["type"] == "http.response.body":
                complete = not message.get("more_body", False)
            await send(message)

        try:
            await self._app(scope, lambda: _receive_unless(over, receive), report)
        finally:
            forget()
            if closed is not None:
                closed()
        if started and not complete and over.is_set():
            # The transport takes our closing for a client that left, and would leave the answer without its end.
            await send({"type": "http.response.body", "body": b"", "more_body": False})


async def _receive_unless(over: anyio.Event, receive: Receive) -> Message:
    """The next message, or a disconnect as soon as `over` is set."""
    message: Message = {"type": "http.disconnect"}

    async def next_message() -> None:
        nonlocal message
        message = await receive()
        tasks.cancel_scope.cancel()

    async def until_over() -> None:
        await over.wait()
        tasks.cancel_scope.cancel()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(next_message)
        tasks.start_soon(until_over)
    return message
