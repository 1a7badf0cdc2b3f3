"""Listening for changes: the cache never trusts what it may have missed."""

import asyncio
from collections.abc import Mapping
from typing import Any

import anyio
import pytest

from agent_discovery.host import (
    AgentCache,
    BadRequest,
    CacheEvent,
    Notification,
    ServerRefused,
    StreamLost,
    TimedOut,
    watch_list_changed,
)
from agent_discovery.wire import LIST_CHANGED
from tests.agent_discovery.host.fakes import BOUND, Backend, Clock, FakeConnection, details, page

CHANGED = Notification(LIST_CHANGED, {})


async def _respond(method: str, params: Mapping[str, Any]) -> dict[str, Any]:
    return page("pipeline-agent") if method == "agents/list" else details(params["name"])


class Pauses:
    """A sleep that takes no time and remembers what was asked of it."""

    def __init__(self) -> None:
        self.taken: list[float] = []

    async def __call__(self, seconds: float) -> None:
        self.taken.append(seconds)
        await asyncio.sleep(0)


@pytest.fixture
def connection() -> FakeConnection:
    return FakeConnection(Backend(_respond))


@pytest.fixture
def cache() -> AgentCache:
    return AgentCache()


async def test_opening_the_stream_drops_what_was_kept_before(connection: FakeConnection, cache: AgentCache) -> None:
    await cache.roster(connection)
    await cache.agent(connection, "pipeline-agent")
    connection.next_stream()
    async with watch_list_changed(connection, cache) as watch:
        assert watch.connected
        assert watch.openings == 1
        assert cache.peek_roster(connection) is None
        assert cache.remaining(connection, "pipeline-agent") is None
    assert not watch.connected


async def test_a_change_drops_the_roster_and_wakes_who_waits(connection: FakeConnection, cache: AgentCache) -> None:
    stream = connection.next_stream()
    heard: list[int] = []
    async with watch_list_changed(connection, cache, on_change=lambda: heard.append(1)) as watch:
        await cache.roster(connection)
        stream.put_nowait(Notification("notifications/tools/list_changed", {}))
        stream.put_nowait(CHANGED)
        assert await watch.changed(BOUND) == 1
        assert cache.peek_roster(connection) is None
        stream.put_nowait(CHANGED)
        assert await watch.changed(BOUND) == 2
        with pytest.raises(TimedOut):
            await watch.changed(0.01)
    assert heard == [1, 1]


async def test_a_change_that_came_before_the_wait_is_not_missed(connection: FakeConnection, cache: AgentCache) -> None:
    stream = connection.next_stream()
    async with watch_list_changed(connection, cache) as watch:
        stream.put_nowait(CHANGED)
        await watch.until(lambda seen: seen.count == 1, BOUND)
        assert await watch.changed(BOUND) == 1


@pytest.mark.parametrize("ending", [None, StreamLost("reset")])
async def test_a_stream_that_ends_is_opened_again_and_nothing_kept_meanwhile_is_trusted(
    connection: FakeConnection, cache: AgentCache, ending: StreamLost | None
) -> None:
    pauses = Pauses()
    first = connection.next_stream()
    async with watch_list_changed(connection, cache, sleep=pauses) as watch:
        await cache.roster(connection)
        first.put_nowait(ending)
        await watch.until(lambda seen: not seen.connected, BOUND)
        second = connection.next_stream()
        await watch.until(lambda seen: seen.openings == 2, BOUND)
        assert cache.peek_roster(connection) is None
        second.put_nowait(CHANGED)
        assert await watch.changed(BOUND) == 1
    assert pauses.taken == [0.1]


async def test_reconnecting_backs_off_and_gives_up_after_its_tries(
    connection: FakeConnection, cache: AgentCache
) -> None:
    pauses = Pauses()
    first = connection.next_stream()
    for _ in range(8):
        connection.next_opening_fails()
    async with watch_list_changed(connection, cache, sleep=pauses, tries=8) as watch:
        first.put_nowait(StreamLost("reset"))
        await watch.until(lambda seen: seen.error is not None, BOUND)
        with pytest.raises(StreamLost):
            await watch.changed(BOUND)
    assert pauses.taken == [0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 5.0, 5.0]
    assert watch.openings == 1


