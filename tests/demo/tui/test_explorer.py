"""The explorer without a screen, against the demo server on both wires."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator

import anyio
import pytest

from agent_discovery.host import Frame, RequestFrame, ServerRefused, SessionEnded, Unreachable
from agent_discovery.wire import AGENTS_GET, AGENTS_LIST
from demo.cast import ALICE, ALICE_STEPPED_UP, BOB
from demo.scene import Wire
from demo.tui.breaks import BREAKS
from demo.tui.explorer import Explorer
from demo.tui.outcomes import (
    PUBLISH,
    RETIRE,
    Difference,
    ExplorerEvent,
    Heard,
    Outcome,
    Question,
    RosterRead,
    StepUp,
    StreamMoved,
    wire_of,
)
from server.embedded import RunningServer, running_server

BOUND = 5.0


@pytest.fixture(scope="module")
def server() -> Iterator[RunningServer]:
    with running_server() as running:
        yield running


@pytest.fixture(params=["session", "stateless"])
def wire(request: pytest.FixtureRequest) -> Wire:
    chosen: Wire = request.param
    return chosen


class Told:
    """What the explorer told, and a way to wait for more."""

    def __init__(self) -> None:
        self.events: list[ExplorerEvent] = []
        self.frames: list[Frame] = []
        self._moved = asyncio.Event()

    def __call__(self, event: ExplorerEvent) -> None:
        self.events.append(event)
        self._moved.set()

    def requests(self, method: str) -> list[RequestFrame]:
        sent = [frame for frame in self.frames if isinstance(frame, RequestFrame)]
        return [frame for frame in sent if (frame.message or {}).get("method") == method]

    async def until(self, holds: Callable[[], bool]) -> None:
        with anyio.fail_after(BOUND):
            while not holds():
                self._moved.clear()
                await self._moved.wait()


@pytest.fixture
def told() -> Told:
    return Told()


@pytest.fixture
async def explorer(server: RunningServer, wire: Wire, told: Told) -> AsyncIterator[Explorer]:
    exploring = Explorer(server.url, wire=wire, timeout=BOUND, observer=told.frames.append, tell=told)
    yield exploring
    await exploring.ask(RETIRE, ALICE)
    await exploring.aclose()


async def test_each_caller_has_a_roster_of_their_own(explorer: Explorer) -> None:
    await explorer.read_roster(ALICE)
    await explorer.read_roster(BOB)
    assert explorer.rosters[ALICE].names == ("pipeline-agent", "deploy-agent")
    assert explorer.rosters[BOB].names == ("pipeline-agent", "billing-agent", "deploy-agent")


async def test_a_fresh_roster_is_not_asked_for_again(explorer: Explorer, told: Told) -> None:
    first = await explorer.read_roster(ALICE)
    second = await explorer.read_roster(ALICE)
    assert (first.from_cache, second.from_cache) == (False, True)
    assert len(told.requests(AGENTS_LIST)) == 1


async def test_an_opened_agent_comes_with_the_frames_that_brought_it(explorer: Explorer) -> None:
    outcome = await explorer.open_agent("pipeline-agent")
    assert outcome.details is not None
    assert outcome.details.instructions
    assert outcome.answer is not None
    assert outcome.answer.request is outcome.request
    remaining = explorer.remaining(ALICE, "pipeline-agent")
    assert remaining is not None
    assert 0 < remaining <= 60


async def test_stepping_up_sends_the_same_question_with_the_token_that_has_the_union(
    explorer: Explorer, told: Told
) -> None:
    refused = await explorer.open_agent("deploy-agent")
    step = StepUp.after_refusal(refused)
    assert step is not None
    assert step.wanted == ("ops:read", "ops:deploy")
    assert step.after == ALICE_STEPPED_UP
    opened = await explorer.step_up(step)
    assert opened.details is not None
    assert explorer.acting == ALICE_STEPPED_UP
    assert [frame.caller for frame in told.requests(AGENTS_GET)] == ["Alice", "Alice stepped up"]


async def test_a_tool_is_stepped_up_for_as_an_agent_is(explorer: Explorer) -> None:
    refused = await explorer.call_tool("deploy_service", {"service": "api", "version": "1.2.3"})
    step = StepUp.after_refusal(refused)
    assert step is not None
    done = await explorer.step_up(step)
    assert done.result is not None
    assert done.result["structuredContent"]["status"] == "accepted"


async def test_nobody_steps_up_where_no_token_of_the_user_has_the_scopes(explorer: Explorer) -> None:
    step = StepUp.after_refusal(await explorer.open_agent("deploy-agent", BOB))
    assert step is not None
    assert step.after is None
    assert step.problem == "no token of this user has all these scopes"
    assert await explorer.step_up(step) == step.refused


async def test_a_change_is_heard_and_drops_the_roster_and_the_difference_is_told(
    explorer: Explorer, told: Told
) -> None:
    async with anyio.create_task_group() as group:
        group.start_soon(explorer.follow, ALICE)
        await told.until(lambda: any(isinstance(event, RosterRead) for event in told.events))
        await explorer.ask(PUBLISH, BOB)
        await told.until(lambda: any(isinstance(event, RosterRead) and event.difference for event in told.events))
        group.cancel_scope.cancel()
    heard = [event for event in told.events if isinstance(event, Heard)]
    assert [drop.what for drop in heard[0].dropped] == ["roster"]
    read = [event for event in told.events if isinstance(event, RosterRead)][-1]
    assert [card.name for card in read.difference.added] == ["release-agent"]
    assert read.difference.lines()[0].startswith("+ release-agent: ")
    assert not read.from_cache


async def test_on_the_session_wire_one_stream_keeps_both_tokens_of_a_user_true(
    server: RunningServer, told: Told
) -> None:
    explorer = Explorer(server.url, wire="session", timeout=BOUND, tell=told)
    await explorer.read_roster(ALICE_STEPPED_UP)
    async with anyio.create_task_group() as group:
        group.start_soon(explorer.follow, ALICE)
        await told.until(lambda: any(isinstance(event, StreamMoved) for event in told.events))
        await explorer.ask(PUBLISH, BOB)
        await told.until(lambda: "release-agent" in explorer.rosters[ALICE_STEPPED_UP])
        group.cancel_scope.cancel()
    await explorer.ask(RETIRE, ALICE)
    await explorer.aclose()


async def test_the_same_question_goes_out_on_both_wires(explorer: Explorer) -> None:
    session, stateless = await explorer.on_both_wires(Question(AGENTS_LIST))
    assert session.result is not None
    assert stateless.result is not None
    assert session.request is not None
    assert stateless.request is not None
    assert (wire_of(session.request), wire_of(stateless.request)) == ("session", "stateless")
    assert session.result["agents"] == stateless.result["agents"]


async def test_on_another_wire_everything_is_asked_anew(explorer: Explorer, told: Told) -> None:
    await explorer.read_roster(ALICE)
    explorer.use_wire(explorer.other_wire)
    outcome = await explorer.read_roster(ALICE)
    assert not outcome.from_cache
    assert len({wire_of(frame) for frame in told.requests(AGENTS_LIST)}) == 2


EXPECTED = {
    "An agent that does not exist": (-32602, None),
    "A stale cursor": (-32602, None),
    "The extension not declared": (-32021, None),
    "A scope too few": (None, 403),
}


@pytest.mark.parametrize("what", BREAKS, ids=lambda what: what.title)
async def test_what_is_broken_is_refused_and_what_is_mended_is_answered(explorer: Explorer, what: object) -> None:
    chosen = next(one for one in BREAKS if one is what)
    broken: Outcome = await chosen.do(explorer)
    assert isinstance(broken.error, ServerRefused)
    assert broken.request is not None
    assert broken.answer is not None
    expected = EXPECTED.get(chosen.title)
    if expected is None and explorer.wire == "session":
        assert isinstance(broken.error, SessionEnded)
        assert broken.error.status == 404
    elif expected is None:
        assert (broken.error.code, broken.error.status) == (-32020, 400)
        assert broken.request.headers["mcp-method"] == "tools/list"
    elif expected[1] is not None:
        assert broken.error.status == expected[1]
    else:
        assert broken.error.code == expected[0]
    mended = await chosen.mend(explorer)
    assert mended.error is None
    assert mended.result is not None


async def test_an_own_session_survives_that_a_stranger_tried_to_use_it(explorer: Explorer, told: Told) -> None:
    await explorer.read_roster(ALICE)
    disagreeing = next(one for one in BREAKS if one.title == "Two that disagree")
    await disagreeing.do(explorer)
    opened = len(told.requests("initialize"))
    assert (await explorer.ask(Question(AGENTS_LIST))).error is None
    assert len(told.requests("initialize")) == opened


async def test_a_session_that_the_server_forgot_is_opened_anew(server: RunningServer, told: Told) -> None:
    explorer = Explorer(server.url, wire="session", timeout=BOUND, observer=told.frames.append)
    connection = await explorer.connection(ALICE)
    await connection._say_goodbye()  # there is no public way to end a session and keep the connection
    outcome = await explorer.ask(Question(AGENTS_LIST), ALICE)
    assert outcome.error is None
    assert len(told.requests("initialize")) == 2
    await explorer.aclose()


async def test_nobody_there_is_an_outcome_not_a_crash() -> None:
    explorer = Explorer("http://127.0.0.1:9/mcp", wire="session", timeout=BOUND)
    outcome = await explorer.read_roster(ALICE)
    assert isinstance(outcome.error, Unreachable)
    assert outcome.request is None
    await explorer.aclose()


async def test_auto_finds_out_which_wire_a_server_has(told: Told) -> None:
    from server.settings import Settings

    with running_server(Settings(wire="stateless")) as only:
        explorer = Explorer(only.url, timeout=BOUND)
        outcomes = [None, None]

        async def read(place: int) -> None:
            await explorer.read_roster((ALICE, BOB)[place])

        async with anyio.create_task_group() as group:
            for place, _ in enumerate(outcomes):
                group.start_soon(read, place)
        assert explorer.wire == "stateless"
        assert len(explorer.rosters) == 2
        await explorer.aclose()


def test_the_difference_to_nothing_known_is_no_difference() -> None:
    from agent_discovery.host import Roster
    from agent_discovery.shapes import AgentCard

    one = Roster((AgentCard(name="a"), AgentCard(name="b", description="old")), 1, "private")
    two = Roster((AgentCard(name="b", description="new"), AgentCard(name="c")), 1, "private")
    assert not Difference.between(None, one)
    difference = Difference.between(one, two)
    assert difference.lines() == ["+ c: no description", "- a", "~ b: description changed"]
