"""What the cache keeps, for how long and for whom (draft, "Caching"; clauses AD-15 to AD-17, CO-1 to CO-3)."""

import asyncio
from collections.abc import Mapping
from typing import Any

import anyio
import pytest

from agent_discovery.host import (
    AgentCache,
    BadRequest,
    CacheEvent,
    Credential,
    ExtensionMissing,
    HostError,
    ServerFault,
    ServerRefused,
    TimedOut,
)
from tests.agent_discovery.host.fakes import (
    BOUND,
    Backend,
    Clock,
    FakeConnection,
    agent_not_found,
    details,
    page,
)

ALICE, BOB = Credential("alice-read", "alice"), Credential("bob-billing", "bob")


class Server:
    """Answers the two methods from what a test sets, and can be held in the middle of an answer."""

    def __init__(self) -> None:
        self.pages: list[dict[str, Any]] = [page("pipeline-agent", "deploy-agent")]
        self.ttl: object = 60_000
        self.scope: object = "private"
        self.error: HostError | None = None
        self.gate = anyio.Event()
        self.gate.set()
        self.reached = anyio.Event()
        self.backend = Backend(self.respond)

    async def respond(self, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        answer = self._answer(method, params)
        self.reached.set()
        await self.gate.wait()
        if self.error is not None:
            raise self.error
        return answer

    def _answer(self, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        if method == "agents/get":
            return details(params["name"], self.ttl, self.scope)
        return self.pages[int(params.get("cursor", "0"))]

    def hold(self) -> None:
        self.gate, self.reached = anyio.Event(), anyio.Event()

    def connection(self, credential: Credential | None = ALICE) -> FakeConnection:
        return FakeConnection(self.backend, credential)

    @property
    def asked(self) -> list[str]:
        return self.backend.methods()


class Log:
    """The cache's events."""

    def __init__(self) -> None:
        self.events: list[CacheEvent] = []

    def __call__(self, event: CacheEvent) -> None:
        self.events.append(event)

    @property
    def short(self) -> list[tuple[str, str]]:
        return [(event.kind, event.what) for event in self.events]


@pytest.fixture
def server() -> Server:
    return Server()


@pytest.fixture
def log() -> Log:
    return Log()


@pytest.fixture
def cache(clock: Clock, log: Log) -> AgentCache:
    return AgentCache(clock=clock, on_event=log)


async def test_a_fresh_roster_is_answered_without_asking_again(cache: AgentCache, server: Server, log: Log) -> None:
    first = await cache.roster(server.connection())
    again = await cache.roster(server.connection())
    assert again is first
    assert first.names == ("pipeline-agent", "deploy-agent")
    assert first.get("deploy-agent") == first.agents[1]
    assert first.get("nobody") is None
    assert server.asked == ["agents/list"]
    assert log.short == [("stored", "roster"), ("hit", "roster")]


async def test_an_entry_is_fresh_until_exactly_its_ttl_after_receipt(
    cache: AgentCache, server: Server, clock: Clock, log: Log
) -> None:
    connection = server.connection()
    await cache.roster(connection)
    assert cache.remaining(connection) == 60.0
    clock.advance(59.999)
    await cache.roster(connection)
    assert log.events[-1] == CacheEvent("hit", "roster", 1, "private")
    clock.advance(0.001)
    assert cache.remaining(connection) is None
    assert cache.peek_roster(connection) is None
    await cache.roster(connection)
    assert server.asked == ["agents/list"] * 2
    assert log.short[-2:] == [("expired", "roster"), ("stored", "roster")]


async def test_roster_and_details_are_entries_of_their_own_and_neither_prolongs_the_other(
    cache: AgentCache, server: Server, clock: Clock
) -> None:
    connection = server.connection()
    await cache.roster(connection)
    clock.advance(30)
    await cache.agent(connection, "pipeline-agent")
    clock.advance(30)
    assert cache.remaining(connection) is None
    assert cache.remaining(connection, "pipeline-agent") == 30.0
    await cache.roster(connection)
    clock.advance(30)
    assert cache.remaining(connection) == 30.0
    assert cache.remaining(connection, "pipeline-agent") is None
    assert cache.remaining(connection, "deploy-agent") is None


async def test_all_pages_are_one_entry_with_the_smallest_ttl_from_the_first_receipt(
    cache: AgentCache, server: Server, clock: Clock
) -> None:
    server.pages = [page("a", ttl=60_000, cursor="1"), page("b", ttl=20_000, cursor="2"), page("c", ttl=90_000)]
    ask = server.respond

    async def slow(method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        answer = await ask(method, params)
        clock.advance(4)
        return answer

    server.backend.respond = slow
    roster = await cache.roster(server.connection())
    assert (roster.names, roster.ttl_ms, roster.cache_scope) == (("a", "b", "c"), 20_000, "private")
    assert cache.remaining(server.connection()) == 12.0


async def test_a_roster_of_many_pages_is_private_if_any_page_is(cache: AgentCache, server: Server) -> None:
    server.pages = [page("a", scope="public", cursor="1"), page("b", scope="private")]
    assert (await cache.roster(server.connection())).cache_scope == "private"


async def test_a_private_entry_is_not_used_for_another_token(cache: AgentCache, server: Server) -> None:
    """CO-3."""
    await cache.roster(server.connection(ALICE))
    await cache.agent(server.connection(ALICE), "pipeline-agent")
    bob = server.connection(BOB)
    assert cache.peek_roster(bob) is None
    assert cache.remaining(bob, "pipeline-agent") is None
    await cache.roster(bob)
    await cache.agent(bob, "pipeline-agent")
    assert [context for context, _, _ in server.backend.asked] == [ALICE.context] * 2 + [BOB.context] * 2


async def test_a_public_entry_is_shared_between_tokens_of_one_url_only(cache: AgentCache, server: Server) -> None:
    server.pages = [page("a", scope="public")]
    server.scope = "public"
    await cache.roster(server.connection(ALICE))
    await cache.agent(server.connection(ALICE), "a")
    await cache.roster(server.connection(BOB))
    await cache.agent(server.connection(None), "a")
    assert server.asked == ["agents/list", "agents/get"]
    elsewhere = FakeConnection(Backend(server.respond, url="http://other.example/mcp"), ALICE)
    assert cache.peek_roster(elsewhere) is None


async def test_a_private_answer_takes_the_place_of_a_public_one(cache: AgentCache, server: Server) -> None:
    server.hold()
    server.pages = [page("a", scope="public")]
    asking = [asyncio.create_task(cache.roster(server.connection(ALICE)))]
    with anyio.fail_after(BOUND):
        await server.reached.wait()
        server.pages = [page("a", scope="private")]
        asking.append(asyncio.create_task(cache.roster(server.connection(BOB))))
        await asyncio.sleep(0)
        server.gate.set()
        scopes = [roster.cache_scope for roster in await asyncio.gather(*asking)]
    assert scopes == ["public", "private"]
    assert cache.peek_roster(server.connection(BOB)) is not None
    assert cache.peek_roster(server.connection(ALICE)) is None


@pytest.mark.parametrize("ttl", [0, -1, None, "60000", 1.5, True, [], {}])
async def test_a_ttl_that_is_missing_odd_or_negative_counts_as_zero(
    cache: AgentCache, server: Server, log: Log, ttl: object
) -> None:
    """CO-2."""
    server.pages = [page("a", ttl=ttl)]
    server.ttl = ttl
    assert (await cache.roster(server.connection())).ttl_ms == 0
    assert (await cache.agent(server.connection(), "a")).ttl_ms == 0
    assert log.short == [("not_stored", "roster"), ("not_stored", "a")]
    await cache.roster(server.connection())
    assert server.asked == ["agents/list", "agents/get", "agents/list"]


async def test_a_missing_ttl_and_scope_are_zero_and_private(cache: AgentCache, server: Server) -> None:
    server.pages = [{"agents": []}]
    roster = await cache.roster(server.connection())
    assert (roster.ttl_ms, roster.cache_scope, roster.agents) == (0, "private", ())


@pytest.mark.parametrize("scope", ["PUBLIC", None, 1, "everyone"])
async def test_a_scope_that_is_not_known_is_private(cache: AgentCache, server: Server, scope: object) -> None:
    server.pages = [page("a", scope=scope)]
    await cache.roster(server.connection(ALICE))
    assert cache.peek_roster(server.connection(BOB)) is None


async def test_a_ttl_beyond_all_bounds_is_kept_and_breaks_nothing(cache: AgentCache, server: Server) -> None:
    server.pages = [page("a", ttl=10**400)]
    await cache.roster(server.connection())
    assert cache.peek_roster(server.connection()) is not None


async def test_callers_at_the_same_time_share_one_request(cache: AgentCache, server: Server) -> None:
    server.hold()
    callers = [asyncio.create_task(cache.roster(server.connection())) for _ in range(5)]
    with anyio.fail_after(BOUND):
        await server.reached.wait()
        server.gate.set()
        rosters = await asyncio.gather(*callers)
    assert server.asked == ["agents/list"]
    assert all(roster is rosters[0] for roster in rosters)


async def test_callers_with_different_tokens_do_not_share_a_request(cache: AgentCache, server: Server) -> None:
    await asyncio.gather(cache.roster(server.connection(ALICE)), cache.roster(server.connection(BOB)))
    assert server.asked == ["agents/list"] * 2


async def test_one_callers_cancellation_does_not_end_the_request_for_the_others(
    cache: AgentCache, server: Server
) -> None:
    server.hold()
    first = asyncio.create_task(cache.roster(server.connection()))
    with anyio.fail_after(BOUND):
        await server.reached.wait()
        second = asyncio.create_task(cache.roster(server.connection()))
        await asyncio.sleep(0)
        first.cancel()
        await asyncio.wait([first])
        server.gate.set()
        roster = await second
    assert first.cancelled()
    assert roster.names == ("pipeline-agent", "deploy-agent")
    assert server.asked == ["agents/list"]


async def test_when_all_callers_have_gone_the_request_ends_too(cache: AgentCache, server: Server) -> None:
    before = asyncio.all_tasks()
    server.hold()
    caller = asyncio.create_task(cache.roster(server.connection()))
    with anyio.fail_after(BOUND):
        await server.reached.wait()
        started = asyncio.all_tasks() - before
        caller.cancel()
        await asyncio.wait(started)
    assert len(started) == 2
    assert all(task.cancelled() for task in started)
    server.gate.set()
    await cache.roster(server.connection())
    assert server.asked == ["agents/list"] * 2


async def test_an_error_goes_to_all_who_wait_and_is_not_kept(cache: AgentCache, server: Server, log: Log) -> None:
    server.error = TimedOut("agents/list", 1)
    outcomes = await asyncio.gather(*[cache.roster(server.connection()) for _ in range(3)], return_exceptions=True)
    assert [type(outcome) for outcome in outcomes] == [TimedOut] * 3
    assert log.events == []
    server.error = None
    await cache.roster(server.connection())
    assert server.asked == ["agents/list"] * 2


@pytest.mark.parametrize(
    "error",
    [
        agent_not_found(),
        ServerRefused("broken", code=-32603, data={"reason": "invalid_agent_definition"}),
        ServerFault("500"),
    ],
)
async def test_a_refusal_is_raised_not_kept_and_not_asked_again_by_itself(
    cache: AgentCache, server: Server, error: HostError
) -> None:
    """AD-22."""
    server.error = error
    with pytest.raises(type(error)):
        await cache.agent(server.connection(), "pipeline-agent")
    assert server.asked == ["agents/get"]
    assert cache.remaining(server.connection(), "pipeline-agent") is None


async def test_agent_not_found_drops_what_is_kept_of_that_agent_and_the_roster_that_named_it(
    cache: AgentCache, server: Server, clock: Clock, log: Log
) -> None:
    """AD-23."""
    server.ttl = 10_000
    connection = server.connection()
    await cache.roster(connection)
    await cache.agent(connection, "pipeline-agent")
    server.ttl = 60_000
    await cache.agent(connection, "deploy-agent")
    clock.advance(10)
    server.error = agent_not_found()
    with pytest.raises(ServerRefused):
        await cache.agent(connection, "pipeline-agent")
    assert log.short[-2:] == [("expired", "pipeline-agent"), ("dropped", "roster")]
    assert cache.peek_roster(connection) is None
    assert cache.remaining(connection, "deploy-agent") == 50.0


async def test_agent_not_found_for_a_name_that_the_roster_lacks_leaves_the_roster(
    cache: AgentCache, server: Server
) -> None:
    await cache.roster(server.connection())
    server.error = agent_not_found()
    with pytest.raises(ServerRefused):
        await cache.agent(server.connection(), "no-such-agent")
    assert cache.peek_roster(server.connection()) is not None


async def test_a_change_drops_the_roster_of_that_context_and_the_public_one_but_no_details(
    cache: AgentCache, server: Server, log: Log
) -> None:
    """AD-15."""
    alice, bob = server.connection(ALICE), server.connection(BOB)
    await cache.roster(alice)
    await cache.agent(alice, "pipeline-agent")
    await cache.roster(bob)
    cache.roster_changed(alice)
    assert cache.peek_roster(alice) is None
    assert cache.peek_roster(bob) is not None
    assert cache.remaining(alice, "pipeline-agent") is not None
    assert log.events[-1] == CacheEvent("dropped", "roster", 60_000, "the server says that the roster changed")


async def test_a_change_drops_a_public_roster_for_everyone(cache: AgentCache, server: Server) -> None:
    server.pages = [page("a", scope="public")]
    await cache.roster(server.connection(BOB))
    cache.roster_changed(server.connection(ALICE))
    assert cache.peek_roster(server.connection(BOB)) is None


async def test_after_listing_again_the_details_of_vanished_agents_go_and_the_others_stay(
    cache: AgentCache, server: Server, log: Log
) -> None:
    """AD-16."""
    alice, bob = server.connection(ALICE), server.connection(BOB)
    for connection in (alice, bob):
        await cache.agent(connection, "pipeline-agent")
        await cache.agent(connection, "deploy-agent")
    cache.roster_changed(alice)
    server.pages = [page("pipeline-agent")]
    await cache.roster(alice)
    assert cache.remaining(alice, "deploy-agent") is None
    assert cache.remaining(alice, "pipeline-agent") is not None
    assert cache.remaining(bob, "deploy-agent") is not None
    assert log.short[-1] == ("dropped", "deploy-agent")


@pytest.mark.parametrize("what", ["roster", "agent"])
async def test_an_answer_under_way_when_the_change_came_is_returned_but_not_kept(
    cache: AgentCache, server: Server, log: Log, what: str
) -> None:
    connection = server.connection()
    server.hold()
    asking = asyncio.create_task(
        cache.roster(connection) if what == "roster" else cache.agent(connection, "deploy-agent")
    )
    with anyio.fail_after(BOUND):
        await server.reached.wait()
        cache.roster_changed(connection)
        server.gate.set()
        assert await asking
    assert [event.kind for event in log.events] == ["not_stored"]
    assert cache.remaining(connection, None if what == "roster" else "deploy-agent") is None


async def test_who_asks_after_a_change_does_not_get_the_answer_that_was_under_way(
    cache: AgentCache, server: Server
) -> None:
    connection = server.connection()
    server.hold()
    before = asyncio.create_task(cache.roster(connection))
    with anyio.fail_after(BOUND):
        await server.reached.wait()
        cache.roster_changed(connection)
        server.pages = [page("release-agent")]
        after = asyncio.create_task(cache.roster(connection))
        await asyncio.sleep(0)
        server.gate.set()
        assert (await before).names == ("pipeline-agent", "deploy-agent")
        assert (await after).names == ("release-agent",)
    kept = cache.peek_roster(connection)
    assert kept is not None
    assert kept.names == ("release-agent",)


async def test_distrust_drops_roster_and_details_of_the_streams_contexts_only(
    cache: AgentCache, server: Server
) -> None:
    alice, bob = server.connection(ALICE), server.connection(BOB)
    for connection in (alice, bob):
        await cache.roster(connection)
        await cache.agent(connection, "pipeline-agent")
    cache.distrust(alice)
    assert cache.peek_roster(alice) is None
    assert cache.remaining(alice, "pipeline-agent") is None
    assert cache.remaining(bob, "pipeline-agent") is not None


async def test_dropping_and_clearing_forget_what_they_name(cache: AgentCache, server: Server) -> None:
    connection = server.connection()
    for _ in range(2):
        await cache.roster(connection)
        await cache.agent(connection, "pipeline-agent")
        cache.drop_roster(connection)
        cache.drop_agent(connection, "pipeline-agent")
    assert server.asked == ["agents/list", "agents/get"] * 2
    await cache.roster(connection)
    await cache.agent(connection, "pipeline-agent")
    cache.clear()
    assert cache.peek_roster(connection) is None
    assert cache.remaining(connection, "pipeline-agent") is None


async def test_entries_of_tokens_that_are_gone_do_not_pile_up(
    cache: AgentCache, server: Server, clock: Clock, log: Log
) -> None:
    for number in range(10):
        await cache.roster(server.connection(Credential(f"token-{number}")))
    clock.advance(60)
    await cache.roster(server.connection(ALICE))
    assert log.short.count(("expired", "roster")) == 10


async def test_a_server_that_does_not_advertise_the_extension_is_not_asked(cache: AgentCache, server: Server) -> None:
    """AD-1."""
    plain = FakeConnection(server.backend, agents=False)
    with pytest.raises(ExtensionMissing, match="tools/list"):
        await cache.roster(plain)
    with pytest.raises(ExtensionMissing):
        await cache.agent(plain, "pipeline-agent")
    assert server.asked == []


async def test_an_unopened_connection_is_the_callers_mistake(cache: AgentCache) -> None:
    class Unopened(FakeConnection):
        @property
        def opening(self) -> None:
            return None

    with pytest.raises(BadRequest, match="open"):
        await cache.roster(Unopened(Backend(Server().respond)))
