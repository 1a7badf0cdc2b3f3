"""The stateless wire on a real socket: what each request carries, and the stream of `subscriptions/listen`."""

import asyncio
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_discovery.host import (
    AnswerFrame,
    ClientInfo,
    Connection,
    Credential,
    Frame,
    NotificationFrame,
    ServerFault,
    ServerRefused,
    StreamLost,
    TimedOut,
    UnsupportedProtocolVersion,
    build_connection,
)
from agent_discovery.host.stateless import encode_header_value
from agent_discovery.wire import EXTENSION_ID, LIST_CHANGED
from tests.agent_discovery.host.fakes import BOUND, Received, Reply, ScriptedServer, discover_result

SUBSCRIPTION = "io.modelcontextprotocol/subscriptionId"


def host(
    server: ScriptedServer, frames: list[Frame] | None = None, timeout: float = BOUND, **options: Any
) -> Connection:
    observer = None if frames is None else frames.append
    return build_connection(
        server.url, Credential("alice-read"), wire="stateless", timeout=timeout, observer=observer, **options
    )


async def discovering(received: Received, reply: Reply) -> None:
    await reply.result(received, discover_result() if received.message["method"] == "server/discover" else {"ok": 1})


async def test_every_request_carries_who_asks_what_it_can_do_and_what_it_is(scripted: ScriptedServer) -> None:
    scripted.script = discovering
    async with host(scripted, client_info=ClientInfo("a-host", "9")) as connection:
        assert await connection.request("tools/call", {"name": "deploy_service", "arguments": {}}) == {"ok": 1}
        opening = connection.opening
    assert opening is not None
    assert (opening.wire, opening.protocol_version, opening.has_agents) == ("stateless", "2026-07-28", True)
    assert opening.server_info == {"name": "scripted"}
    discover, call = scripted.received
    assert discover.message["params"] == {
        "_meta": {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": {"name": "a-host", "version": "9"},
            "io.modelcontextprotocol/clientCapabilities": {"extensions": {EXTENSION_ID: {}}},
        }
    }
    assert call.message["params"] == {"name": "deploy_service", "arguments": {}, **discover.message["params"]}
    assert call.message["method"] == call.headers["mcp-method"] == "tools/call"
    assert call.headers["mcp-name"] == "deploy_service"
    assert call.headers["mcp-protocol-version"] == "2026-07-28"
    assert call.headers["accept"] == "application/json, text/event-stream"
    assert discover.headers["mcp-method"] == "server/discover"
    assert "mcp-name" not in discover.headers
    assert "mcp-session-id" not in call.headers


async def test_a_host_that_does_not_declare_the_extension_says_nothing_of_it(scripted: ScriptedServer) -> None:
    scripted.script = discovering
    async with host(scripted, declare_extension=False):
        pass
    meta = scripted.received[0].message["params"]["_meta"]
    assert meta["io.modelcontextprotocol/clientCapabilities"] == {}


async def test_meta_of_the_callers_own_is_kept_and_the_callers_params_are_not_written_to(
    scripted: ScriptedServer,
) -> None:
    scripted.script = discovering
    params = {"_meta": {"progressToken": 7}}
    connection = host(scripted)
    await connection.request("tools/list", params)
    await connection.aclose()
    assert params == {"_meta": {"progressToken": 7}}
    assert scripted.received[0].message["params"]["_meta"]["progressToken"] == 7


async def test_a_tool_name_that_a_header_cannot_carry_travels_encoded(scripted: ScriptedServer) -> None:
    scripted.script = discovering
    connection = host(scripted)
    await connection.request("tools/call", {"name": "é"})
    await connection.aclose()
    assert scripted.received[0].headers["mcp-name"] == "=?base64?w6k=?="


@pytest.mark.parametrize(
    ("value", "encoded"),
    [
        ("deploy_service", "deploy_service"),
        ("two words, and more", "two words, and more"),
        ("", ""),
        (" edge", "=?base64?IGVkZ2U=?="),
        ("é", "=?base64?w6k=?="),
        ("a\r\nX-Evil: 1", "=?base64?YQ0KWC1FdmlsOiAx?="),
        ("=?base64?w6k=?=", "=?base64?PT9iYXNlNjQ/dzZrPT89?="),
    ],
)
def test_a_name_that_a_header_cannot_carry_is_encoded(value: str, encoded: str) -> None:
    assert encode_header_value(value) == encoded


@given(st.text(max_size=40))
def test_no_name_ends_up_as_more_than_one_header(value: str) -> None:
    assert all(" " <= character <= "~" for character in encode_header_value(value))


async def test_a_server_that_does_not_list_this_version_is_not_spoken_to(scripted: ScriptedServer) -> None:
    async def script(received: Received, reply: Reply) -> None:
        await reply.result(received, discover_result(("2099-01-01",)))

    scripted.script = script
    with pytest.raises(UnsupportedProtocolVersion) as caught:
        async with host(scripted):
            pytest.fail("must not be entered")
    assert (caught.value.supported, caught.value.requested) == (("2099-01-01",), "2026-07-28")


async def test_an_answer_to_discover_without_versions_is_the_servers_fault(scripted: ScriptedServer) -> None:
    async def script(received: Received, reply: Reply) -> None:
        await reply.result(received, {})

    scripted.script = script
    with pytest.raises(ServerFault, match="supportedVersions"):
        async with host(scripted):
            pytest.fail("must not be entered")


