"""The scenes and where each of them stands: a list where there is room, one line where there is not."""

from collections.abc import Sequence
from typing import ClassVar, Final

from textual.content import Content
from textual.events import Click
from textual.message import Message
from textual.reactive import reactive
from textual.widget import Widget

from demo.tui.lifelines import folded
from demo.tui.player import SceneRun, SceneState

__all__ = ["SceneList"]

_SYMBOLS: Final = {
    SceneState.TO_COME: "·",
    SceneState.RUNNING: "►",
    SceneState.HELD: "✓",
    SceneState.FAILED: "✗",
}
_MARKS: Final = 5
"""Columns before a title: whether it is the current one, its number and its state."""
_LEAST: Final = 10
_CELL: Final = 3
"""Columns that a scene takes in the one line."""


class SceneList(Widget, can_focus=False):
    """Names the scenes with their states; a click on one chooses it."""

    HELP: ClassVar[str] = (
        "The scenes. · is to come, ► is running, ✓ held all its checks, ✗ failed one. n and p go to the next and the\n"
        "previous scene, a digit goes to that scene; nothing is sent before you press Enter. r replays the scene."
    )

    lines: reactive[tuple[str, ...]] = reactive(())
    current: reactive[int] = reactive(0)
    summary: reactive[str] = reactive("")

    class Chosen(Message):
        """The reader wants to look at the scene with this index, from 0."""

        def __init__(self, index: int) -> None:
            self.index = index
            super().__init__()

    def on_mount(self) -> None:
        self.border_title = "Scenes"

    def show(self, runs: Sequence[SceneRun], current: int) -> None:
        """Show these scenes, the current one marked."""
        self.lines = tuple(_line(run, index == current) for index, run in enumerate(runs))
        self.current = current
        run = runs[current]
        digits = "".join(
            f"{'[' if index == current else ' '}{other.scene.number}{_SYMBOLS[other.state]}"
            for index, other in enumerate(runs)
        )
        self.border_subtitle = f"{run.scene.number} {run.state.value}"
        self.summary = f"{digits} {run.scene.title}: {run.state.value}"

    def render(self) -> Content:
        if self.size.height <= 1:
            return Content(self.summary)
        return Content("\n".join(text for _, text in self._rows()))

    def _rows(self) -> list[tuple[int, str]]:
        """The list's rows, each with the index of its scene; a title that is too long goes on below its beginning."""
        room = max(_LEAST, self.size.width - _MARKS)
        rows: list[tuple[int, str]] = []
        for index, line in enumerate(self.lines):
            first, *more = folded(line[_MARKS:], room)
            rows += [(index, line[:_MARKS] + first), *((index, " " * _MARKS + text) for text in more)]
        return rows

    def on_click(self, event: Click) -> None:
        place = event.get_content_offset(self)
        if place is None:
            return
        if self.size.height <= 1:
            indexes = [index for index in range(len(self.lines)) for _ in range(_CELL)]
        else:
            indexes = [index for index, _ in self._rows()]
        at = place.x if self.size.height <= 1 else place.y
        if 0 <= at < len(indexes):
            self.post_message(self.Chosen(indexes[at]))


def _line(run: SceneRun, current: bool) -> str:
    mark = "▶" if current else " "
    return f"{mark}{run.scene.number} {_SYMBOLS[run.state]} {run.scene.title}"
