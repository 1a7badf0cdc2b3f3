"""The stage: the order of what it tells, what it makes of others' interference, and how it is broken off."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import aclosing, asynccontextmanager

import pytest

from agent_discovery.host import Connection, Credential, RequestFrame, connect
from demo.events import (
    CacheMoved,
    Checked,
    Connected,
    Decided,
    Event,
    SceneDisturbed,
    SceneEnded,
    SceneStarted,
    StepStarted,
    Stopped,
    Travelled,
    WalkEnded,
    WalkStarted,
)
from demo.scene import Scene, Wire
from demo.script import CLOSING, SCENES
from demo.stage import Stage
from tests.broken_servers import TamperedServer
from tests.demo.tampering import (
    capabilities,
    chained,
    no_notification,
    on,
    public,
    roster,
    without_extension,
    without_release_agent,
)
from tests.demo.walks import Walk, chosen, walk

BOTH_WIRES = pytest.mark.parametrize("wire", ["session", "stateless"])
PATIENCE = 20.0


@asynccontextmanager
async def somebody(server: TamperedServer) -> AsyncIterator[Connection]:
    """Another client of the same server."""
    async with await connect(server.url, Credential("bob-billing"), wire="stateless") as connection:
        yield connection


async def publish(connection: Connection) -> None:
    await connection.request("tools/call", {"name": "publish_release_agent", "arguments": {}})


async def retire(connection: Connection) -> None:
    await connection.request("tools/call", {"name": "retire_release_agent", "arguments": {}})


async def names(connection: Connection) -> list[str]:
    return [card["name"] for card in (await connection.request("agents/list"))["agents"]]


async def assert_put_back(server: TamperedServer) -> None:
    async with somebody(server) as connection:
        assert "release-agent" not in await names(connection)
    assert server.sessions == set()
    async with asyncio.timeout(PATIENCE):
        while server.streams:
            await asyncio.to_thread(lambda: None)  # the server runs in another thread and sees the end a moment later


def other_tasks() -> set[asyncio.Task[object]]:
    """All but the test's own, and the one that the test runs in."""
    others = asyncio.all_tasks() - {asyncio.current_task()}
    return {task for task in others if "TestRunner" not in repr(task.get_coro())}


async def assert_no_task_left() -> None:
    """Those that were told to end may take a moment for it."""
    if tasks := other_tasks():
        await asyncio.wait(tasks, timeout=2)
    assert other_tasks() == set()


# What is told, and in which order


@BOTH_WIRES
async def test_a_scene_is_told_as_its_steps_then_its_checks(server: TamperedServer, wire: Wire) -> None:
    told = await walk(server.url, wire=wire)
    assert isinstance(told.events[0], WalkStarted)
    assert isinstance(told.events[-1], WalkEnded)
    starts = [at for at, event in enumerate(told.events) if isinstance(event, SceneStarted)]
    ends = [at for at, event in enumerate(told.events) if isinstance(event, SceneEnded)]
    assert len(starts) == len(ends) == len(SCENES)
    for scene, start, end in zip(SCENES, starts, ends, strict=True):
        within = told.events[start + 1 : end]
        steps = [event.step for event in within if isinstance(event, StepStarted)]
        assert steps == [*scene.steps, *scene.cleanup]
        first_check = next(at for at, event in enumerate(within) if isinstance(event, Checked))
        assert all(isinstance(event, Checked) for event in within[first_check:])
        titles = [event.title for event in within[first_check:] if isinstance(event, Checked)]
        assert titles == [*(check.title for check in scene.checks), "What travelled is what the script says"]
        caused = (StepStarted, Connected, Travelled, CacheMoved, Decided)
        assert all(isinstance(event, caused) for event in within[:first_check])
    closing = [event.step for event in told.events[ends[-1] :] if isinstance(event, StepStarted)]
    assert closing == list(CLOSING)


@BOTH_WIRES
async def test_each_answer_is_told_after_its_request(server: TamperedServer, wire: Wire) -> None:
    told = await walk(server.url, wire=wire)
    seen: list[RequestFrame] = []
    for event in told.events:
        if not isinstance(event, Travelled):
            continue
        if isinstance(event.frame, RequestFrame):
            seen.append(event.frame)
        else:
            assert any(event.frame.request is request for request in seen)


async def test_nothing_is_sent_while_nobody_asks_for_the_next_event(server: TamperedServer) -> None:
    stage = Stage(server.url, wire="session")
    async with aclosing(stage.play(chosen(1))) as events:
        async for event in events:
            if isinstance(event, StepStarted):
                assert server.sessions == set()
                break
    await assert_no_task_left()
    await stage.aclose()


