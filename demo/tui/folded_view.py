"""Prose in a pane: lines folded at spaces to the width that there is. A pane's scrolling is in `lines_view`."""

from collections.abc import Sequence

from textual.events import Resize

from demo.tui.lifelines import folded
from demo.tui.lines_view import LinesView

__all__ = ["FoldedView"]

_NARROWEST = 12


class FoldedView(LinesView):
    """Shows texts, each in as many lines as it takes; a text's indent is kept for all of its lines."""

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self._texts: tuple[str, ...] = ()

    @property
    def texts(self) -> Sequence[str]:
        """What is shown, not folded."""
        return self._texts

    def set_texts(self, texts: Sequence[str]) -> None:
        """Show these; where they are those shown already, the reader's place is kept."""
        if tuple(texts) != self._texts:
            self._texts = tuple(texts)
            self._fold()

    def on_resize(self, _: Resize) -> None:
        self._fold()

    def _fold(self) -> None:
        width = max(_NARROWEST, self.scrollable_content_region.width)
        place = self.scroll_offset
        self.set_lines([line for text in self._texts for line in _indented(text, width)])
        self.scroll_to(place.x, place.y, animate=False, immediate=True)


def _indented(text: str, width: int) -> list[str]:
    stripped = text.lstrip(" ")
    indent = " " * (len(text) - len(stripped))
    return [indent + line for line in folded(stripped, max(_NARROWEST, width) - len(indent))]
