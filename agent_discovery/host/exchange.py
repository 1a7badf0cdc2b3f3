"""One HTTP exchange, whatever the wire: sending, bounded reading, errors, and the frames an observer sees.

Owns the HTTP client, the numbering and the observers that a connection shares with its views. What a message must
contain, and which headers go with it, is the business of the two wires; which answer is which error is decided in
`answers`, and what a failing network is in `failures`. Nothing is sent twice here; an answer whose stream the server
closed early is fetched, not asked for again.
"""

import itertools
import json
import logging
import time
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import aclosing, asynccontextmanager, contextmanager
from dataclasses import dataclass, replace
from typing import Any

import anyio
import httpx
import pydantic_core

from .answers import Answer, read_result, refusal
from .errors import BadRequest, HostError, ServerFault
from .events import Place, is_event_stream, messages, read_body
from .failures import translated, translated_stream
from .frames import AnswerFrame, FailureFrame, Frame, NotificationFrame, Observer, RequestFrame

__all__ = ["Call", "Channel"]

_log = logging.getLogger(__name__)

_SECRET_HEADERS = {"proxy-authorization", "cookie"}


@dataclass(frozen=True, slots=True)
class Call:
    """One request to be sent: `message` is None for GET and DELETE, `token` goes into `Authorization`."""

    http_method: str
    headers: Mapping[str, str]
    message: Mapping[str, Any] | None = None
    token: str | None = None
    caller: str = ""
    in_session: bool = False
    on_request: Callable[[Mapping[str, Any]], Awaitable[None]] | None = None
    """Told of what the server itself asks on the answer's stream."""

    @property
    def name(self) -> str:
        """The JSON-RPC method, else the HTTP method: what an error calls this request."""
        return str(self.message.get("method", "a response")) if self.message else self.http_method


