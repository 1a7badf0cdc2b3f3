"""Walks as tests play them: whole, in this process, with what came of them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from demo.events import Checked, Event, WalkEnded
from demo.scene import Scene, Wire
from demo.script import SCENES
from demo.stage import Stage

__all__ = ["Walk", "chosen", "probe_name", "walk"]


def chosen(*numbers: int) -> tuple[Scene, ...]:
    return tuple(scene for scene in SCENES if scene.number in numbers)


def probe_name(scene: Scene, title: str) -> str:
    """The name of the function behind a check; the one that every scene has is not in the script."""
    return next((check.probe.__name__ for check in scene.checks if check.title == title), "as_scripted")


@dataclass(frozen=True)
class Walk:
    """What a walk told."""

    events: tuple[Event, ...]

    @property
    def ended(self) -> WalkEnded:
        (ended,) = (event for event in self.events if isinstance(event, WalkEnded))
        return ended

    @property
    def failed(self) -> set[tuple[int, str]]:
        """Scene and probe of each check that failed."""
        return {(check.scene.number, probe_name(check.scene, check.title)) for check in self.ended.failed}

    @property
    def checked(self) -> list[Checked]:
        return [event for event in self.events if isinstance(event, Checked)]


async def walk(
    url: str, scenes: Sequence[Scene] = SCENES, *, wire: Literal["auto"] | Wire = "auto", timeout: float = 5.0
) -> Walk:
    stage = Stage(url, wire=wire, timeout=timeout)
    return Walk(tuple([event async for event in stage.play(scenes)]))
