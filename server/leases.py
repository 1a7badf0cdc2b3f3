"""Open streams end with the token they were opened with.

Owns which streams are open under which token, and their end when a reload takes the token away or gives it other
scopes: the host then connects again, and is answered by what its token means now. It leaves new requests to the
verifier. An answer that is no stream is let through, as its request was let in.
"""

from collections.abc import Iterable

import anyio
from mcp.server.auth.middleware.auth_context import get_access_token
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

__all__ = ["TokenLeases"]


class TokenLeases:
    """The requests that are being answered now, by token. Use it on the event loop only."""

    def __init__(self) -> None:
        self._open: dict[str, set[_Lease]] = {}

    def end(self, tokens: Iterable[str]) -> None:
        """End every stream that was opened with one of these tokens. Waits for nothing."""
        for token in tokens:
            for lease in self._open.get(token, ()):
                lease.end()

    def around(self, app: ASGIApp) -> ASGIApp:
        """`app`, with its streams under lease. Goes inside the middleware that authenticates."""

        async def leased(scope: Scope, receive: Receive, send: Send) -> None:
            access = get_access_token()
            if scope["type"] != "http" or access is None:
                await app(scope, receive, send)
                return
            lease = _Lease(receive, send)
            held = self._open.setdefault(access.token, set())
            held.add(lease)
            try:
                await app(scope, lease.receive, lease.send)
            finally:
                held.discard(lease)
                if not held and self._open.get(access.token) is held:
                    del self._open[access.token]
            await lease.finish()

        return leased


class _Lease:
    """One request and its answer."""

    def __init__(self, receive: Receive, send: Send) -> None:
        self._receive = receive
        self._send = send
        self._ended = self._streaming = self._request_read = False
        self._over = anyio.Event()

    def end(self) -> None:
        """End the answer if it is a stream, or as soon as it begins to be one."""
        self._ended = True
        if self._streaming:
            self._over.set()

    async def receive(self) -> Message:
        """The client's next message; or that it is gone, once the stream is to end."""
        if not self._request_read:
            # The request itself: it is there already, and for most answers the only message there is.
            self._request_read = True
            return await self._receive()
        message: Message = {"type": "http.disconnect"}

        async def next_message() -> None:
            nonlocal message
            message = await self._receive()
            tasks.cancel_scope.cancel()

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(next_message)
            await self._over.wait()
            tasks.cancel_scope.cancel()
        return message

    async def send(self, message: Message) -> None:
        """Pass the answer on, but nothing more of a stream that is to end."""
        if message["type"] == "http.response.start":
            kind = Headers(raw=message.get("headers", [])).get("content-type", "")
            self._streaming = kind.startswith("text/event-stream")
            if self._ended:
                self.end()
        elif self._over.is_set():
            return
        elif not message.get("more_body", False):
            self._streaming = False
        await self._send(message)

    async def finish(self) -> None:
        """Close a stream that was cut off."""
        if self._streaming and self._over.is_set():
            await self._send({"type": "http.response.body", "body": b"", "more_body": False})