def acknowledged(received: Received, granted: object = True) -> dict[str, Any]:
    params = {"notifications": {"agentsListChanged": granted}, "_meta": {SUBSCRIPTION: received.id}}
    return {"jsonrpc": "2.0", "method": "notifications/subscriptions/acknowledged", "params": params}


def changed(received: Received) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "method": LIST_CHANGED, "params": {"_meta": {SUBSCRIPTION: received.id}}}


def ended(received: Received) -> dict[str, Any]:
    result = {"_meta": {SUBSCRIPTION: received.id}, "resultType": "complete"}
    return {"jsonrpc": "2.0", "id": received.id, "result": result}


async def test_listening_asks_for_agents_and_tells_what_comes_up_to_the_result(scripted: ScriptedServer) -> None:
    async def script(received: Received, reply: Reply) -> None:
        await reply.open_events()
        await reply.event(acknowledged(received))
        await reply.chunk(b": keep-alive\n\n")
        await reply.event(changed(received))
        await reply.event(ended(received))
        await asyncio.Event().wait()

    scripted.script = script
    frames: list[Frame] = []
    connection = host(scripted, frames)
    async with connection.notifications() as stream:
        assert [type(frame) for frame in frames[1:]] == [AnswerFrame, NotificationFrame]
        told = [item.method async for item in stream]
    await connection.aclose()
    (listen,) = scripted.received
    assert listen.message["params"]["notifications"] == {"agentsListChanged": True}
    assert listen.headers["mcp-method"] == "subscriptions/listen"
    assert told == [LIST_CHANGED]
    on_the_stream = [frame.message for frame in frames if isinstance(frame, NotificationFrame)]
    assert on_the_stream == [acknowledged(listen), changed(listen), ended(listen)]


@pytest.mark.parametrize("granted", [False, None, "true", 1])
async def test_an_acknowledgement_that_does_not_grant_the_notification_is_a_refusal(
    scripted: ScriptedServer, granted: object
) -> None:
    async def script(received: Received, reply: Reply) -> None:
        await reply.open_events()
        await reply.event(acknowledged(received, granted))
        await asyncio.Event().wait()

    scripted.script = script
    connection = host(scripted)
    with pytest.raises(ServerRefused, match="agentsListChanged"):
        async with connection.notifications():
            pytest.fail("must not be entered")
    await connection.aclose()


async def test_a_listen_that_is_refused_as_json_is_that_refusal(scripted: ScriptedServer) -> None:
    async def script(received: Received, reply: Reply) -> None:
        error = {"code": -32601, "message": "Method not found"}
        await reply.json({"jsonrpc": "2.0", "id": received.id, "error": error}, 404)

    scripted.script = script
    connection = host(scripted)
    with pytest.raises(ServerRefused) as caught:
        async with connection.notifications():
            pytest.fail("must not be entered")
    await connection.aclose()
    assert (caught.value.code, caught.value.status) == (-32601, 404)


@pytest.mark.parametrize("first", ["changed", "result", "error", "nothing"])
async def test_a_stream_that_does_not_begin_with_the_acknowledgement_is_not_entered(
    scripted: ScriptedServer, first: str
) -> None:
    expected = {"changed": ServerFault, "result": ServerFault, "error": ServerRefused, "nothing": StreamLost}

    async def script(received: Received, reply: Reply) -> None:
        error = {"jsonrpc": "2.0", "id": received.id, "error": {"code": -32603, "message": "no"}}
        await reply.open_events()
        if first != "nothing":
            await reply.event({"changed": changed(received), "result": ended(received), "error": error}[first])
        await reply.end()

    scripted.script = script
    connection = host(scripted)
    with pytest.raises(expected[first]):
        async with connection.notifications():
            pytest.fail("must not be entered")
    await connection.aclose()


async def test_a_stream_that_is_not_acknowledged_in_time_times_out(scripted: ScriptedServer) -> None:
    async def script(_received: Received, reply: Reply) -> None:
        await reply.open_events()
        await asyncio.Event().wait()

    scripted.script = script
    connection = host(scripted, timeout=0.1)
    with pytest.raises(TimedOut, match="subscriptions/listen"):
        async with connection.notifications():
            pytest.fail("must not be entered")
    await connection.aclose()


async def test_a_quiet_stream_outlives_the_connections_timeout(scripted: ScriptedServer) -> None:
    timeout = 0.1

    async def script(received: Received, reply: Reply) -> None:
        await reply.open_events()
        await reply.event(acknowledged(received))
        await asyncio.sleep(timeout * 3)
        await reply.event(changed(received))
        await reply.end()

    scripted.script = script
    connection = host(scripted, timeout=timeout)
    async with connection.notifications() as stream:
        assert [item.method async for item in stream] == [LIST_CHANGED]
    await connection.aclose()


async def test_a_listen_stream_that_breaks_is_lost(scripted: ScriptedServer) -> None:
    async def script(received: Received, reply: Reply) -> None:
        await reply.open_events()
        await reply.event(acknowledged(received))
        reply.reset()

    scripted.script = script
    connection = host(scripted)
    async with connection.notifications() as stream:
        with pytest.raises(StreamLost):
            await anext(stream)
    await connection.aclose()
