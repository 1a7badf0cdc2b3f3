"""The official SDK's client as a source of agents: the same behaviours as on this package's own connections.

Both wires, over real sockets against the demo server, and in-process against an `MCPServer`.
"""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.server.mcpserver import MCPServer

from agent_discovery.host import (
    AgentCache,
    AgentSource,
    BadRequest,
    Credential,
    ExtensionMissing,
    InsufficientScope,
    NotAuthenticated,
    RoleTable,
    ServerRefused,
    SessionEnded,
    StreamLost,
    TimedOut,
    parse_challenges,
    step_up,
    watch_list_changed,
)
from agent_discovery.host.sdk import AgentsExtension, ClientSource, adapt, agents_extension
from agent_discovery.server import Access, AgentDef, AgentDiscovery, AgentRegistry
from agent_discovery.wire import EXTENSION_ID
from server.embedded import RunningServer, running_server
from server.settings import Settings
from tests.agent_discovery.host.fakes import BOUND

ALICE = Credential("alice-read", "alice")
ALICE_DEPLOY = Credential("alice-deploy", "alice")
BOB = Credential("bob-billing", "bob")

modes = pytest.mark.parametrize("mode", ["legacy", "2026-07-28"])


@pytest.fixture(scope="module", params=[True, False], ids=["json", "events"])
def demo(request: pytest.FixtureRequest) -> Iterator[RunningServer]:
    """The demo server, answering as JSON or as event streams, two agents to a page."""
    with running_server(Settings(port=0, json_response=request.param, page_size=2)) as server:
        yield server


@asynccontextmanager
async def adapted(
    server: RunningServer, mode: str, credential: Credential = ALICE, *, watched: bool = True, timeout: float = BOUND
) -> AsyncIterator[ClientSource]:
    async with httpx2.AsyncClient(headers={"Authorization": f"Bearer {credential.token}"}) as http:
        transport = streamable_http_client(server.url, http_client=http)
        agents = agents_extension(http=http if watched else None)
        async with Client(transport, mode=mode, extensions=[agents]) as client:
            yield await adapt(client, credential, url=server.url, timeout=timeout)


async def call(source: AgentSource, tool: str, **arguments: Any) -> dict[str, Any]:
    return await source.request("tools/call", {"name": tool, "arguments": arguments})


@modes
async def test_the_server_advertises_agents_and_shows_each_token_its_own_roster(demo: RunningServer, mode: str) -> None:
    cache = AgentCache()
    async with adapted(demo, mode) as alice, adapted(demo, mode, BOB) as bob:
        assert alice.opening.settings == {"listChanged": True}
        assert alice.opening.server_info["name"] == "agent-discovery-demo"
        assert alice.wire == ("session" if mode == "legacy" else "stateless")
        assert (await cache.roster(alice)).names == ("pipeline-agent", "deploy-agent")
        roster = await cache.roster(bob)
        assert roster.names == ("pipeline-agent", "billing-agent", "deploy-agent")
        assert (roster.ttl_ms, roster.cache_scope) == (60_000, "private")


@modes
async def test_an_agent_opens_into_tools_that_equal_those_of_tools_list(demo: RunningServer, mode: str) -> None:
    cache = AgentCache()
    async with adapted(demo, mode) as alice:
        details = await cache.agent(alice, "pipeline-agent")
        listed = {tool["name"]: tool for tool in (await alice.request("tools/list"))["tools"]}
        assert [tool["name"] for tool in details.tools] == ["list_failed_pipelines", "get_pipeline_log"]
        assert all(listed[tool["name"]] == tool for tool in details.tools)
        assert await cache.agent(alice, "pipeline-agent") is details
    assert RoleTable({}, "the-default").choose(details.model_routing_hint).model == "the-default"


