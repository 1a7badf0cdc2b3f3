"""Stepping through the script: what is sent and what is only shown, and what becomes of a half-played scene."""

import asyncio
from collections.abc import AsyncIterator, Sequence

import pytest

from agent_discovery.host import Frame, RequestFrame
from demo.events import Checked, Decided, Event, SceneDisturbed, SceneEnded, SceneStarted, Travelled
from demo.scene import Scene, Wire
from demo.script import SCENES
from demo.stage import Stage
from demo.tui.lifelines import rows_of
from demo.tui.player import Outcome, Player, SceneRun, SceneState

WIRES: Sequence[Wire] = ("session", "stateless")


class Walk:
    """A player against the demo server, with everything that was sent."""

    def __init__(self, base_url: str, wire: Wire, scenes: Sequence[Scene] = SCENES) -> None:
        self.sent: list[RequestFrame] = []
        self.events: list[Event] = []
        self.stages = 0
        self._url, self._wire = f"{base_url}/mcp", wire
        self.player = Player(scenes, self._stage, tell=self.events.append)

    def _stage(self) -> Stage:
        self.stages += 1
        return Stage(self._url, wire=self._wire, timeout=5.0, observer=self._observe)

    def _observe(self, frame: Frame) -> None:
        self.sent += [frame] if isinstance(frame, RequestFrame) else []

    def tools_called(self) -> list[str]:
        messages = [frame.message for frame in self.sent if frame.message is not None]
        return [message["params"]["name"] for message in messages if message["method"] == "tools/call"]

    async def to_the_end_of_the_scene(self) -> None:
        run = self.player.current
        while run.state in (SceneState.TO_COME, SceneState.RUNNING):
            await self.player.next()


def state(player: Player) -> SceneState:
    return player.current.state


@pytest.fixture(params=WIRES)
async def walk(request: pytest.FixtureRequest, demo_server: str) -> AsyncIterator[Walk]:
    walk = Walk(demo_server, request.param)
    yield walk
    await walk.player.aclose()


async def test_nothing_is_sent_before_the_first_step(walk: Walk) -> None:
    walk.player.jump(4)
    walk.player.turn(-1)
    walk.player.back()
    assert walk.sent == []
    assert {run.state for run in walk.player.runs} == {SceneState.TO_COME}


async def test_every_scene_holds_when_it_is_stepped_through(walk: Walk) -> None:
    outcomes = []
    while (outcome := await walk.player.next()) is not Outcome.OVER:
        outcomes.append(outcome)
    assert [run.state for run in walk.player.runs] == [SceneState.HELD] * 7
    assert outcomes.count(Outcome.TURNED) == 6
    assert walk.player.held == sum(isinstance(event, Checked) for event in walk.events)
    assert walk.player.failed == []


async def test_each_step_sends_what_the_script_sends_up_to_the_next_rest(walk: Walk) -> None:
    walk.player.jump(5)
    await walk.player.next()  # a scene that is played alone opens its connection first
    opened = len(walk.sent)
    await walk.player.next()
    assert [frame.message["params"]["name"] for frame in walk.sent[opened:] if frame.message] == ["deploy-agent"]
    assert state(walk.player) is SceneState.RUNNING
    await walk.player.next()
    assert state(walk.player) is SceneState.HELD


async def test_looking_back_and_forwards_again_sends_nothing(walk: Walk) -> None:
    await walk.to_the_end_of_the_scene()
    await walk.player.next()
    await walk.to_the_end_of_the_scene()
    sent, shown = len(walk.sent), list(walk.player.current.events)
    assert walk.player.back()
    assert walk.player.current.events == []
    assert walk.player.back()
    assert walk.player.current.scene.number == 1
    assert walk.player.turn(1)
    assert walk.player.current.events == shown
    walk.player.back()
    assert await walk.player.next() is Outcome.SHOWN
    assert walk.player.current.events == shown
    assert len(walk.sent) == sent


async def test_a_half_played_scene_goes_on_where_it_was_after_looking_elsewhere(walk: Walk) -> None:
    walk.player.jump(6)
    await walk.player.next()
    await walk.player.next()
    assert walk.tools_called() == ["retire_release_agent"]
    walk.player.jump(0)
    walk.player.jump(6)
    assert state(walk.player) is SceneState.RUNNING
    await walk.to_the_end_of_the_scene()
    assert state(walk.player) is SceneState.HELD
    assert walk.tools_called() == ["retire_release_agent", "publish_release_agent", "retire_release_agent"]


async def test_starting_another_scene_puts_back_the_half_played_one(walk: Walk) -> None:
    walk.player.jump(6)
    while "publish_release_agent" not in walk.tools_called():
        await walk.player.next()
    assert state(walk.player) is SceneState.RUNNING
    walk.player.jump(0)
    await walk.player.next()
    assert walk.tools_called()[-1] == "retire_release_agent"
    assert walk.player.runs[6].state is SceneState.TO_COME
    assert walk.player.runs[6].events, "what was recorded can still be read"


