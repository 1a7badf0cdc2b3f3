"""Reading what a server sends, within bounds: whole bodies, and event streams of JSON-RPC messages.

Owns the size limits, the rules of an event stream that matter here (WHATWG HTML, "Server-sent events"), and how far a
stream was read. Knows nothing of JSON-RPC ids, methods or refusals.
"""

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any, Final

import httpx
import httpx_sse
import pydantic_core

from .errors import ServerFault

__all__ = ["MAX_ANSWER_BYTES", "Place", "is_event_stream", "messages", "parse_json", "read_body"]

MAX_ANSWER_BYTES: Final = 16 * 1024 * 1024
"""An answer, or one event of a stream, may be this large; a larger one is the server's fault."""

_EVENT_ENDS = (b"\n\n", b"\r\r", b"\r\n\r\n")
_LEAST_WAIT: Final = 0.1


@dataclass(slots=True)
class Place:
    """How far a stream was read, and when to ask for the rest of it; `event_id` is empty where it cannot be asked for.

    Source: MCP 2025-11-25, Streamable HTTP, "Resumability and Redelivery"; SEP-1699.
    """

    event_id: str = ""
    wait: float = 1.0
    """Seconds, as the server's last `retry` field has it."""

    def reached(self, event: httpx_sse.ServerSentEvent) -> None:
        """Take what an event says of its place."""
        if event.id and event.id.isascii() and event.id.isprintable():  # it has to travel back in a header
            self.event_id = event.id
        if event.retry is not None:
            self.wait = max(event.retry / 1000, _LEAST_WAIT)


def is_event_stream(response: httpx.Response) -> bool:
    """Whether the answer is `text/event-stream`, with or without parameters."""
    content_type: str = response.headers.get("content-type", "")
    return content_type.partition(";")[0].strip().lower() == "text/event-stream"


def parse_json(text: str | bytes) -> Any:
    """Parse strict JSON with bounded nesting; raises ValueError, never RecursionError."""
    return pydantic_core.from_json(text, allow_inf_nan=False)


async def read_body(response: httpx.Response) -> bytes:
    """The whole body, at most `MAX_ANSWER_BYTES`; raises `ServerFault` beyond."""
    return b"".join([chunk async for chunk in _Bounded(response, whole=True)])


async def messages(
    response: httpx.Response, *, whole: bool, place: Place | None = None
) -> AsyncGenerator[dict[str, Any], None]:
    """The JSON-RPC messages of an event stream, in order.

    Comments, events without data and events of other names are skipped. `whole` bounds the stream as one answer;
    otherwise each event has the bound to itself, as a stream that is listened to has no end. `place` is kept up to
    date. Raises `ServerFault` for data that is not one JSON object.
    """
    body = _Bounded(response, whole=whole)
    # The parser takes a response, not bytes: this one has the bounded stream, and the charset that events always have.
    bounded = httpx.Response(200, headers={"content-type": "text/event-stream; charset=utf-8"}, stream=body)
    async with aclosing(httpx_sse.EventSource(bounded).aiter_sse()) as events:
        async for event in events:
            body.event_complete()
            if place is not None:
                place.reached(event)
            if event.data and event.event == "message":
                yield _message(event.data, response.status_code)


def _message(data: str, status: int) -> dict[str, Any]:
    try:
        message = parse_json(data)
    except ValueError as error:
        raise ServerFault(f"an event holds no JSON ({error})", status=status) from error
    if not isinstance(message, dict):
        raise ServerFault(f"an event holds {type(message).__name__}, not one JSON-RPC message", status=status)
    return message


class _Bounded(httpx.AsyncByteStream):
    """The decoded bytes of a response, counted."""

    def __init__(self, response: httpx.Response, *, whole: bool) -> None:
        self._response = response
        self._whole = whole
        self._size = 0

    def event_complete(self) -> None:
        if not self._whole:
            self._size = 0

    async def __aiter__(self) -> AsyncIterator[bytes]:
        if "," in self._response.headers.get("content-encoding", ""):
            # Packed twice, one read could unpack to a million times its size before anybody counts.
            raise ServerFault("its answer is packed more than once", status=self._response.status_code)
        async for chunk in self._response.aiter_bytes():
            self._size += len(chunk)
            if self._size > MAX_ANSWER_BYTES:
                limit = MAX_ANSWER_BYTES // (1024 * 1024)
                raise ServerFault(f"its answer is larger than {limit} MiB", status=self._response.status_code)
            yield chunk
            if chunk.endswith(_EVENT_ENDS):
                self.event_complete()  # comments yield no event, and a quiet stream consists of them

    async def aclose(self) -> None:
        """The response is closed by whoever opened it."""
