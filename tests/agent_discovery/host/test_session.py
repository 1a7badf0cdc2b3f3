"""The session wire on a real socket: handshake, session headers, the GET stream, the session's end."""

import asyncio

import anyio
import pytest

from agent_discovery.host import (
    AnswerFrame,
    BadRequest,
    Credential,
    Frame,
    NotificationFrame,
    RequestFrame,
    ServerFault,
    ServerRefused,
    SessionEnded,
    StreamLost,
    UnsupportedProtocolVersion,
)
from agent_discovery.wire import EXTENSION_ID, LIST_CHANGED
from tests.agent_discovery.host.fakes import BOUND, Received, Reply, ScriptedServer, initialize_result
from tests.agent_discovery.host.sessions import host, sent, serving

CHANGED = {"jsonrpc": "2.0", "method": LIST_CHANGED}
PING = {"jsonrpc": "2.0", "id": 1, "method": "ping"}


async def test_the_handshake_declares_the_extension_and_every_later_request_names_the_session(
    scripted: ScriptedServer,
) -> None:
    scripted.script = serving(version="2025-06-18")
    async with host(scripted) as connection:
        opening = connection.opening
        assert opening is not None
        assert (opening.wire, opening.protocol_version) == ("session", "2025-06-18")
        assert opening.server_info == {"name": "scripted"}
        assert opening.settings == {"listChanged": True}
        assert opening.has_agents
        assert await connection.request("tools/list") == {"ok": True}
    assert sent(scripted) == ["initialize", "notifications/initialized", "tools/list", "DELETE"]
    first, *later = scripted.received
    assert first.message["params"] == {
        "protocolVersion": "2025-11-25",
        "capabilities": {"extensions": {EXTENSION_ID: {}}},
        "clientInfo": {"name": "agent-discovery-host", "version": "0.1.0"},
    }
    assert first.headers["accept"] == "application/json, text/event-stream"
    assert first.headers["content-type"] == "application/json"
    assert "mcp-session-id" not in first.headers
    assert "mcp-protocol-version" not in first.headers
    for received in later:
        assert received.headers["mcp-session-id"] == "session-7"
        assert received.headers["mcp-protocol-version"] == "2025-06-18"
        assert received.headers["authorization"] == "Bearer alice-read"


@pytest.mark.parametrize("session_id", ["", "two words", "caf\N{LATIN SMALL LETTER E WITH ACUTE}"])
async def test_a_session_id_that_cannot_travel_back_is_the_servers_fault(
    scripted: ScriptedServer, session_id: str
) -> None:
    async def script(received: Received, reply: Reply) -> None:
        await reply.result(received, initialize_result(), {"Mcp-Session-Id": session_id})

    scripted.script = script
    with pytest.raises(ServerFault, match="Mcp-Session-Id"):
        async with host(scripted):
            pytest.fail("a connection was opened")
    assert sent(scripted) == ["initialize"]


async def test_a_host_that_does_not_declare_the_extension_says_nothing_of_it(scripted: ScriptedServer) -> None:
    scripted.script = serving()
    async with host(scripted, declare_extension=False):
        pass
    assert scripted.received[0].message["params"]["capabilities"] == {}


async def test_a_server_without_session_ids_is_served_without_them_and_not_told_of_an_end(
    scripted: ScriptedServer,
) -> None:
    scripted.script = serving(session=False)
    async with host(scripted) as connection:
        await connection.request("tools/list")
    assert sent(scripted) == ["initialize", "notifications/initialized", "tools/list"]
    assert all("mcp-session-id" not in received.headers for received in scripted.received)


