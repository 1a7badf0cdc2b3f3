"""list_changed over HTTP: who hears, who does not, and how streams end."""

import json
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import httpx
import pytest
from httpx_sse import EventSource

from agent_discovery.server import Access, AgentDef, holders_of
from server.embedded import RunningServer, running_server
from server.settings import Settings
from tests.server.callers import Caller, WireName

LIST_CHANGED = "notifications/agents/list_changed"
SUBSCRIPTION = "io.modelcontextprotocol/subscriptionId"
FOR_BILLING = AgentDef(name="for-billing", access=Access(visible_to=holders_of("billing:read")))
FOR_ALL = AgentDef(name="for-all")
SECONDS = 5


class Stream:
    """An open stream: `next()` waits for its next message, within a bound."""

    def __init__(self, events: AsyncIterator[Any]) -> None:
        self._events = events

    async def next(self) -> dict[str, Any]:
        with anyio.fail_after(SECONDS):
            async for event in self._events:
                if event.data:
                    message: dict[str, Any] = json.loads(event.data)
                    return message
        raise EOFError

    async def ended(self) -> None:
        with pytest.raises(EOFError):
            await self.next()


@asynccontextmanager
async def listening(
    caller: Caller, token: str = "alice-read", *, wanted: Any = True, listen_id: str = "sub-1"
) -> AsyncIterator[Stream]:
    """The stream on which `caller`'s wire brings notifications; on the stateless wire after its acknowledgement."""
    headers = {**caller.headers("subscriptions/listen", token=token), "accept": "application/json, text/event-stream"}
    method, body = "GET", None
    if caller.wire == "stateless":
        params = {"notifications": {"agentsListChanged": wanted, "toolsListChanged": True}}
        method, body = "POST", caller.message("subscriptions/listen", params, id=listen_id)
    async with (
        httpx.AsyncClient(timeout=SECONDS) as http,
        http.stream(method, caller.url, headers=headers, json=body) as response,
    ):
        assert response.status_code == 200
        stream = Stream(aiter(EventSource(response).aiter_sse()))
        if caller.wire == "stateless":
            acknowledged = await stream.next()
            assert acknowledged["method"] == "notifications/subscriptions/acknowledged"
            assert acknowledged["params"]["_meta"] == {SUBSCRIPTION: listen_id}
            honoured = {"toolsListChanged": True, **({"agentsListChanged": True} if wanted is True else {})}
            expected = honoured if "extensions" in caller.capabilities else {"toolsListChanged": True}
            assert acknowledged["params"]["notifications"] == expected
        yield stream


@pytest.fixture(autouse=True)
def three_agents(server: RunningServer) -> Iterator[None]:
    """Each test begins and ends with the roster as it was."""
    yield
    for agent in (FOR_BILLING, FOR_ALL):
        server.call(lambda name=agent.name: server.registry.remove(name))  # type: ignore[misc]


async def test_a_change_arrives_on_the_stream_of_this_wire(caller: Caller) -> None:
    async with listening(caller) as stream:
        for tool in ("publish_release_agent", "retire_release_agent"):
            await anyio.to_thread.run_sync(caller.tool, tool)
            message = await stream.next()
            assert message["method"] == LIST_CHANGED
            if caller.wire == "stateless":
                assert message["params"]["_meta"] == {SUBSCRIPTION: "sub-1"}


async def test_only_callers_whose_roster_changed_hear_of_it(caller: Caller, server: RunningServer) -> None:
    async with listening(caller) as stream:
        server.call(lambda: server.registry.add(FOR_BILLING))
        server.call(lambda: server.registry.add(FOR_ALL))
        assert (await stream.next())["method"] == LIST_CHANGED
        server.call(lambda: server.registry.remove(FOR_BILLING.name))
        with pytest.raises(TimeoutError), anyio.fail_after(0.3):
            await stream.next()


async def test_bob_hears_of_what_only_he_can_see(server: RunningServer, wire: WireName) -> None:
    with Caller(server.url, wire, "bob-billing") as bob:
        async with listening(bob, "bob-billing") as stream:
            server.call(lambda: server.registry.add(FOR_BILLING))
            assert (await stream.next())["method"] == LIST_CHANGED


async def test_who_hears_on_a_session_is_the_token_on_its_stream(server: RunningServer) -> None:
    deploy = AgentDef(name=FOR_ALL.name, access=Access(visible_to=holders_of("ops:deploy")))
    with Caller(server.url, "session", "alice-read") as alice:
        async with listening(alice, "alice-deploy") as stream:
            server.call(lambda: server.registry.add(deploy))
            assert (await stream.next())["method"] == LIST_CHANGED
    with Caller(server.url, "session", "alice-deploy") as alice:
        async with listening(alice, "alice-read") as stream:
            server.call(lambda: server.registry.remove(deploy.name))
            with pytest.raises(TimeoutError), anyio.fail_after(0.3):
                await stream.next()