async def test_a_stage_can_be_played_again(server: TamperedServer) -> None:
    stage = Stage(server.url)
    kinds = []
    for _ in range(2):
        events = [event async for event in stage.play(chosen(2, 7))]
        assert isinstance(events[-1], WalkEnded)
        assert not events[-1].failed
        kinds.append([type(event) for event in events])
    assert kinds[0] == kinds[1]


async def test_a_stage_that_had_to_stop_can_be_played_again(server: TamperedServer) -> None:
    stage = Stage(server.url)
    server.tamper = capabilities(without_extension)
    (ended,) = [event async for event in stage.play(chosen(1, 2)) if isinstance(event, WalkEnded)]
    assert ended.stopped is not None
    server.tamper = chained()
    (ended,) = [event async for event in stage.play(chosen(1, 2)) if isinstance(event, WalkEnded)]
    assert (ended.stopped, ended.failed) == (None, ())
    assert ended.held == len(SCENES[0].checks) + len(SCENES[1].checks) + 2


async def test_who_is_missing_is_connected_first(server: TamperedServer) -> None:
    told = await walk(server.url, chosen(6))
    steps = [event.step for event in told.events if isinstance(event, StepStarted)]
    assert steps[1 : 1 + len(SCENES[5].steps)] == list(SCENES[5].steps)
    assert type(steps[0]).__name__ == "Open"


async def test_a_walk_stops_at_the_first_scene_that_reaches_nobody() -> None:
    told = await walk("http://127.0.0.1:9/mcp", timeout=5)
    assert [event.scene.number for event in told.events if isinstance(event, SceneStarted)] == [1]
    (stopped,) = (event for event in told.events if isinstance(event, Stopped))
    assert told.ended.stopped is stopped
    assert told.ended.held == 0


# Others at work


async def walk_disturbed(
    server: TamperedServer,
    scenes: Sequence[Scene],
    wire: Wire,
    before: str,
    act: Callable[[Connection], Awaitable[None]],
) -> Walk:
    """Plays these scenes; when the step with this key is about to be played the first time, somebody else acts."""
    events: list[Event] = []
    acted = False
    async with somebody(server) as connection:
        async for event in Stage(server.url, wire=wire).play(scenes):
            events.append(event)
            if isinstance(event, StepStarted) and getattr(event.step, "key", "") == before and not acted:
                acted = True
                await act(connection)
    assert acted
    return Walk(tuple(events))


async def come_and_go(connection: Connection) -> None:
    await publish(connection)
    await retire(connection)


@BOTH_WIRES
@pytest.mark.parametrize(
    ("number", "before", "act", "says"),
    [
        pytest.param(7, "list-before", publish, "published again right after", id="published before the first look"),
        pytest.param(5, "get-unknown", publish, "came or went between the two", id="published between two refusals"),
    ],
)
async def test_a_scene_that_somebody_disturbed_starts_again_and_ends_well(
    server: TamperedServer,
    no_rest: None,
    wire: Wire,
    number: int,
    before: str,
    act: Callable[[Connection], Awaitable[None]],
    says: str,
) -> None:
    told = await walk_disturbed(server, chosen(number), wire, before, act)
    (disturbed,) = (event for event in told.events if isinstance(event, SceneDisturbed))
    assert says in disturbed.reason
    assert [event.attempt for event in told.events if isinstance(event, SceneStarted)] == [1, 2]
    assert not told.ended.failed
    assert len(told.checked) == len(SCENES[number - 1].checks) + 1
    async with somebody(server) as connection:
        await retire(connection)


@BOTH_WIRES
async def test_a_roster_that_everyone_may_share_reaches_bob_however_often_the_scene_is_played(
    server: TamperedServer, no_rest: None, wire: Wire
) -> None:
    """The second time, Alice's roster must be in Bob's way as it was the first time."""
    server.tamper = on("agents/list", public)
    told = await walk_disturbed(server, chosen(2, 5), wire, "get-unknown", publish)
    assert [event.attempt for event in told.events if isinstance(event, SceneStarted)] == [1, 1, 2]
    assert (5, "bob_was_asked_for") in told.failed
    async with somebody(server) as connection:
        await retire(connection)


@BOTH_WIRES
@pytest.mark.parametrize(
    ("before", "act"),
    [
        pytest.param("retire-first", publish, id="published before the scene"),
        pytest.param("publish", publish, id="published first"),
        pytest.param("list-after", retire, id="retired before the last look"),
        pytest.param("hear-changed", retire, id="retired right after"),
        pytest.param("publish", come_and_go, id="published and retired before"),
        pytest.param("retire-last", retire, id="retired before the clean-up"),
    ],
)
async def test_whatever_somebody_does_meanwhile_the_scene_ends_well(
    server: TamperedServer, no_rest: None, wire: Wire, before: str, act: Callable[[Connection], Awaitable[None]]
) -> None:
    told = await walk_disturbed(server, chosen(7), wire, before, act)
    assert told.failed == set()
    await assert_put_back(server)