@modes
async def test_two_clients_of_one_token_share_what_is_kept_and_nameless_ones_share_nothing(
    demo: RunningServer, mode: str
) -> None:
    events: list[str] = []
    cache = AgentCache(on_event=lambda event: events.append(event.kind))
    async with adapted(demo, mode) as one, adapted(demo, mode) as two:
        await cache.roster(one)
        await cache.roster(two)
        assert events == ["stored", "hit"]
        for _ in range(2):
            await cache.roster(await adapt(one.client, url=demo.url, timeout=BOUND))
        assert events == ["stored", "hit", "stored", "stored"]


@modes
async def test_the_challenge_behind_a_403_is_seen_past_the_sdk(demo: RunningServer, mode: str) -> None:
    async with adapted(demo, mode) as alice:
        with pytest.raises(InsufficientScope) as caught:
            await call(alice, "deploy_service", service="checkout", version="1.2.3")
    assert caught.value.status == 403
    assert caught.value.challenge.scope == ("ops:deploy",)
    assert caught.value.challenge.resource_metadata is not None
    assert parse_challenges(caught.value.headers["www-authenticate"]) == (caught.value.challenge,)


@modes
async def test_a_403_that_cannot_be_seen_says_how_to_see_it(demo: RunningServer, mode: str) -> None:
    async with adapted(demo, mode, watched=False) as alice:
        with pytest.raises(ServerRefused, match=r"agents_extension\(http=\.\.\.\)") as caught:
            await alice.request("agents/get", {"name": "deploy-agent"})
        assert not isinstance(caught.value, InsufficientScope)
        with pytest.raises(BadRequest, match=r"as_token: .*agents_extension\(http=\.\.\.\)"):
            alice.as_token(ALICE_DEPLOY)


@modes
async def test_a_step_up_opens_the_agent_over_the_same_client(demo: RunningServer, mode: str) -> None:
    cache = AgentCache()
    asked: list[tuple[str, ...]] = []

    async def authorize(scopes: tuple[str, ...]) -> Credential:
        asked.append(scopes)
        return ALICE_DEPLOY

    async with adapted(demo, mode) as alice:
        details = await step_up(lambda source: cache.agent(source, "deploy-agent"), alice, authorize, held=["ops:read"])
        assert details.agent.name == "deploy-agent"
        assert cache.remaining(alice, "deploy-agent") is None
        with pytest.raises(InsufficientScope):
            await cache.agent(alice, "deploy-agent")
    assert asked == [("ops:read", "ops:deploy")]


@modes
async def test_two_tokens_at_once_on_one_client_each_get_their_own(demo: RunningServer, mode: str) -> None:
    async with adapted(demo, mode) as alice:
        deploy = alice.as_token(ALICE_DEPLOY)
        outcomes = await asyncio.gather(
            *(s.request("agents/get", {"name": "deploy-agent"}) for s in (alice, deploy) * 5), return_exceptions=True
        )
    assert all(isinstance(refused, InsufficientScope) for refused in outcomes[0::2])
    assert all(isinstance(opened, dict) for opened in outcomes[1::2])


@modes
async def test_hidden_and_unknown_agents_are_refused_alike(demo: RunningServer, mode: str) -> None:
    cache = AgentCache()
    async with adapted(demo, mode) as alice:
        refusals = []
        for name in ("billing-agent", "no-such-agent"):
            with pytest.raises(ServerRefused) as caught:
                await cache.agent(alice, name)
            refusals.append((caught.value.code, caught.value.reason, caught.value.status))
    assert refusals[0] == refusals[1]
    assert refusals[0][:2] == (-32602, "agent_not_found")


