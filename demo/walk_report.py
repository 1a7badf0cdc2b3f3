"""Gathers a walk's events into what a report holds of its scenes. A teller like any other: it knows nothing of HTTP."""

from dataclasses import dataclass, field, replace

from agent_discovery.host import AnswerFrame, FailureFrame, Frame, NotificationFrame, RequestFrame
from demo.clauses.line import Seen
from demo.clauses.verdicts import Fault
from demo.events import Checked, Connected, Event, SceneStarted, Stopped, Travelled, WalkStarted
from demo.report import ReportedCheck, ReportedScene, SceneEnd
from demo.scene import Scene

__all__ = ["WalkTaker"]


@dataclass
class _Taken:
    """A scene under way: its last attempt."""

    scene: Scene
    checks: list[ReportedCheck] = field(default_factory=list)
    exchanges: dict[int, Seen] = field(default_factory=dict)
    """By the identity of the request's frame."""


class WalkTaker:
    """Takes events; `scenes` is what came of them so far."""

    def __init__(self) -> None:
        self.connected: Connected | None = None
        self.faults: list[Fault] = []
        self._planned: tuple[Scene, ...] = ()
        self._taken: dict[int, _Taken] = {}
        self._current: _Taken | None = None

    @property
    def scenes(self) -> tuple[ReportedScene, ...]:
        """Every scene that was to be played, in order."""
        return tuple(_reported(scene, self._taken.get(scene.number)) for scene in self._planned)

    def take(self, event: Event) -> None:
        match event:
            case WalkStarted(scenes=scenes):
                self._planned = scenes
            case Connected() if self.connected is None:
                self.connected = event
            case SceneStarted(scene=scene):
                self._current = self._taken[scene.number] = _Taken(scene)
            case Checked(title=title, finding=found) if self._current is not None:
                self._current.checks.append(ReportedCheck(title, found.held, found.expected, found.got))
            case Travelled(frame=frame) if self._current is not None:
                _note(self._current.exchanges, frame)
            case Stopped(error=error):
                self.faults.append(Fault(str(error)))
            case _:
                pass


def _note(exchanges: dict[int, Seen], frame: Frame) -> None:
    if isinstance(frame, RequestFrame):
        exchanges[id(frame)] = Seen(frame, None, None)
        return
    seen = exchanges.get(id(frame.request))
    match frame:
        case _ if seen is None:
            return
        case AnswerFrame():
            exchanges[id(frame.request)] = replace(seen, answer=frame)
        case NotificationFrame():
            exchanges[id(frame.request)] = replace(seen, told=(*seen.told, frame))
        case FailureFrame(error=error):
            exchanges[id(frame.request)] = replace(seen, error=error)


def _reported(scene: Scene, taken: _Taken | None) -> ReportedScene:
    if taken is None or not taken.checks:
        return ReportedScene(scene.number, scene.title, "not reached", "the walk ended before this scene did")
    outcome: SceneEnd = "held" if all(check.held for check in taken.checks) else "failed"
    shown = tuple(taken.exchanges.values())
    return ReportedScene(scene.number, scene.title, outcome, checks=tuple(taken.checks), shown=shown)