@BOTH_WIRES
async def test_a_server_that_publishes_nothing_is_not_excused(
    server: TamperedServer, no_rest: None, monkeypatch: pytest.MonkeyPatch, wire: Wire
) -> None:
    """It looks as if somebody retired the agent at once, but not twice in a row."""
    monkeypatch.setattr("demo.stage.HEARING_SECONDS", 0.1)
    server.tamper = chained(no_notification, roster(without_release_agent))
    told = await walk(server.url, chosen(7), wire=wire)
    assert sum(isinstance(event, SceneDisturbed) for event in told.events) == 1
    assert (7, "new_roster_has_release_agent") in told.failed


@BOTH_WIRES
async def test_a_silent_server_is_not_taken_for_a_disturbance(
    server: TamperedServer, monkeypatch: pytest.MonkeyPatch, wire: Wire
) -> None:
    monkeypatch.setattr("demo.stage.HEARING_SECONDS", 0.1)
    server.tamper = no_notification
    told = await walk(server.url, chosen(7), wire=wire)
    assert not [event for event in told.events if isinstance(event, SceneDisturbed)]
    assert (7, "notification_arrived") in told.failed


@pytest.mark.parametrize("structured", [[1], "published", {"changed": "yes"}, {"changed": None}, 7])
async def test_an_unreadable_answer_neither_excuses_nor_crashes(
    server: TamperedServer, monkeypatch: pytest.MonkeyPatch, structured: object
) -> None:
    monkeypatch.setattr("demo.stage.HEARING_SECONDS", 0.1)
    publishing = on("tools/call", lambda _, a: a.with_result(structuredContent=structured), "publish_release_agent")
    server.tamper = chained(publishing, no_notification)
    told = await walk(server.url, chosen(7))
    assert (7, "notification_arrived") in told.failed
    assert not [event for event in told.events if isinstance(event, SceneDisturbed)]


# Breaking off


async def break_off(server: TamperedServer, scenes: tuple[Scene, ...], wire: Wire, at: int) -> bool:
    """Stops asking after so many events; False where the walk was over before."""
    stage = Stage(server.url, wire=wire, timeout=PATIENCE)
    events = stage.play(scenes)
    over = False
    for _ in range(at):
        if await anext(events, None) is None:
            over = True
            break
    await events.aclose()
    await assert_no_task_left()
    await stage.aclose()
    await assert_no_task_left()
    assert stage.connections == {}
    await assert_put_back(server)
    return not over


async def break_off_everywhere(server: TamperedServer, scenes: tuple[Scene, ...], wire: Wire) -> int:
    at = 0
    while await break_off(server, scenes, wire, at):
        at += 1
    return at


@BOTH_WIRES
async def test_broken_off_anywhere_in_the_scene_that_changes_the_roster_it_puts_things_back(
    server: TamperedServer, wire: Wire
) -> None:
    assert await break_off_everywhere(server, chosen(7), wire) > 40


@pytest.mark.slow
@pytest.mark.timeout(600)
@BOTH_WIRES
async def test_broken_off_anywhere_at_all_it_puts_things_back(server: TamperedServer, wire: Wire) -> None:
    assert await break_off_everywhere(server, SCENES, wire) > 100


@BOTH_WIRES
async def test_a_stage_that_was_broken_off_plays_the_next_walk_as_if_new(server: TamperedServer, wire: Wire) -> None:
    """Nothing of the broken walk is told in the next one, wherever it was broken off."""
    fresh = [type(event) for event in (await walk(server.url, chosen(3), wire=wire)).events]
    for at in range(len(fresh)):
        stage = Stage(server.url, wire=wire)
        events = stage.play(chosen(3))
        for _ in range(at):
            await anext(events)
        await events.aclose()
        await stage.aclose()
        again = [type(event) async for event in stage.play(chosen(3))]
        assert again == fresh, f"broken off after {at} events"


@BOTH_WIRES
async def test_cancelled_while_a_request_hangs_it_puts_things_back(server: TamperedServer, wire: Wire) -> None:
    server.tamper = on("tools/call", lambda *_: None, "list_failed_pipelines")
    stage = Stage(server.url, wire=wire, timeout=PATIENCE)

    async def play() -> None:
        async with aclosing(stage.play(chosen(4))) as events:
            async for _ in events:
                pass

    playing = asyncio.create_task(play())
    assert await asyncio.to_thread(server.waiting.wait, PATIENCE)
    playing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await playing
    await stage.aclose()
    await assert_no_task_left()
    await assert_put_back(server)
