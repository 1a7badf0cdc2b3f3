"""A line or two of text in a place of its own, taken as it is. Longer texts are `lines_view`'s."""

from rich.cells import cell_len
from textual.content import Content
from textual.widgets import Static

__all__ = ["PlainText"]


class PlainText(Static):
    """Shows one text, without markup. The screen is laid out anew only where the text may need another height."""

    def __init__(self, text: str = "", *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(Content(text), id=id, classes=classes, markup=False)
        self.text = text
        """What is shown."""

    def show(self, text: str) -> None:
        """Show this text; the same again costs nothing."""
        if text != self.text:
            before, self.text = self.text, text
            self.update(Content(text), layout=not self._as_high(before, text))

    def _as_high(self, before: str, after: str) -> bool:
        lines = before.split("\n"), after.split("\n")
        fits = all(0 < cell_len(line) <= self.content_size.width for text in lines for line in text)
        return fits and len(lines[0]) == len(lines[1])
