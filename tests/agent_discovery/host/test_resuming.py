"""An answer whose stream ends early is fetched on a GET stream, on a real socket (MCP 2025-11-25, "Resumability")."""

import json
import time

import anyio
import httpx_sse
import pytest

from agent_discovery.host import AnswerFrame, Connection, Frame, RequestFrame, ServerFault, ServerRefused, TimedOut
from agent_discovery.host import build_connection as host
from agent_discovery.host.events import Place
from tests.agent_discovery.host.fakes import BOUND, Received, Reply, ScriptedServer, initialize_result

RETRY_MS = 150


class Closing:
    """A server that ends the stream of each answer early, `times` times, and has it fetched then."""

    def __init__(self, *, times: int = 1, named: bool = True, session: bool = True) -> None:
        self.times = times
        self.named = named
        self.session = session
        self.asked: Received | None = None
        self.fetched: list[str | None] = []
        self.closed_at = self.fetched_at = 0.0

    async def __call__(self, received: Received, reply: Reply) -> None:
        if received.http_method == "DELETE":
            await reply.body(b"", 200)
        elif received.http_method == "GET":
            self.fetched_at = time.monotonic()
            self.fetched.append(received.headers.get("last-event-id"))
            await self._stream(reply)
        elif received.message["method"] == "initialize":
            headers = {"Mcp-Session-Id": "session-7"} if self.session else None
            await reply.result(received, initialize_result(), headers)
        elif "id" not in received.message:
            await reply.body(b"", 202)
        else:
            self.asked = received
            await self._stream(reply)

    async def _stream(self, reply: Reply) -> None:
        assert self.asked is not None
        number = len(self.fetched)
        await reply.open_events()
        place = f"id: place-{number}\nretry: {RETRY_MS}\n" if self.named else "retry: 1\n"
        await reply.chunk(f"{place}data: \n\n".encode())
        if number < self.times:
            self.closed_at = time.monotonic()
        else:
            await reply.event({"jsonrpc": "2.0", "id": self.asked.id, "result": {"fetched": number}})
        await reply.end()


async def opened(scripted: ScriptedServer, script: Closing, frames: list[Frame] | None = None) -> Connection:
    scripted.script = script
    connection = host(scripted.url, timeout=BOUND, observer=None if frames is None else frames.append)
    await connection.open()
    return connection


@pytest.mark.parametrize("times", [1, 2])
async def test_the_answer_is_fetched_from_where_the_stream_ended(scripted: ScriptedServer, times: int) -> None:
    script = Closing(times=times)
    async with await opened(scripted, script) as connection:
        assert await connection.request("tools/call") == {"fetched": times}
    assert script.fetched == [f"place-{number}" for number in range(times)]


async def test_it_waits_as_long_as_the_server_asks(scripted: ScriptedServer) -> None:
    script = Closing()
    async with await opened(scripted, script) as connection:
        await connection.request("tools/call")
    assert script.fetched_at - script.closed_at >= RETRY_MS / 1000


async def test_the_request_itself_is_sent_once_and_each_get_is_shown(scripted: ScriptedServer) -> None:
    frames: list[Frame] = []
    async with await opened(scripted, Closing(), frames) as connection:
        del frames[:]
        await connection.request("tools/call")
        sent = [frame.http_method for frame in frames if isinstance(frame, RequestFrame)]
        answered = [frame.status for frame in frames if isinstance(frame, AnswerFrame)]
    assert sent == ["POST", "GET"]
    assert answered == [200, 200]
    get = next(frame for frame in frames if isinstance(frame, RequestFrame) and frame.http_method == "GET")
    assert get.headers["mcp-session-id"] == "session-7"
    assert get.headers["accept"] == "text/event-stream"
    assert "content-type" not in get.headers


@pytest.mark.parametrize(("named", "session"), [(False, True), (True, False)])
async def test_without_a_place_or_a_session_it_is_the_servers_fault(
    scripted: ScriptedServer, named: bool, session: bool
) -> None:
    script = Closing(named=named, session=session)
    async with await opened(scripted, script) as connection:
        with pytest.raises(ServerFault, match="ended without the answer to tools/call"):
            await connection.request("tools/call")
    assert script.fetched == []


async def test_a_server_that_closes_every_stream_is_given_up_at_the_timeout(scripted: ScriptedServer) -> None:
    async with await opened(scripted, Closing(times=10_000)) as connection:
        with anyio.fail_after(BOUND), pytest.raises(TimedOut):
            await connection.request("tools/call", timeout=0.5)


async def test_a_server_that_lets_nothing_be_fetched_is_quoted(scripted: ScriptedServer) -> None:
    closing = Closing()

    async def no_get(received: Received, reply: Reply) -> None:
        if received.http_method == "GET":
            await reply.body(json.dumps({"error": "no streams here"}).encode(), 405, "application/json")
        else:
            await closing(received, reply)

    async with await opened(scripted, closing) as connection:
        scripted.script = no_get
        with pytest.raises(ServerRefused, match="no streams here"):
            await connection.request("tools/call")


def test_a_place_that_no_header_can_carry_is_none() -> None:
    place = Place()
    place.reached(httpx_sse.ServerSentEvent(id="line\x1bbreak", retry=0))
    assert (place.event_id, place.wait) == ("", 0.1)
    place.reached(httpx_sse.ServerSentEvent(id="7"))
    place.reached(httpx_sse.ServerSentEvent(data="no id and no retry"))
    assert (place.event_id, place.wait) == ("7", 0.1)