async def test_a_stream_that_opens_and_ends_at_once_over_and_over_is_given_up(
    connection: FakeConnection, cache: AgentCache
) -> None:
    for _ in range(4):
        connection.next_stream().put_nowait(None)
    async with watch_list_changed(connection, cache, sleep=Pauses(), tries=3) as watch:
        await watch.until(lambda seen: seen.error is not None, BOUND)
    assert watch.openings == 4


async def test_a_stream_that_lasted_starts_the_tries_anew(
    connection: FakeConnection, cache: AgentCache, clock: Clock
) -> None:
    pauses = Pauses()
    stream = connection.next_stream()
    async with watch_list_changed(connection, cache, sleep=pauses, tries=1, clock=clock) as watch:
        for opening in (2, 3, 4):
            clock.advance(3600)
            stream.put_nowait(None)
            stream = connection.next_stream()
            await watch.until(lambda seen, n=opening: seen.openings == n, BOUND)  # type: ignore[misc]
        assert watch.error is None
    assert pauses.taken == [0.1] * 3


async def test_a_stream_that_brought_a_change_starts_the_tries_anew(
    connection: FakeConnection, cache: AgentCache
) -> None:
    for _ in range(3):
        stream = connection.next_stream()
        stream.put_nowait(CHANGED)
        stream.put_nowait(None)
    connection.next_stream()
    async with watch_list_changed(connection, cache, sleep=Pauses(), tries=1) as watch:
        await watch.until(lambda seen: seen.openings == 4, BOUND)
        assert (watch.count, watch.error) == (3, None)


async def test_without_reconnecting_the_end_of_the_stream_is_the_end(
    connection: FakeConnection, cache: AgentCache
) -> None:
    stream = connection.next_stream()
    async with watch_list_changed(connection, cache, reconnect=False) as watch:
        stream.put_nowait(None)
        await watch.until(lambda seen: seen.error is not None, BOUND)
        assert isinstance(watch.error, StreamLost)


async def test_a_stream_that_cannot_be_opened_at_first_raises_the_reason(
    connection: FakeConnection, cache: AgentCache
) -> None:
    before = asyncio.all_tasks()
    connection.next_opening_fails(StreamLost("no"))
    with pytest.raises(StreamLost):
        async with watch_list_changed(connection, cache):
            pytest.fail("must not be entered")
    assert asyncio.all_tasks() == before


async def test_nothing_is_left_running_and_the_bodys_own_error_comes_out_as_it_is(
    connection: FakeConnection, cache: AgentCache
) -> None:
    before = asyncio.all_tasks()
    connection.next_stream()
    with pytest.raises(ServerRefused, match="mine"):
        async with watch_list_changed(connection, cache):
            raise ServerRefused("mine")
    assert asyncio.all_tasks() == before


async def test_being_cancelled_leaves_nothing_running(connection: FakeConnection, cache: AgentCache) -> None:
    before = asyncio.all_tasks()
    connection.next_stream()
    with anyio.move_on_after(0.01) as scope:
        async with watch_list_changed(connection, cache):
            await anyio.sleep_forever()
    assert scope.cancelled_caught
    assert asyncio.all_tasks() == before


async def test_a_callback_that_raises_does_not_end_the_listening(
    connection: FakeConnection, cache: AgentCache, caplog: pytest.LogCaptureFixture
) -> None:
    stream = connection.next_stream()

    async def broken() -> None:
        raise RuntimeError("callback")

    async with watch_list_changed(connection, cache, on_change=broken) as watch:
        for expected in (1, 2):
            stream.put_nowait(CHANGED)
            assert await watch.changed(BOUND) == expected
    assert "on_change raised" in caplog.text


async def test_a_cache_listener_that_raises_does_not_hang_the_watch(connection: FakeConnection) -> None:
    def broken(event: CacheEvent) -> None:
        if event.kind == "dropped":
            raise RuntimeError("listener")

    cache = AgentCache(on_event=broken)
    await cache.roster(connection)
    connection.next_stream()
    with anyio.fail_after(BOUND), pytest.raises(RuntimeError, match="listener"):
        async with watch_list_changed(connection, cache):
            pass


async def test_tries_below_one_are_refused(connection: FakeConnection, cache: AgentCache) -> None:
    with pytest.raises(BadRequest, match="got 0"):
        async with watch_list_changed(connection, cache, tries=0):
            pytest.fail("must not be entered")