@pytest.mark.parametrize(("mode", "watched"), [("legacy", True), ("2026-07-28", True), ("2026-07-28", False)])
async def test_a_change_reaches_the_watch_and_the_next_roster_has_the_new_agent(
    demo: RunningServer, mode: str, watched: bool
) -> None:
    cache = AgentCache()
    async with adapted(demo, mode, watched=watched) as alice, watch_list_changed(alice, cache) as watch:
        assert "release-agent" not in await cache.roster(alice)
        await call(alice, "publish_release_agent")
        assert await watch.changed(BOUND) == 1
        assert "release-agent" in await cache.roster(alice)
        assert (await cache.agent(alice, "release-agent")).agent.name == "release-agent"
        await call(alice, "retire_release_agent")
        assert await watch.changed(BOUND) == 2
        assert "release-agent" not in await cache.roster(alice)
        assert cache.remaining(alice, "release-agent") is None


async def test_two_listeners_of_one_client_each_hear_their_own_stream(demo: RunningServer) -> None:
    async with adapted(demo, "2026-07-28") as alice, alice.notifications() as first, alice.notifications() as second:
        await call(alice, "publish_release_agent")
        with anyio.fail_after(BOUND):
            heard = [(await anext(stream)).params["_meta"] for stream in (first, second)]
        await call(alice, "retire_release_agent")
        with anyio.fail_after(BOUND):
            heard += [(await anext(stream)).params["_meta"] for stream in (first, second)]
    assert heard[0] != heard[1]
    assert heard[:2] == heard[2:]


@modes
async def test_a_token_that_the_server_does_not_know_is_told_so(demo: RunningServer, mode: str) -> None:
    async with adapted(demo, mode) as alice:
        with pytest.raises(NotAuthenticated) as caught:
            await alice.as_token(Credential("nobody")).request("agents/list")
        assert caught.value.status == 401
        assert await alice.request("agents/list")


async def test_another_users_token_has_no_part_in_a_session(demo: RunningServer) -> None:
    async with adapted(demo, "legacy") as alice:
        with pytest.raises(SessionEnded):
            await alice.as_token(BOB).request("agents/list")
        assert await alice.request("agents/list")


async def test_the_token_of_a_view_goes_to_the_mcp_endpoint_only(demo: RunningServer) -> None:
    seen: list[tuple[str, str | None]] = []

    async def note(request: httpx2.Request) -> None:
        seen.append((request.url.path, request.headers.get("authorization")))

    async with httpx2.AsyncClient() as http:
        agents = agents_extension(http=http)
        http.event_hooks["request"].append(note)
        assert agents.http is not None
        with agents.http.asking(ALICE_DEPLOY):
            await http.get(f"{demo.base_url}/.well-known/oauth-protected-resource/mcp")
            await http.get(demo.url, headers={"accept": "application/json, text/event-stream"})
    assert seen == [("/.well-known/oauth-protected-resource/mcp", None), ("/mcp", "Bearer alice-deploy")]


@modes
async def test_a_server_that_stops_ends_the_stream(mode: str) -> None:
    with running_server(Settings(port=0)) as server:
        async with adapted(server, mode) as alice, alice.notifications() as stream:
            server.begin_shutdown()
            with anyio.fail_after(BOUND):
                if mode == "legacy":
                    with pytest.raises(StreamLost, match="GET stream ended"):
                        await anext(stream)
                else:
                    assert await anext(stream, None) is None


@modes
async def test_a_server_that_is_gone_ends_the_sdks_client_as_a_whole(mode: str) -> None:
    """Known gap: mcp 2.3 lets the connection error end its transport, which cancels the block that uses it."""

    async def use_it_to_the_end(server: RunningServer) -> None:
        async with adapted(server, mode) as alice:
            assert await alice.request("agents/list")
            server.begin_shutdown()
            await asyncio.to_thread(server.wait, BOUND)
            await alice.request("agents/list")

    with running_server(Settings(port=0)) as server, pytest.raises(ExceptionGroup) as caught:
        await use_it_to_the_end(server)
    assert caught.group_contains(httpx2.ConnectError)


async def test_a_request_that_takes_too_long_times_out(demo: RunningServer) -> None:
    async with adapted(demo, "2026-07-28") as alice:
        with pytest.raises(TimedOut, match="agents/list within 1e-06 s"):
            await alice.request("agents/list", timeout=1e-6)