def test_a_session_that_says_initialized_often_is_followed_once(server: RunningServer) -> None:
    def listeners() -> int:
        return server.call(lambda: len(server.registry._listeners))  # nothing public counts them

    with Caller(server.url, "session") as alice:
        alice.call("agents/list")
        before = listeners()
        initialized = {"jsonrpc": "2.0", "method": "notifications/initialized"}
        for _ in range(3):
            assert alice.http.post(alice.url, json=initialized, headers=alice.headers("x")).status_code == 202
        alice.call("agents/list")
        assert listeners() == before


@pytest.mark.parametrize("wanted", [False, None, 1, "true", [True]])
async def test_a_listen_stream_that_did_not_ask_gets_none(server: RunningServer, wanted: Any) -> None:
    with Caller(server.url, "stateless") as alice:
        async with listening(alice, wanted=wanted) as stream:
            server.call(lambda: server.registry.add(FOR_ALL))
            with pytest.raises(TimeoutError), anyio.fail_after(0.3):
                await stream.next()


async def test_a_client_without_the_extension_gets_none(server: RunningServer, wire: WireName) -> None:
    with Caller(server.url, wire, declared=False) as alice:
        async with listening(alice) as stream:
            server.call(lambda: server.registry.add(FOR_ALL))
            with pytest.raises(TimeoutError), anyio.fail_after(0.3):
                await stream.next()


async def test_two_streams_keep_their_subscription_ids(server: RunningServer) -> None:
    with Caller(server.url, "stateless") as alice:
        async with listening(alice, listen_id="one") as one, listening(alice, listen_id="two") as two:
            server.call(lambda: server.registry.add(FOR_ALL))
            for stream, listen_id in ((one, "one"), (two, "two")):
                assert (await stream.next())["params"]["_meta"] == {SUBSCRIPTION: listen_id}


async def test_a_client_that_never_reads_delays_nobody(caller: Caller, server: RunningServer) -> None:
    headers = {**caller.headers("subscriptions/listen"), "accept": "application/json, text/event-stream"}
    method, body = "GET", b""
    if caller.wire == "stateless":
        method = "POST"
        body = json.dumps(
            caller.message("subscriptions/listen", {"notifications": {"agentsListChanged": True}})
        ).encode()
    lines = [f"{method} /mcp HTTP/1.1", f"host: 127.0.0.1:{server.port}", f"content-length: {len(body)}"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    with socket.socket() as deaf, Caller(server.url, caller.wire) as other:
        deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1)
        deaf.connect(("127.0.0.1", server.port))
        deaf.sendall("\r\n".join([*lines, "", ""]).encode() + body)
        async with listening(other) as stream:
            for number in range(40):
                changed = AgentDef(name=FOR_ALL.name, description=str(number))
                server.call(lambda agent=changed: server.registry.put(agent))  # type: ignore[misc]
                assert (await stream.next())["method"] == LIST_CHANGED


async def test_a_stream_opened_again_hears_again(caller: Caller, server: RunningServer) -> None:
    async with listening(caller):
        pass
    server.call(lambda: server.registry.add(FOR_ALL))
    with anyio.fail_after(SECONDS):
        while True:
            try:
                async with listening(caller) as stream:
                    server.call(lambda: server.registry.remove(FOR_ALL.name))
                    assert (await stream.next())["method"] == LIST_CHANGED
                    return
            except AssertionError:
                # The SDK answers 409 until it has noticed that the stream before is gone.
                await anyio.lowlevel.checkpoint()


@pytest.mark.parametrize("json_response", [True, False])
async def test_on_shutdown_listen_streams_get_their_result_and_all_streams_end(json_response: bool) -> None:
    """CO-5."""
    with running_server(Settings(json_response=json_response)) as own:
        session, stateless = Caller(own.url, "session"), Caller(own.url, "stateless")
        async with listening(session) as standing, listening(stateless) as listen:
            closing = anyio.Event()

            async def close() -> None:
                await anyio.to_thread.run_sync(own.call, own.begin_shutdown)
                closing.set()

            async with anyio.create_task_group() as tasks:
                tasks.start_soon(close)
                last = await listen.next()
                await listen.ended()
                await standing.ended()
            assert last["id"] == "sub-1"
            assert last["result"]["resultType"] == "complete"
            assert last["result"]["_meta"][SUBSCRIPTION] == "sub-1"
            assert "io.modelcontextprotocol/serverInfo" in last["result"]["_meta"]
        session.http.close()
        stateless.http.close()
        assert await anyio.to_thread.run_sync(own.wait, SECONDS)
