"""The one line that says what is in the way, on every screen while it is, and gone when it is over."""

from textual.content import Content
from textual.widgets import Static

__all__ = ["NoticeBar"]


class NoticeBar(Static):
    """Shows `app.notice`; takes no room while there is none."""

    def __init__(self) -> None:
        super().__init__(id="notice", markup=False)

    def on_mount(self) -> None:
        self.watch(self.app, "notice", self._show)

    def _show(self, text: str) -> None:
        self.update(Content(text))
        self.set_class(bool(text), "-open")