class Channel:
    """The HTTP client, the frame numbering and the observers of one connection and all its views."""

    def __init__(self, url: str, http: httpx.AsyncClient | None) -> None:
        self.url = url
        self._owned = http is None
        # One pool for all tokens; the environment must not add proxies or credentials of its own. Reading the
        # certificate authorities takes longer than a whole exchange, and only https has a use for them.
        self._http = http or httpx.AsyncClient(
            verify=url.lower().startswith("https:"),
            trust_env=False,
            limits=httpx.Limits(max_connections=100, max_keepalive_connections=20),
        )
        self._numbers = itertools.count(1)
        self._ids = itertools.count(1)
        self._observers: list[Observer] = []
        self.closed = False

    def next_id(self) -> int:
        """A JSON-RPC id that no other request of this channel has."""
        return next(self._ids)

    def observe(self, observer: Observer) -> Callable[[], None]:
        """Have `observer` called with each frame from now on; returns what undoes it."""
        self._observers.append(observer)

        def stop() -> None:
            if observer in self._observers:
                self._observers.remove(observer)

        return stop

    async def aclose(self) -> None:
        """Close the HTTP client, unless it was the caller's own. Idempotent."""
        self.closed = True
        if self._owned:
            await self._http.aclose()

    async def ask(self, call: Call, timeout: float) -> Answer:
        """Send a JSON-RPC request and wait for its result; raises an error of the family for anything else."""
        trace = self._begin(call)
        with trace.failing(), translated(call.name, self.url, timeout), anyio.fail_after(timeout):
            response = await self._send(trace)
            try:
                answer = await self._read_answer(call, response, trace, timeout)
            finally:
                await response.aclose()
        trace.answered(answer)
        read_result(call, answer, self.url)
        return answer

    async def tell(self, call: Call, timeout: float) -> Answer:
        """Send what has no JSON-RPC result (a notification, a DELETE); raises when the server refuses it."""
        trace = self._begin(call)
        with trace.failing(), translated(call.name, self.url, timeout), anyio.fail_after(timeout):
            response = await self._send(trace)
            try:
                answer = Answer.of(response, await read_body(response))
            finally:
                await response.aclose()
        trace.answered(answer)
        if not response.is_success:
            raise refusal(call, answer, self.url)
        return answer

    @asynccontextmanager
    async def stream(self, call: Call, timeout: float) -> AsyncIterator[AsyncGenerator[dict[str, Any], None]]:
        """Open a stream of JSON-RPC messages; entered once the server has answered 200 with an event stream.

        `timeout` bounds the opening only. The messages end where the server ends the stream; a stream that breaks
        raises `StreamLost`.
        """
        trace = self._begin(call)
        with trace.failing(), translated(call.name, self.url, timeout), anyio.fail_after(timeout):
            response = await self._send(trace)
        try:
            if not (response.is_success and is_event_stream(response)):
                await self._refuse_stream(call, response, trace, timeout)
            trace.answered(Answer(response.status_code, _lowered(response.headers), None, None))
            async with aclosing(self._follow(response, trace)) as following:
                yield following
        finally:
            await response.aclose()

    async def _refuse_stream(self, call: Call, response: httpx.Response, trace: "_Trace", timeout: float) -> None:
        with trace.failing(), translated(call.name, self.url, timeout), anyio.fail_after(timeout):
            answer = Answer.of(response, await read_body(response))
        trace.answered(answer)
        if call.message is not None:
            read_result(call, answer, self.url)
        if not response.is_success:
            raise refusal(call, answer, self.url)
        raise ServerFault("it answered, but opened no event stream to listen on", status=answer.status)

    async def _follow(self, response: httpx.Response, trace: "_Trace") -> AsyncGenerator[dict[str, Any], None]:
        with trace.failing(), translated_stream():
            async with aclosing(messages(response, whole=False)) as incoming:
                async for message in incoming:
                    trace.notified(message)
                    yield message

    async def _read_answer(self, call: Call, response: httpx.Response, trace: "_Trace", timeout: float) -> Answer:
        if not (response.is_success and is_event_stream(response)):
            return Answer.of(response, await read_body(response))
        place = Place()
        answer = await self._answer_on(call, response, trace, place)
        while answer is None and call.in_session and place.event_id:
            await anyio.sleep(place.wait)
            answer = await self._answer_after(call, place, timeout)
        if answer is None:
            raise ServerFault(f"its event stream ended without the answer to {call.name}", status=response.status_code)
        return answer

    async def _answer_after(self, call: Call, place: Place, timeout: float) -> Answer | None:
        """Look for the answer on a GET stream that goes on where the last one ended."""
        kept = {name: value for name, value in call.headers.items() if name.lower() not in ("content-type", "accept")}
        headers = {**kept, "Accept": "text/event-stream", "Last-Event-ID": place.event_id}
        get = replace(call, http_method="GET", headers=headers, message=None)
        trace = self._begin(get)
        with trace.failing(), translated(call.name, self.url, timeout):
            response = await self._send(trace)
        try:
            if not (response.is_success and is_event_stream(response)):
                await self._refuse_stream(get, response, trace, timeout)
            trace.answered(Answer(response.status_code, _lowered(response.headers), None, None))
            return await self._answer_on(call, response, trace, place)
        finally:
            await response.aclose()

    async def _answer_on(self, call: Call, response: httpx.Response, trace: "_Trace", place: Place) -> Answer | None:
        """The answer on this stream; None where the stream ends before it."""
        async with aclosing(messages(response, whole=True, place=place)) as incoming:
            async for message in incoming:
                if "method" not in message:
                    return Answer(response.status_code, _lowered(response.headers), message, message)
                trace.notified(message)
                if call.on_request is not None and "id" in message:
                    await call.on_request(message)
        return None

    def _begin(self, call: Call) -> "_Trace":
        if self.closed:
            raise BadRequest(f"{call.name}: the connection is closed; open a new one")
        headers = dict(call.headers)
        if call.token is not None:
            headers["Authorization"] = f"Bearer {call.token}"
        content = None if call.message is None else _encode(call)
        request = self._http.build_request(
            call.http_method, self.url, headers=headers, content=content, timeout=httpx.Timeout(None)
        )
        frame = RequestFrame(
            number=next(self._numbers),
            caller=call.caller,
            http_method=call.http_method,
            url=self.url,
            headers=_masked(request.headers),
            message=None if content is None else pydantic_core.from_json(content),
            at=time.time(),
        )
        self._emit(frame)
        return _Trace(self._emit, request, frame, time.perf_counter())

    async def _send(self, trace: "_Trace") -> httpx.Response:
        return await self._http.send(trace.request, stream=True, follow_redirects=False)

    def _emit(self, frame: Frame) -> None:
        for observer in tuple(self._observers):
            try:
                observer(frame)
            except Exception:  # noqa: BLE001 - an observer's bug must not break the traffic that it watches
                _log.exception("an observer raised on %s", type(frame).__name__)


@dataclass(frozen=True, slots=True)
class _Trace:
    """One request under way, and how to tell the observers what became of it."""

    emit: Callable[[Frame], None]
    request: httpx.Request
    frame: RequestFrame
    started: float

    def answered(self, answer: Answer) -> None:
        message = answer.message
        self.emit(
            AnswerFrame(self.frame, answer.status, answer.headers, message, answer.body, self._elapsed(), time.time())
        )

    def notified(self, message: Mapping[str, Any]) -> None:
        self.emit(NotificationFrame(self.frame, message, self._elapsed(), time.time()))

    @contextmanager
    def failing(self) -> Iterator[None]:
        try:
            yield
        except HostError as error:
            self.emit(FailureFrame(self.frame, error, self._elapsed(), time.time()))
            raise

    def _elapsed(self) -> float:
        return (time.perf_counter() - self.started) * 1000


def _encode(call: Call) -> bytes:
    try:
        return json.dumps(call.message, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise BadRequest(
            f"{call.name}: params must be plain JSON ({error}); pass strings, numbers, lists, dicts"
        ) from error


def _lowered(headers: httpx.Headers) -> dict[str, str]:
    return {name.lower(): value for name, value in headers.items()}


def _masked(headers: httpx.Headers) -> dict[str, str]:
    lowered = _lowered(headers)
    for name in _SECRET_HEADERS & lowered.keys():
        lowered[name] = "***"
    if "authorization" in lowered:
        lowered["authorization"] = lowered["authorization"].partition(" ")[0] + " ***"
    return lowered
