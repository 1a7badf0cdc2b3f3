"""One line that names the panels where only one of them has room, the one in front marked. A click chooses."""

from collections.abc import Mapping
from typing import ClassVar

from textual.content import Content
from textual.events import Click
from textual.message import Message
from textual.reactive import reactive
from textual.widget import Widget

__all__ = ["PanelTabs"]


class PanelTabs(Widget, can_focus=False):
    """Names of panels by their keys; `front` is the key of the one in front."""

    HELP: ClassVar[str] = "The panels. Comma and full stop go to the one before and the one after, or click on a name."

    front: reactive[str] = reactive("")

    class Chosen(Message):
        """The reader wants this panel in front."""

        def __init__(self, key: str) -> None:
            self.key = key
            super().__init__()

    def __init__(self, names: Mapping[str, str], *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._names = dict(names)

    def render(self) -> Content:
        return Content("".join(self._labels().values()))

    def on_click(self, event: Click) -> None:
        end = 0
        for key, label in self._labels().items():
            end += len(label)
            if event.x < end:
                self.post_message(self.Chosen(key))
                return

    def _labels(self) -> dict[str, str]:
        """As wide as there is room for: whole names, or only their beginnings."""
        room = self.size.width // max(1, len(self._names)) - 2
        return {
            key: (f"[{name[: max(1, room)]}]" if key == self.front else f" {name[: max(1, room)]} ")
            for key, name in self._names.items()
        }
