"""The GET stream of the official SDK's client, which the SDK opens unseen: when it is open, refused, and over."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio
import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from agent_discovery.host import AgentCache, ServerRefused, StreamLost, TimedOut, watch_list_changed
from agent_discovery.host.sdk import ClientSource, adapt, agents_extension
from agent_discovery.wire import LIST_CHANGED
from tests.agent_discovery.host.fakes import CAPABILITIES, Received, Reply, Script, ScriptedServer, page

BOUND = 5.0


def serving(get: Script, *, session: bool = True) -> Script:
    async def script(received: Received, reply: Reply) -> None:
        if received.http_method == "DELETE":
            await reply.body(b"", 200)
        elif received.http_method == "GET":
            await get(received, reply)
        elif received.message["method"] == "initialize":
            info = {"name": "scripted", "version": "1"}
            result = {"protocolVersion": "2025-11-25", "capabilities": CAPABILITIES, "serverInfo": info}
            await reply.result(received, result, {"Mcp-Session-Id": "session-7"} if session else None)
        elif "id" not in received.message:
            await reply.body(b"", 202)
        elif received.message["method"] == "agents/list":
            await reply.result(received, page("a"))
        else:
            await reply.result(received, {})

    return script


@asynccontextmanager
async def adapted(server: ScriptedServer, timeout: float = BOUND) -> AsyncIterator[ClientSource]:
    async with httpx2.AsyncClient() as http:
        transport = streamable_http_client(server.url, http_client=http)
        async with Client(transport, mode="legacy", extensions=[agents_extension(http=http)]) as client:
            yield await adapt(client, timeout=timeout)


async def test_the_notifications_are_entered_once_the_stream_is_really_open(scripted: ScriptedServer) -> None:
    asked, may_open, entered = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def get(_received: Received, reply: Reply) -> None:
        asked.set()
        await may_open.wait()
        await reply.open_events()
        await reply.event({"jsonrpc": "2.0", "method": LIST_CHANGED})
        await reply.until_hung_up()

    async def listen(source: ClientSource) -> str:
        async with source.notifications() as stream:
            entered.set()
            return (await anext(stream)).method

    scripted.script = serving(get)
    async with adapted(scripted) as source:
        listening = asyncio.create_task(listen(source))
        with anyio.fail_after(BOUND):
            await asked.wait()
            assert await source.request("agents/list")
            assert not entered.is_set()
            may_open.set()
            assert await listening == LIST_CHANGED


async def test_a_stream_that_the_server_refuses_is_that_refusal(scripted: ScriptedServer) -> None:
    async def get(_received: Received, reply: Reply) -> None:
        await reply.body(b"", 405)

    scripted.script = serving(get)
    async with adapted(scripted) as source:
        with pytest.raises(ServerRefused, match="opens no stream") as caught:
            async with source.notifications():
                pytest.fail("must not be entered")
    assert caught.value.status == 405


async def test_a_stream_that_does_not_open_in_time_times_out(scripted: ScriptedServer) -> None:
    async def get(_received: Received, _reply: Reply) -> None:
        await asyncio.Event().wait()

    scripted.script = serving(get)
    async with adapted(scripted, timeout=0.3) as source:
        with pytest.raises(TimedOut, match="GET stream"):
            async with source.notifications():
                pytest.fail("must not be entered")


async def test_a_server_that_keeps_no_session_has_no_stream_to_wait_for(scripted: ScriptedServer) -> None:
    async def get(_received: Received, reply: Reply) -> None:
        await reply.body(b"", 405)

    scripted.script = serving(get, session=False)
    async with adapted(scripted) as source:
        with pytest.raises(ServerRefused, match="keeps no session"):
            async with source.notifications():
                pytest.fail("must not be entered")


async def test_a_stream_that_broke_is_listened_to_again_and_what_was_kept_is_not_trusted(
    scripted: ScriptedServer,
) -> None:
    streams: list[asyncio.Event] = []

    async def get(_received: Received, reply: Reply) -> None:
        streams.append(asyncio.Event())
        await reply.open_events()
        await reply.chunk(b"retry: 1\n\n")
        await streams[-1].wait()
        reply.reset()

    scripted.script = serving(get)
    cache = AgentCache()
    async with adapted(scripted) as source:
        async with watch_list_changed(source, cache) as watch:
            await cache.roster(source)
            assert cache.peek_roster(source) is not None
            streams[-1].set()
            await watch.until(lambda watch: watch.openings == 2, BOUND)
            assert cache.peek_roster(source) is None
        async with source.notifications() as stream:
            streams[-1].set()
            with anyio.fail_after(BOUND), pytest.raises(StreamLost, match="GET stream ended"):
                await anext(stream)
