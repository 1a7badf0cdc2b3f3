"""The keys along the bottom: next, back and quit first, then as many others as the width has room for."""

from collections.abc import Iterable, Sequence
from typing import ClassVar

from rich.segment import Segment
from rich.style import Style
from textual.binding import Binding
from textual.events import Click
from textual.screen import Screen
from textual.strip import Strip
from textual.widget import Widget

__all__ = ["KeyBar", "shown_keys"]


class KeyBar(Widget):
    """One row of keys with what they do. A click on one is as good as the key.

    Args:
        pinned: ids of bindings that come first, in this order, and are shown however narrow it gets.
    """

    COMPONENT_CLASSES: ClassVar[set[str]] = {"key-bar--key"}

    def __init__(self, pinned: Sequence[str]) -> None:
        super().__init__(id="keys")
        self._pinned = tuple(pinned)
        self._keys: list[Binding] = []
        self._places: list[tuple[int, int, str]] = []

    def on_mount(self) -> None:
        self.screen.bindings_updated_signal.subscribe(self, self._changed)
        self._changed(self.screen)

    def _changed(self, screen: Screen[object]) -> None:
        active = [entry.binding for entry in screen.active_bindings.values() if entry.enabled]
        self._keys = shown_keys(active, self._pinned)
        self.refresh()

    def render_line(self, y: int) -> Strip:
        if y:
            return Strip.blank(self.size.width, self.rich_style)
        key_style: Style = self.rich_style + self.get_component_rich_style("key-bar--key", partial=True)
        segments: list[Segment] = []
        self._places = []
        at = 0
        for binding in self._keys:
            key = self.app.get_key_display(binding)
            needed = len(key) + len(binding.description) + 3
            if at + needed > self.size.width:
                break
            segments += [Segment(f" {key}", key_style), Segment(f" {binding.description} ", self.rich_style)]
            self._places.append((at, at + needed, binding.key))
            at += needed
        return Strip(segments).extend_cell_length(self.size.width, self.rich_style)

    def on_click(self, event: Click) -> None:
        for start, end, key in self._places:
            if start <= event.x < end:
                self.app.simulate_key(key)


def shown_keys(active: Iterable[Binding], pinned: Sequence[str]) -> list[Binding]:
    """One binding for each action that is to be shown, the pinned ones first."""
    by_action: dict[str, Binding] = {}
    for binding in active:
        if binding.show or binding.id in pinned:
            by_action.setdefault(binding.id or binding.action, binding)
    first = [by_action.pop(name) for name in pinned if name in by_action]
    return [*first, *by_action.values()]
