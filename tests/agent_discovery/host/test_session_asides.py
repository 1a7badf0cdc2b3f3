"""What the session wire tells beside its requests: answers to pings, cancellations, and ends of sessions."""

import asyncio
from typing import Any

import anyio
import pytest

from agent_discovery.host import ServerFault, TimedOut, build_connection, connect
from agent_discovery.wire import LIST_CHANGED
from tests.agent_discovery.host.fakes import BOUND, Received, Reply, ScriptedServer, discover_result, never
from tests.agent_discovery.host.sessions import host, sent, serving

CHANGED = {"jsonrpc": "2.0", "method": LIST_CHANGED}
PING = {"jsonrpc": "2.0", "id": 1, "method": "ping"}


async def test_falling_to_the_other_wire_leaves_no_session_behind(scripted: ScriptedServer) -> None:
    handshake = serving(version="1999-01-01")

    async def script(received: Received, reply: Reply) -> None:
        if received.body and received.message["method"] == "server/discover":
            await reply.result(received, discover_result())
        else:
            await handshake(received, reply)

    scripted.script = script
    async with await connect(scripted.url, timeout=BOUND) as connection:
        assert connection.wire == "stateless"
        assert sent(scripted) == ["initialize", "DELETE", "server/discover"]
    assert scripted.received[1].headers["mcp-session-id"] == "session-7"


async def test_a_handshake_that_breaks_halfway_leaves_no_session_behind(scripted: ScriptedServer) -> None:
    handshake = serving()

    async def script(received: Received, reply: Reply) -> None:
        if received.body and received.message["method"] == "notifications/initialized":
            await reply.body(b"", 500)
        else:
            await handshake(received, reply)

    scripted.script = script
    connection = host(scripted)
    with pytest.raises(ServerFault):
        await connection.open()
    assert connection.opening is None
    await connection.aclose()
    assert sent(scripted) == ["initialize", "notifications/initialized", "DELETE"]


SAMPLING = {"jsonrpc": "2.0", "id": "s-1", "method": "sampling/createMessage", "params": {}}
ANSWERS = [
    {"jsonrpc": "2.0", "id": 1, "result": {}},
    {
        "jsonrpc": "2.0",
        "id": "s-1",
        "error": {"code": -32601, "message": "This host declared nothing that a server may ask."},
    },
]


def answers(server: ScriptedServer) -> list[Any]:
    return [r.message for r in server.received if r.body and "method" not in r.message]


async def test_a_ping_on_the_stream_is_answered_and_other_requests_are_refused(scripted: ScriptedServer) -> None:
    async def get(_received: Received, reply: Reply) -> None:
        await reply.open_events()
        for request in (PING, SAMPLING, {**PING, "id": None}, {**PING, "id": 1.5}, {**PING, "method": 7}):
            await reply.event(request)
        await reply.event(CHANGED)
        await reply.end()

    scripted.script = serving(get=get)
    async with host(scripted) as connection, connection.notifications() as stream:
        assert [item.method async for item in stream] == [LIST_CHANGED]
    assert answers(scripted) == ANSWERS
    assert all(r.headers["mcp-session-id"] == "session-7" for r in scripted.received[1:])


async def test_a_ping_on_the_stream_of_an_answer_is_answered_before_the_answer_comes(scripted: ScriptedServer) -> None:
    answered = asyncio.Event()
    handshake = serving()

    async def script(received: Received, reply: Reply) -> None:
        if received.body and received.message.get("method") == "tools/call":
            await reply.open_events()
            await reply.event(PING)
            await reply.event(SAMPLING)
            await answered.wait()
            await reply.event({"jsonrpc": "2.0", "id": received.id, "result": {"ok": True}})
            await reply.end()
            return
        await handshake(received, reply)
        if len(answers(scripted)) == len(ANSWERS):
            answered.set()

    scripted.script = script
    async with host(scripted) as connection:
        assert await connection.request("tools/call", {"name": "x"}) == {"ok": True}
    assert answers(scripted) == ANSWERS


async def test_an_answer_to_a_ping_that_the_server_does_not_take_costs_nothing(scripted: ScriptedServer) -> None:
    handshake = serving()

    async def script(received: Received, reply: Reply) -> None:
        if received.http_method == "GET":
            await reply.open_events()
            await reply.event(PING)
            await reply.event(CHANGED)
            await reply.end()
        elif received.body and "method" not in received.message:
            await reply.body(b"", 500)
        else:
            await handshake(received, reply)

    scripted.script = script
    async with host(scripted) as connection, connection.notifications() as stream:
        assert [item.method async for item in stream] == [LIST_CHANGED]


def stalling(server: ScriptedServer, *, deaf: bool = False) -> tuple[asyncio.Event, asyncio.Event]:
    """A server that never answers tools/call; set once that arrived, and once a cancellation did."""
    arrived, cancelled = asyncio.Event(), asyncio.Event()
    handshake = serving()

    async def script(received: Received, reply: Reply) -> None:
        method = received.message.get("method") if received.body else None
        if method == "tools/call":
            arrived.set()
            await asyncio.Event().wait()
        if method == "notifications/cancelled":
            cancelled.set()
            if deaf:
                await asyncio.Event().wait()
        await handshake(received, reply)

    server.script = script
    return arrived, cancelled


@pytest.mark.parametrize("deaf", [False, True])
async def test_the_server_is_told_when_a_request_was_given_up_by_its_timeout(
    scripted: ScriptedServer, deaf: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("agent_discovery.host.session._ASIDE_SECONDS", 0.1)
    stalling(scripted, deaf=deaf)
    async with host(scripted) as connection:
        with anyio.fail_after(BOUND), pytest.raises(TimedOut):
            await connection.request("tools/call", {"name": "x"}, timeout=0.05)
    called, cancelled = scripted.received[2:4]
    assert cancelled.message == {
        "jsonrpc": "2.0",
        "method": "notifications/cancelled",
        "params": {"requestId": called.id, "reason": "The host stopped waiting for the answer."},
    }
    assert cancelled.headers["mcp-session-id"] == "session-7"


async def test_the_server_is_told_when_whoever_waits_is_cancelled(scripted: ScriptedServer) -> None:
    arrived, cancelled = stalling(scripted)
    async with host(scripted) as connection:
        waiting = asyncio.create_task(connection.request("tools/call", {"name": "x"}))
        with anyio.fail_after(BOUND):
            await arrived.wait()
            waiting.cancel()
            await cancelled.wait()
            await asyncio.wait([waiting])
        assert waiting.cancelled()


async def test_a_handshake_that_times_out_is_not_cancelled_as_the_protocol_forbids_it(scripted: ScriptedServer) -> None:
    scripted.script = never
    connection = build_connection(scripted.url, timeout=0.05)
    with pytest.raises(TimedOut):
        await connection.open()
    await connection.aclose()
    assert sent(scripted) == ["initialize"]
