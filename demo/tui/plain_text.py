"""A line or two of text in a place of its own, taken as it is. Longer texts are `lines_view`'s."""

from textual.content import Content
from textual.widgets import Static

__all__ = ["PlainText"]


class PlainText(Static):
    """Shows one text, without markup. The same again costs nothing, where `update` would lay out the whole screen."""

    def __init__(self, text: str = "", *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(Content(text), id=id, classes=classes, markup=False)
        self.text = text
        """What is shown."""

    def show(self, text: str) -> None:
        """Show this text."""
        if text != self.text:
            self.text = text
            self.update(Content(text))
