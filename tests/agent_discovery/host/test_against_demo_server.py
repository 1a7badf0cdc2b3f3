"""The host side against the demo server, a whole second implementation of the wire: both wires, real sockets."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest

from agent_discovery.host import (
    AgentCache,
    Connection,
    Credential,
    Frame,
    InsufficientScope,
    NotAuthenticated,
    RoleTable,
    ServerRefused,
    SessionEnded,
    UnsupportedProtocolVersion,
    Wire,
    connect,
    parse_challenges,
    step_up,
    watch_list_changed,
)
from server.embedded import RunningServer, running_server
from server.settings import Settings
from tests.agent_discovery.host.fakes import BOUND

ALICE = Credential("alice-read", "alice")
ALICE_DEPLOY = Credential("alice-deploy", "alice")
BOB = Credential("bob-billing", "bob")

both_wires = pytest.mark.parametrize("wire", ["session", "stateless"])


@pytest.fixture(scope="module", params=[True, False], ids=["json", "events"])
def demo(request: pytest.FixtureRequest) -> Iterator[RunningServer]:
    """The demo server, answering as JSON or as event streams, two agents to a page."""
    with running_server(Settings(port=0, json_response=request.param, page_size=2)) as server:
        yield server


@asynccontextmanager
async def connected(
    server: RunningServer, wire: Wire, credential: Credential | None = ALICE, frames: list[Frame] | None = None
) -> AsyncIterator[Connection]:
    observer = None if frames is None else frames.append
    async with await connect(server.url, credential, wire=wire, timeout=BOUND, observer=observer) as connection:
        yield connection


async def call(connection: Connection, tool: str, **arguments: Any) -> dict[str, Any]:
    return await connection.request("tools/call", {"name": tool, "arguments": arguments})


@both_wires
async def test_the_server_advertises_agents_and_shows_each_token_its_own_roster(
    demo: RunningServer, wire: Wire
) -> None:
    cache = AgentCache()
    async with connected(demo, wire) as alice, connected(demo, wire, BOB) as bob:
        assert alice.opening is not None
        assert alice.opening.settings == {"listChanged": True}
        assert (await cache.roster(alice)).names == ("pipeline-agent", "deploy-agent")
        roster = await cache.roster(bob)
        assert roster.names == ("pipeline-agent", "billing-agent", "deploy-agent")
        assert (roster.ttl_ms, roster.cache_scope) == (60_000, "private")


@both_wires
async def test_an_agent_opens_into_tools_that_equal_those_of_tools_list(demo: RunningServer, wire: Wire) -> None:
    cache = AgentCache()
    async with connected(demo, wire) as alice:
        details = await cache.agent(alice, "pipeline-agent")
        listed = {tool["name"]: tool for tool in (await alice.request("tools/list"))["tools"]}
        assert [tool["name"] for tool in details.tools] == ["list_failed_pipelines", "get_pipeline_log"]
        assert all(listed[tool["name"]] == tool for tool in details.tools)
        assert await cache.agent(alice, "pipeline-agent") is details
    assert RoleTable({}, "the-default").choose(details.model_routing_hint).model == "the-default"


@both_wires
async def test_a_step_up_opens_the_agent_over_the_same_connection(demo: RunningServer, wire: Wire) -> None:
    cache = AgentCache()
    asked: list[tuple[str, ...]] = []

    async def authorize(scopes: tuple[str, ...]) -> Credential:
        asked.append(scopes)
        return ALICE_DEPLOY

    async with connected(demo, wire) as alice:
        details = await step_up(
            lambda connection: cache.agent(connection, "deploy-agent"), alice, authorize, held=["ops:read"]
        )
        assert details.agent.name == "deploy-agent"
        assert cache.remaining(alice, "deploy-agent") is None
    assert asked == [("ops:read", "ops:deploy")]


@both_wires
async def test_the_challenge_names_the_scope_and_where_to_get_it(demo: RunningServer, wire: Wire) -> None:
    async with connected(demo, wire) as alice:
        with pytest.raises(InsufficientScope) as caught:
            await call(alice, "deploy_service", service="checkout", version="1.2.3")
    assert caught.value.status == 403
    assert caught.value.challenge.scope == ("ops:deploy",)
    assert caught.value.challenge.resource_metadata is not None
    assert parse_challenges(caught.value.headers["www-authenticate"]) == (caught.value.challenge,)


@both_wires
async def test_two_tokens_at_once_on_one_connection_each_get_their_own(demo: RunningServer, wire: Wire) -> None:
    async with connected(demo, wire) as alice:
        deploy = alice.as_token(ALICE_DEPLOY)
        outcomes = await asyncio.gather(
            *(c.request("agents/get", {"name": "deploy-agent"}) for c in (alice, deploy) * 5), return_exceptions=True
        )
    assert all(isinstance(refused, InsufficientScope) for refused in outcomes[0::2])
    assert all(isinstance(opened, dict) for opened in outcomes[1::2])


@both_wires
async def test_hidden_and_unknown_agents_are_refused_alike(demo: RunningServer, wire: Wire) -> None:
    cache = AgentCache()
    async with connected(demo, wire) as alice:
        refusals = []
        for name in ("billing-agent", "no-such-agent"):
            with pytest.raises(ServerRefused) as caught:
                await cache.agent(alice, name)
            refusals.append((caught.value.code, caught.value.reason, caught.value.status))
    assert refusals[0] == refusals[1]
    assert refusals[0][:2] == (-32602, "agent_not_found")


@both_wires
async def test_a_change_reaches_the_watch_and_the_next_roster_has_the_new_agent(
    demo: RunningServer, wire: Wire
) -> None:
    cache = AgentCache()
    async with connected(demo, wire) as alice, watch_list_changed(alice, cache) as watch:
        assert "release-agent" not in await cache.roster(alice)
        await call(alice, "publish_release_agent")
        assert await watch.changed(BOUND) == 1
        assert "release-agent" in await cache.roster(alice)
        assert (await cache.agent(alice, "release-agent")).agent.name == "release-agent"
        await call(alice, "retire_release_agent")
        assert await watch.changed(BOUND) == 2
        assert "release-agent" not in await cache.roster(alice)
        assert cache.remaining(alice, "release-agent") is None


@both_wires
async def test_a_token_that_the_server_does_not_know_is_told_so(demo: RunningServer, wire: Wire) -> None:
    for credential in (None, Credential("nobody")):
        with pytest.raises(NotAuthenticated) as caught:
            async with connected(demo, wire, credential):
                pytest.fail("must not be entered")
        assert caught.value.status == 401


async def test_another_users_token_has_no_part_in_a_session(demo: RunningServer) -> None:
    async with connected(demo, "session") as alice:
        with pytest.raises(SessionEnded):
            await alice.as_token(BOB).request("agents/list")
        assert await alice.request("agents/list")


@both_wires
async def test_no_frame_of_a_whole_conversation_holds_a_token(demo: RunningServer, wire: Wire) -> None:
    frames: list[Frame] = []
    async with connected(demo, wire, frames=frames) as alice:
        await alice.as_token(ALICE_DEPLOY).request("agents/get", {"name": "deploy-agent"})
        with pytest.raises(InsufficientScope):
            await alice.request("agents/get", {"name": "deploy-agent"})
    assert len(frames) >= 6
    assert not any(token in repr(frames) for token in ("alice-read", "alice-deploy"))


@pytest.mark.parametrize(("only", "other"), [("session", "stateless"), ("stateless", "session")])
async def test_auto_finds_the_one_wire_that_a_server_serves(only: Any, other: Wire) -> None:
    with running_server(Settings(port=0, wire=only)) as server:
        async with await connect(server.url, ALICE, timeout=BOUND) as connection:
            assert connection.wire == only
            assert (await AgentCache().roster(connection)).names == ("pipeline-agent", "deploy-agent")
        with pytest.raises(UnsupportedProtocolVersion):
            await connect(server.url, ALICE, wire=other, timeout=BOUND)


@both_wires
async def test_a_server_that_stops_ends_the_stream_on_purpose(wire: Wire) -> None:
    with running_server(Settings(port=0)) as server:
        connection = await connect(server.url, ALICE, wire=wire, timeout=BOUND)
        opened = anyio.Event()

        async def listen() -> list[str]:
            async with connection.notifications() as stream:
                opened.set()
                return [item.method async for item in stream]

        listening = asyncio.create_task(listen())
        with anyio.fail_after(BOUND):
            await opened.wait()
    with anyio.fail_after(BOUND):
        assert await listening == []
    await connection.aclose()
