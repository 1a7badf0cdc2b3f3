"""What happens while a script is played, one type an event. Tellers show these and know nothing of HTTP.

The order within a scene: `SceneStarted`, then for each step `StepStarted` and what the step caused (`Travelled`,
`CacheMoved`, `Decided`), then a `Checked` for each check, then `SceneEnded`. A scene that somebody else disturbed ends
with `SceneDisturbed` instead and starts again.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from agent_discovery.host import Frame, HostError, Opening
from demo.arrows import Arrow
from demo.scene import Finding, Scene, Step, Wire

if TYPE_CHECKING:
    from agent_discovery.host import CacheEvent

__all__ = [
    "CacheMoved",
    "Checked",
    "Connected",
    "Decided",
    "Event",
    "SceneDisturbed",
    "SceneEnded",
    "SceneStarted",
    "StepStarted",
    "Stopped",
    "Travelled",
    "WalkEnded",
    "WalkStarted",
]


@dataclass(frozen=True)
class WalkStarted:
    url: str
    scenes: tuple[Scene, ...]


@dataclass(frozen=True)
class Connected:
    """The first connection stands; from here on it is known which wire is played."""

    wire: Wire
    opening: Opening


@dataclass(frozen=True)
class SceneStarted:
    scene: Scene
    attempt: int


@dataclass(frozen=True)
class StepStarted:
    step: Step
    pause: bool
    """Whether a reader may rest here."""


@dataclass(frozen=True)
class Travelled:
    """A frame went over the wire; `arrow` is how the diagram draws it."""

    frame: Frame
    arrow: Arrow


@dataclass(frozen=True)
class CacheMoved:
    caller: str
    event: "CacheEvent"


@dataclass(frozen=True)
class Decided:
    title: str
    text: str


@dataclass(frozen=True)
class Checked:
    scene: Scene
    title: str
    finding: Finding


@dataclass(frozen=True)
class SceneDisturbed:
    scene: Scene
    attempt: int
    reason: str


@dataclass(frozen=True)
class SceneEnded:
    scene: Scene
    held: int
    failed: int


@dataclass(frozen=True)
class Stopped:
    """The walk cannot go on: nobody answers, or the server does not offer what the walk is about."""

    scene: Scene
    error: HostError


@dataclass(frozen=True)
class WalkEnded:
    held: int
    failed: tuple[Checked, ...]
    stopped: Stopped | None


Event = (
    WalkStarted
    | Connected
    | SceneStarted
    | StepStarted
    | Travelled
    | CacheMoved
    | Decided
    | Checked
    | SceneDisturbed
    | SceneEnded
    | Stopped
    | WalkEnded
)