async def test_a_client_that_declares_no_agents_or_is_not_connected_is_the_callers_mistake(demo: RunningServer) -> None:
    undeclared = Client(demo.url)
    with pytest.raises(BadRequest, match=r"extensions=\[agents_extension\(\)\]"):
        await adapt(undeclared)
    declared = Client(demo.url, extensions=[agents_extension()])
    with pytest.raises(BadRequest, match="inside `async with client`"):
        await adapt(declared)
    with pytest.raises(BadRequest, match=r"extension_version: .*MAJOR\.MINOR\.PATCH"):
        agents_extension(version="2")


async def test_a_source_whose_client_has_gone_says_so(demo: RunningServer) -> None:
    async with adapted(demo, "2026-07-28") as alice:
        pass
    with pytest.raises((BadRequest, StreamLost)):
        await alice.request("agents/list")


# In-process, without HTTP


def in_process() -> tuple[MCPServer[Any], AgentRegistry]:
    agents = [
        AgentDef(
            name="greeter", description="Greets.", capabilities=("talk",), instructions="Greet.", tools=("greet",)
        ),
        AgentDef(name="boss", instructions="Decide.", tools=("greet",), access=Access(challenge=("boss:ask",))),
    ]
    registry = AgentRegistry(agents)
    discovery = AgentDiscovery(registry)
    server: MCPServer[Any] = MCPServer("in-process", extensions=[discovery])

    @server.tool()
    def greet(name: str) -> str:
        """Greet somebody."""
        return f"Hello {name}"

    discovery.attach(server)
    return server, registry


@modes
async def test_an_in_process_server_is_discovered_opened_and_watched(mode: str) -> None:
    server, registry = in_process()
    cache = AgentCache()
    async with Client(server, mode=mode, extensions=[agents_extension()]) as client:
        source = await adapt(client, timeout=BOUND)
        assert (await cache.roster(source)).names == ("greeter", "boss")
        details = await cache.agent(source, "greeter")
        assert [tool["name"] for tool in details.tools] == ["greet"]
        async with watch_list_changed(source, cache) as watch:
            registry.remove("boss")
            assert await watch.changed(BOUND) == 1
            assert (await cache.roster(source)).names == ("greeter",)


@modes
async def test_a_challenge_that_travels_without_http_is_the_same_error(mode: str) -> None:
    server, _ = in_process()
    async with Client(server, mode=mode, extensions=[agents_extension()]) as client:
        source = await adapt(client, timeout=BOUND)
        with pytest.raises(InsufficientScope) as caught:
            await AgentCache().agent(source, "boss")
        assert caught.value.challenge.scope == ("boss:ask",)


@modes
async def test_a_server_without_agents_is_not_asked_for_them(mode: str) -> None:
    plain: MCPServer[Any] = MCPServer("plain")
    async with Client(plain, mode=mode, extensions=[agents_extension()]) as client:
        source = await adapt(client, timeout=BOUND)
        with pytest.raises(ExtensionMissing, match="does not advertise agent discovery"):
            await AgentCache().roster(source)


@modes
async def test_two_servers_without_a_url_are_never_taken_for_one(mode: str) -> None:
    cache = AgentCache()
    server, registry = in_process()
    other, _ = in_process()
    registry.remove("boss")
    async with (
        Client(server, mode=mode, extensions=[agents_extension()]) as one,
        Client(other, mode=mode, extensions=[agents_extension()]) as two,
    ):
        rosters = [await cache.roster(await adapt(client, ALICE, timeout=BOUND)) for client in (one, two)]
    assert [roster.names for roster in rosters] == [("greeter",), ("greeter", "boss")]


def test_the_extension_declares_its_version_and_nothing_else() -> None:
    assert AgentsExtension.identifier == EXTENSION_ID
    assert agents_extension().settings() == {}
    assert agents_extension(version="2.1.0").settings() == {"version": "2.1.0"}
