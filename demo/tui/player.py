"""Steps through the script: one exchange at a time, forwards by playing, backwards by looking at what was recorded.

Owns what was recorded of each scene, its state, and the half-played scene with its open generator. It plays only by
`Stage.play_scene` and knows nothing of screens. At most one scene is half-played; starting another, or replaying,
closes it first, which puts the server back as it was.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Final, TypeVar

from agent_discovery.host import AnswerFrame, Unreachable
from demo.events import Checked, Event, SceneDisturbed, SceneEnded, SceneStarted, StepStarted, Stopped, Travelled
from demo.scene import Scene

if TYPE_CHECKING:
    from demo.stage import Stage

__all__ = ["Outcome", "Player", "SceneRun", "SceneState"]

_E = TypeVar("_E", bound=Event)

CLOSE_SECONDS: Final = 1.5
"""How long saying goodbye to the server may take."""


class SceneState(Enum):
    """Where a scene stands."""

    TO_COME = "to come"
    RUNNING = "running"
    HELD = "held"
    FAILED = "failed"


class Outcome(Enum):
    """What one step of the player did."""

    PLAYED = "played"
    """It sent the next exchange, or what else the script does next."""
    SHOWN = "shown"
    """It showed more of what was recorded; nothing was sent."""
    TURNED = "turned"
    """It went on to the next scene, which has not begun; nothing was sent."""
    OVER = "over"
    """There is nothing after this."""


@dataclass
class SceneRun:
    """What is known of one scene: the events of its last run in beats, each beat what one step forwards showed."""

    scene: Scene
    state: SceneState = SceneState.TO_COME
    beats: list[list[Event]] = field(default_factory=list)
    shown: int = 0
    """How many of the beats the reader sees."""
    disturbed: SceneDisturbed | None = None
    """Why the attempt before this one did not count; the only thing that is kept of that attempt."""

    @property
    def events(self) -> list[Event]:
        """What the reader sees of the run, in order."""
        return [event for beat in self.beats[: self.shown] for event in beat]

    @property
    def looks_back(self) -> bool:
        """Whether something is recorded that the reader does not see at the moment."""
        return self.shown < len(self.beats)

    @property
    def checks(self) -> list[Checked]:
        """All checks of the last run."""
        return self._recorded(Checked)

    @property
    def stopped(self) -> Stopped | None:
        """Why the walk could not go on here, if that is so."""
        return next(iter(self._recorded(Stopped)), None)

    @property
    def lost_session(self) -> bool:
        """Whether the server did not know our session any more (HTTP 404; MCP 2025-11-25, "Session Management")."""
        answers = (event.frame for event in self._recorded(Travelled) if isinstance(event.frame, AnswerFrame))
        return any(answer.status == 404 and "mcp-session-id" in answer.request.headers for answer in answers)

    def begin(self) -> None:
        """Forget the last run: a new one starts."""
        self.state, self.beats, self.shown, self.disturbed = SceneState.RUNNING, [], 0, None

    def take(self, event: Event) -> None:
        """Record an event of the beat under way."""
        match event:
            case SceneDisturbed():
                self.disturbed = event
            case SceneStarted(attempt=attempt) if attempt > 1:
                self.beats, self.shown = [[] if self.disturbed is None else [self.disturbed]], 1
            case SceneEnded(failed=failed):
                self.state = SceneState.FAILED if failed else SceneState.HELD
            case Stopped():
                self.state = SceneState.FAILED
        self.beats[-1].append(event)

    def _recorded(self, kind: type[_E]) -> list[_E]:
        return [event for beat in self.beats for event in beat if isinstance(event, kind)]


class Player:
    """One reader's way through the scenes.

    `current` is the scene that the reader looks at. Everything that sends is a coroutine; it may be cancelled, which
    breaks the scene off, puts the server back and leaves the scene to come.

    Args:
        scenes: the scenes, in order; at least one.
        stage_factory: makes a stage with nothing open yet; called when something is first played, and anew when the
            server was lost.
        tell: called synchronously after each event was recorded.
    """

    def __init__(
        self,
        scenes: Sequence[Scene],
        stage_factory: "Callable[[], Stage]",
        *,
        tell: Callable[[Event], None] = lambda _event: None,
    ) -> None:
        if not scenes:
            raise ValueError("Player: scenes must name at least one scene, got (); pass demo.script.SCENES")
        self.runs = [SceneRun(scene) for scene in scenes]
        self._make_stage = stage_factory
        self.stage: Stage | None = None
        """The stage that is played on; None before anything was played."""
        self._index = 0
        self._tell = tell
        self._live: SceneRun | None = None
        self._events: AsyncGenerator[Event] | None = None
        self._held_back: StepStarted | None = None
        """The step before which the reader rests: taken from the generator, not performed yet."""
        self._turn = asyncio.Lock()

    # What there is to see

    @property
    def current(self) -> SceneRun:
        """The scene that the reader looks at."""
        return self.runs[self._index]

    @property
    def live(self) -> SceneRun | None:
        """The scene that is half-played, wherever the reader looks."""
        return self._live

    @property
    def busy(self) -> bool:
        """Whether something is under way."""
        return self._turn.locked()

    @property
    def held(self) -> int:
        """How many checks held in the last run of each scene."""
        return sum(check.finding.held for run in self.runs for check in run.checks)

    @property
    def failed(self) -> list[Checked]:
        """The checks that failed in the last run of each scene."""
        return [check for run in self.runs for check in run.checks if not check.finding.held]

    # Looking around: nothing here sends anything

    def back(self) -> bool:
        """One beat back, into the scene before where this one begins; whether there was anything."""
        if self.current.shown > 0:
            self.current.shown -= 1
            return True
        return self.turn(-1)

    def turn(self, by: int) -> bool:
        """Look at the scene that many further on (or back), as far as it was recorded; whether there is one."""
        return self.jump(self._index + by)

    def jump(self, index: int) -> bool:
        """Look at the scene with this index, from 0, as far as it was recorded; whether there is one."""
        if not 0 <= index < len(self.runs):
            return False
        self._index = index
        self.current.shown = len(self.current.beats)
        return True

    # Playing

    async def next(self) -> Outcome:
        """One beat forwards: shows what is recorded, else plays on, else turns to the next scene."""
        async with self._turn:
            run = self.current
            if run.looks_back:
                run.shown += 1
                return Outcome.SHOWN
            if run is self._live:
                await self._play_beat(run)
                return Outcome.PLAYED
            if run.state in (SceneState.HELD, SceneState.FAILED):
                return Outcome.TURNED if self.turn(1) else Outcome.OVER
            await self._start(run)
            return Outcome.PLAYED

    async def replay(self) -> None:
        """Play the scene again from the state that it starts from, up to its first rest."""
        async with self._turn:
            await self._start(self.current)

    async def renew(self) -> None:
        """Begin with new connections, for the server that came back; a scene that it left hanging is to come again.

        What was recorded stays to be read.
        """
        async with self._turn:
            await self._leave()
            await self._renew()
            for run in self.runs:
                if run.stopped is not None and isinstance(run.stopped.error, Unreachable):
                    run.state = SceneState.TO_COME

    async def aclose(self) -> None:
        """Break off what is half-played and end all sessions, within a bounded time."""
        with suppress(TimeoutError):
            async with asyncio.timeout(CLOSE_SECONDS), self._turn:
                await self._leave()
                if self.stage is not None:
                    await self.stage.aclose()

    async def _start(self, run: SceneRun) -> None:
        await self._leave()
        if run.lost_session:
            await self._renew()
        if self.stage is None:
            self.stage = self._make_stage()
        run.begin()
        self._live = run
        self._events = self.stage.play_scene(run.scene)
        await self._play_beat(run)

    async def _play_beat(self, run: SceneRun) -> None:
        """Take events up to the next step before which a reader may rest, or to the end of the scene."""
        events, held_back = self._events, self._held_back
        if events is None:
            return
        self._held_back = None
        run.beats.append([])
        run.shown = len(run.beats)
        try:
            if held_back is not None:
                self._take(run, held_back)
            async for event in events:
                if isinstance(event, StepStarted) and event.pause and _performed(run.beats[-1]):
                    self._held_back = event
                    return
                self._take(run, event)
        except BaseException:
            # Cancelled, or a fault of the stage: either way the generator is through and the scene was not finished.
            self._live = self._events = None
            run.state = SceneState.TO_COME
            raise
        self._live = self._events = None

    def _take(self, run: SceneRun, event: Event) -> None:
        follows = run.shown == len(run.beats)
        run.take(event)
        if follows:
            run.shown = len(run.beats)
        self._tell(event)

    async def _leave(self) -> None:
        """Close the half-played scene: the stage puts the server back as it was."""
        run, events = self._live, self._events
        if run is None or events is None:
            return
        try:
            run.state = SceneState.TO_COME
            await events.aclose()
        finally:
            self._live = self._events = self._held_back = None

    async def _renew(self) -> None:
        old, self.stage = self.stage, None
        if old is not None:
            with suppress(TimeoutError):
                async with asyncio.timeout(CLOSE_SECONDS):
                    await old.aclose()


def _performed(beat: Sequence[Event]) -> bool:
    return any(isinstance(event, StepStarted) for event in beat)