async def test_a_view_speaks_with_another_token_in_the_same_session_and_closes_nothing(
    scripted: ScriptedServer,
) -> None:
    scripted.script = serving()
    frames: list[Frame] = []
    async with host(scripted, frames) as connection:
        async with connection.as_token(Credential("alice-deploy")) as view:
            await asyncio.gather(view.request("x"), connection.request("y"))
            assert view.opening is connection.opening
        await connection.request("z")
        assert connection.listens_for == {connection.authorization, view.authorization}
        assert connection.authorization != view.authorization
    tokens = {received.headers["authorization"] for received in scripted.received}
    assert tokens == {"Bearer alice-read", "Bearer alice-deploy"}
    assert sent(scripted).count("DELETE") == 1
    numbers = [frame.number for frame in frames if isinstance(frame, RequestFrame)]
    assert numbers == list(range(1, 7))


async def test_a_session_that_the_server_no_longer_knows_has_ended(scripted: ScriptedServer) -> None:
    async def post(_received: Received, reply: Reply) -> None:
        await reply.json({"jsonrpc": "2.0", "id": None, "error": {"code": -32600, "message": "Session not found"}}, 404)

    scripted.script = serving(post=post)
    async with host(scripted) as connection:
        with pytest.raises(SessionEnded, match=r"Session not found.*open a new connection"):
            await connection.request("tools/list")


async def test_an_unknown_method_does_not_count_as_the_sessions_end(scripted: ScriptedServer) -> None:
    async def post(received: Received, reply: Reply) -> None:
        error = {"code": -32601, "message": "Method not found"}
        await reply.json({"jsonrpc": "2.0", "id": received.id, "error": error}, 404)

    scripted.script = serving(post=post)
    async with host(scripted) as connection:
        with pytest.raises(ServerRefused) as caught:
            await connection.request("agents/run")
        assert caught.value.code == -32601
        assert not isinstance(caught.value, SessionEnded)


async def test_the_stream_is_entered_once_open_and_tells_notifications_only(scripted: ScriptedServer) -> None:
    async def get(_received: Received, reply: Reply) -> None:
        await reply.open_events()
        await reply.chunk(b"id: 1\nretry: 100\ndata:\n\n: keep-alive\n\n")
        await reply.event(PING)
        await reply.event(CHANGED)
        await reply.event({**CHANGED, "params": {"x": 1}})
        await reply.end()

    scripted.script = serving(get=get)
    frames: list[Frame] = []
    async with host(scripted, frames) as connection:
        with anyio.fail_after(BOUND):
            async with connection.notifications() as stream:
                opened = frames[-1]
                told = [(item.method, item.params, item.is_list_changed) async for item in stream]
    assert told == [(LIST_CHANGED, {}, True), (LIST_CHANGED, {"x": 1}, True)]
    assert isinstance(opened, AnswerFrame)
    assert (opened.status, opened.message, opened.body) == (200, None, None)
    assert opened.request.http_method == "GET"
    assert [f.message for f in frames if isinstance(f, NotificationFrame)][:2] == [PING, CHANGED]
    get_request = next(received for received in scripted.received if received.http_method == "GET")
    assert get_request.headers["accept"] == "text/event-stream"


@pytest.mark.parametrize("piece", [1, 3])
async def test_a_notification_may_be_cut_anywhere(scripted: ScriptedServer, piece: int) -> None:
    async def get(_received: Received, reply: Reply) -> None:
        await reply.open_events()
        await reply.chunk('data: {"jsonrpc":"2.0",\r\ndata: "method":"n/é"}\r\n\r\n'.encode(), piece=piece)
        await reply.end()

    scripted.script = serving(get=get)
    async with host(scripted) as connection, connection.notifications() as stream:
        assert [item.method async for item in stream] == ["n/é"]


async def test_a_stream_that_breaks_in_the_middle_is_lost(scripted: ScriptedServer) -> None:
    async def get(_received: Received, reply: Reply) -> None:
        await reply.open_events()
        await reply.event(CHANGED)
        reply.reset()

    scripted.script = serving(get=get)
    async with host(scripted) as connection, connection.notifications() as stream:
        with pytest.raises(StreamLost, match="treat what was cached as stale"):
            async for _ in stream:
                pass


