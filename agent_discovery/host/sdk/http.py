"""What the official SDK's client hides of HTTP: the answer behind an error, and whether the GET stream is open.

Owns two event hooks on the caller's own HTTP client. The SDK turns a refusal without a JSON-RPC body into one fixed
text, and opens its GET stream unseen; a host needs the challenge of a 403 and must know from when on it is told of
changes. Only requests of MCP's own transport are looked at, so no token is put on a request to anybody else.
"""

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import anyio

from agent_discovery.host.answers import Answer
from agent_discovery.host.events import MAX_ANSWER_BYTES, parse_json
from agent_discovery.host.source import Credential

if TYPE_CHECKING:
    import httpx2

__all__ = ["Exchange", "GetStream", "HttpWatch"]

_SESSION_HEADER: Final = "mcp-session-id"


@dataclass(slots=True, eq=False)
class Exchange:
    """One request by this package through the SDK: the token to send it with, and what HTTP said to it."""

    credential: Credential | None = None
    session_id: str | None = None
    refusal: Answer | None = None


@dataclass(slots=True, eq=False)
class GetStream:
    """The newest GET stream of a session: `status` of its answer, and what is called when it ends."""

    status: int
    is_open: bool
    on_end: Callable[[], None] | None = None

    def end(self) -> None:
        """The stream ended, or broke; that the SDK does not tell."""
        self.is_open = False
        if self.on_end is not None:
            self.on_end()


class HttpWatch:
    """Looks on at one `httpx2.AsyncClient`. Create it before the SDK's client connects."""

    def __init__(self, http: "httpx2.AsyncClient") -> None:
        # A request is sent in a task of the transport, which inherits the context of whoever asked.
        self._asking: ContextVar[Exchange | None] = ContextVar("agent_discovery_exchange", default=None)
        self._streams: dict[str, GetStream] = {}
        self._moved = anyio.Event()
        hooks = http.event_hooks
        http.event_hooks = {
            "request": [*hooks.get("request", []), self._sending],
            "response": [*hooks.get("response", []), self._answered],
        }

    @contextmanager
    def asking(self, credential: Credential | None) -> Iterator[Exchange]:
        """The requests made in this block, and in tasks started in it, are this exchange."""
        exchange = Exchange(credential)
        before = self._asking.set(exchange)
        try:
            yield exchange
        finally:
            self._asking.reset(before)

    async def stream_of(self, session_id: str, *, timeout: float) -> GetStream:
        """The session's GET stream once it is open, or refused; raises TimeoutError where it does not come to that."""
        with anyio.fail_after(timeout):
            while True:
                stream = self._streams.get(session_id)
                if stream is not None and (stream.is_open or stream.status >= 400):
                    return stream
                await self._moved.wait()

    async def _sending(self, request: "httpx2.Request") -> None:
        exchange = self._asking.get()
        if exchange is None or not _is_mcp(request):
            return
        exchange.session_id = request.headers.get(_SESSION_HEADER)
        if exchange.credential is not None:
            request.headers["Authorization"] = f"Bearer {exchange.credential.token}"

    async def _answered(self, response: "httpx2.Response") -> None:
        request = response.request
        if not _is_mcp(request):
            return
        if request.method == "GET":
            self._note_stream(request.headers.get(_SESSION_HEADER), response)
        elif (exchange := self._asking.get()) is not None and response.status_code >= 400:
            exchange.refusal = await _read(response)

    def _note_stream(self, session_id: str | None, response: "httpx2.Response") -> None:
        if session_id is None:
            return
        stream = GetStream(response.status_code, is_open=response.is_success)
        self._streams[session_id] = stream
        if response.is_success:
            response.stream = _until_end(response.stream, stream.end)
        moved, self._moved = self._moved, anyio.Event()
        moved.set()


def _is_mcp(request: "httpx2.Request") -> bool:
    """Whether it is the transport's: only that accepts event streams; an authorization flow's requests do not."""
    return "text/event-stream" in request.headers.get("accept", "")


async def _read(response: "httpx2.Response") -> Answer:
    """The refusal, kept for the SDK to read again."""
    # An error raised in here would end the SDK's whole transport; a refusal is told by its status and headers anyway.
    is_readable = int(response.headers.get("content-length") or 0) <= MAX_ANSWER_BYTES
    content = await response.aread() if is_readable else b""
    body: Any = None
    if content:
        try:
            body = parse_json(content)
        except ValueError:
            body = content.decode("utf-8", errors="replace")
    headers = {name.lower(): value for name, value in response.headers.items()}
    is_error = isinstance(body, dict) and body.get("jsonrpc") == "2.0" and "error" in body
    return Answer(response.status_code, headers, body if is_error else None, body)


def _until_end(stream: Any, ended: Callable[[], None]) -> Any:
    """The same stream, telling when it was read to its end, broke, or was closed."""
    import httpx2  # here, so that a host that does not use the SDK does not need it

    class Ending(httpx2.AsyncByteStream):
        async def __aiter__(self) -> AsyncIterator[bytes]:
            try:
                async for chunk in stream:
                    yield chunk
            finally:
                ended()

        async def aclose(self) -> None:
            ended()
            await stream.aclose()

    return Ending()