async def test_replaying_starts_from_the_state_that_the_scene_starts_from(walk: Walk) -> None:
    walk.player.jump(6)
    while "publish_release_agent" not in walk.tools_called():
        await walk.player.next()
    await walk.player.replay()
    await walk.to_the_end_of_the_scene()
    assert state(walk.player) is SceneState.HELD
    assert sum(isinstance(event, SceneEnded) for event in walk.player.current.events) == 1


@pytest.mark.parametrize("index", [0, 4])
async def test_a_scene_that_connects_can_be_replayed(walk: Walk, index: int) -> None:
    for _ in range(2):
        walk.player.jump(index)
        await walk.player.replay()
        await walk.to_the_end_of_the_scene()
        assert state(walk.player) is SceneState.HELD


async def test_jumping_ahead_plays_the_scene_alone(walk: Walk) -> None:
    walk.player.jump(4)
    await walk.to_the_end_of_the_scene()
    assert [run.state for run in walk.player.runs] == [SceneState.TO_COME] * 4 + [SceneState.HELD] + (
        [SceneState.TO_COME] * 2
    )


async def test_a_cancelled_step_leaves_the_scene_to_come_and_the_server_as_it_was(walk: Walk) -> None:
    walk.player.jump(6)
    published = asyncio.Event()

    def watch(event: Event) -> None:
        if "publish_release_agent" in walk.tools_called():
            published.set()

    walk.player._tell = watch  # the moment to cancel at is inside a step

    async def play() -> None:
        while True:
            await walk.player.next()

    playing = asyncio.create_task(play())
    async with asyncio.timeout(5):
        await published.wait()
    playing.cancel()
    await asyncio.wait([playing])
    assert state(walk.player) is SceneState.TO_COME
    assert walk.player.live is None
    assert walk.tools_called()[-1] == "retire_release_agent"


async def test_a_server_that_is_not_there_stops_the_scene_and_is_found_after_it_came_back(demo_server: str) -> None:
    url = ["http://127.0.0.1:1"]
    player = Player(SCENES, lambda: Stage(f"{url[0]}/mcp", timeout=5.0))
    await player.next()
    assert player.current.stopped is not None
    assert state(player) is SceneState.FAILED
    recorded = player.current.events
    url[0] = demo_server
    await player.renew()
    assert state(player) is SceneState.TO_COME
    assert player.current.events == recorded
    await player.next()
    assert state(player) is SceneState.HELD
    await player.aclose()


async def test_a_session_that_the_server_forgot_is_replaced_when_the_scene_is_replayed(demo_server: str) -> None:
    walk = Walk(demo_server, "session")
    await walk.to_the_end_of_the_scene()
    assert walk.player.stage is not None
    connection = walk.player.stage.connections["alice"]
    await connection._say_goodbye()  # the server forgets it, and the stage does not know
    await walk.player.next()
    await walk.to_the_end_of_the_scene()
    assert walk.player.current.lost_session
    assert state(walk.player) is SceneState.FAILED
    await walk.player.replay()
    await walk.to_the_end_of_the_scene()
    assert state(walk.player) is SceneState.HELD
    assert walk.stages == 2
    await walk.player.aclose()


async def test_the_sessions_end_with_the_player(demo_server: str) -> None:
    walk = Walk(demo_server, "session")
    await walk.to_the_end_of_the_scene()
    await walk.player.aclose()
    assert walk.sent[-1].http_method == "DELETE"


def test_of_an_attempt_that_did_not_count_only_the_reason_is_kept() -> None:
    scene = SCENES[6]
    disturbed = SceneDisturbed(scene, 1, "release-agent came from elsewhere")
    run = SceneRun(scene)
    run.begin()
    run.beats.append([])
    for event in (SceneStarted(scene, 1), Decided("a", "b"), disturbed, SceneStarted(scene, 2)):
        run.take(event)
    assert run.events == [disturbed, SceneStarted(scene, 2)]
    assert [row.label for row in rows_of(run.events)] == [
        "somebody else is at work here: release-agent came from elsewhere. The scene starts again."
    ]


def test_a_player_without_scenes_is_refused() -> None:
    with pytest.raises(ValueError, match=r"got \(\); pass demo.script.SCENES"):
        Player((), lambda: Stage("http://127.0.0.1:1/mcp"))


async def test_the_reader_keeps_looking_back_while_the_scene_plays_on(walk: Walk) -> None:
    await walk.player.next()
    run = walk.player.current
    run.shown = 0
    before = sum(isinstance(event, Travelled) for event in walk.events)
    assert await walk.player.next() is Outcome.SHOWN
    assert sum(isinstance(event, Travelled) for event in walk.events) == before