async def test_an_event_that_is_no_message_is_the_servers_fault(scripted: ScriptedServer) -> None:
    async def get(_received: Received, reply: Reply) -> None:
        await reply.open_events()
        await reply.chunk(b"data: not json\n\n")
        await asyncio.Event().wait()

    scripted.script = serving(get=get)
    async with host(scripted) as connection, connection.notifications() as stream:
        with pytest.raises(ServerFault, match="no JSON"):
            await anext(stream)


async def test_requests_go_on_while_the_stream_is_open_and_leaving_it_ends_it(scripted: ScriptedServer) -> None:
    async def get(_received: Received, reply: Reply) -> None:
        await reply.open_events()
        await reply.until_hung_up()
        hung_up.set()

    hung_up = asyncio.Event()
    scripted.script = serving(get=get)
    async with host(scripted) as connection:
        async with connection.notifications():
            assert await connection.request("x") == {"ok": True}
            assert not hung_up.is_set()
        with anyio.fail_after(BOUND):
            await hung_up.wait()
        assert await connection.request("y") == {"ok": True}


async def test_a_server_without_a_stream_refuses_it(scripted: ScriptedServer) -> None:
    scripted.script = serving()
    async with host(scripted) as connection:
        with pytest.raises(ServerRefused) as caught:
            async with connection.notifications():
                pytest.fail("must not be entered")
        assert caught.value.status == 405


async def test_a_stream_that_is_no_event_stream_is_the_servers_fault(scripted: ScriptedServer) -> None:
    async def get(_received: Received, reply: Reply) -> None:
        await reply.body(b"<p>hello</p>", 200, "text/html")

    scripted.script = serving(get=get)
    async with host(scripted) as connection:
        with pytest.raises(ServerFault, match="no event stream"):
            async with connection.notifications():
                pytest.fail("must not be entered")


async def test_a_version_that_the_session_wire_does_not_have_is_not_accepted(scripted: ScriptedServer) -> None:
    scripted.script = serving(version="1999-01-01")
    connection = host(scripted)
    with pytest.raises(UnsupportedProtocolVersion) as caught:
        await connection.open()
    await connection.aclose()
    assert (caught.value.supported, caught.value.requested) == (("1999-01-01",), "2025-11-25")
    assert sent(scripted) == ["initialize", "DELETE"]


@pytest.mark.parametrize("answer", [404, 405, 500, None])
async def test_closing_never_raises_whatever_the_server_does(scripted: ScriptedServer, answer: int | None) -> None:
    handshake = serving()

    async def script(received: Received, reply: Reply) -> None:
        if received.http_method != "DELETE":
            await handshake(received, reply)
        elif answer is None:
            reply.reset()
        else:
            await reply.body(b"", answer)

    scripted.script = script
    async with host(scripted) as connection:
        pass
    with pytest.raises(BadRequest, match="closed"):
        await connection.request("tools/list")


async def test_closing_does_not_wait_for_a_server_that_hangs(
    scripted: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("agent_discovery.host.connection._CLOSING_SECONDS", 0.05)
    handshake = serving()

    async def script(received: Received, reply: Reply) -> None:
        if received.http_method == "DELETE":
            await asyncio.Event().wait()
        await handshake(received, reply)

    scripted.script = script
    async with host(scripted):
        before = anyio.current_time()
    assert anyio.current_time() - before < BOUND / 2


async def test_using_a_session_before_it_is_open_or_opening_it_twice_is_the_callers_mistake(
    scripted: ScriptedServer,
) -> None:
    scripted.script = serving()
    connection = host(scripted)
    with pytest.raises(BadRequest, match=r"await connection\.open\(\) first"):
        await connection.request("tools/list")
    with pytest.raises(BadRequest, match=r"await connection\.open\(\) first"):
        async with connection.notifications():
            pytest.fail("must not be entered")
    async with connection:
        with pytest.raises(BadRequest, match="already"):
            await connection.open()
