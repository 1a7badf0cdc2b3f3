"""Breaking one thing on purpose: what can be broken, the server's real answer, and one key that puts it right."""

from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.message import Message
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from demo.scene import Wire
from demo.tui.breaks import BREAKS, Break
from demo.tui.folded_view import FoldedView
from demo.tui.outcomes import Outcome

__all__ = ["BreakagePanel", "break_texts"]


def break_texts(broken: Break, wire: Wire, answer: str | None, mended: Outcome | None) -> list[str]:
    """What is wrong, what the server said to it, and what puts it right; `answer` is None before it is asked."""
    lines = [f"Wrong: {broken.wrong[wire]}"]
    lines += ["", "Enter sends it."] if answer is None else ["", f"The server: {answer}"]
    lines += ["", f"Right: {broken.right[wire]}"]
    if mended is None:
        return [*lines, "", "i sends that."]
    if mended.error is not None:
        return [*lines, "", f"Still wrong: {mended.error}"]
    members = ", ".join(name for name in (mended.result or {}) if name not in ("_meta", "resultType"))
    return [*lines, "", f"The server: {{{members}}}"]


class BreakagePanel(Vertical):
    """The menu and what came of it."""

    HELP: ClassVar[str] = (
        "Five requests that are wrong on purpose. Enter sends the marked one; the server's real answer is shown here\n"
        "in a line and in full as an exchange. i puts it right: the request is sent as it should have been."
    )

    class Wanted(Message):
        """Send this wrong request."""

        def __init__(self, broken: Break) -> None:
            self.broken = broken
            super().__init__()

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self._wire: Wire = "session"

    def compose(self) -> ComposeResult:
        yield OptionList(*(Option(Content(broken.title)) for broken in BREAKS), id="breakage-list", markup=False)
        yield FoldedView(id="breakage-told")

    @property
    def told(self) -> FoldedView:
        """What is shown of the marked one."""
        return self.query_one(FoldedView)

    @property
    def chosen(self) -> Break:
        """The marked one."""
        return BREAKS[self.query_one(OptionList).highlighted or 0]

    def use_wire(self, wire: Wire) -> None:
        """What is wrong depends on the wire."""
        if wire != self._wire:
            self._wire = wire
            self.show(self.chosen, None, None)

    def show(self, broken: Break, answer: str | None, mended: Outcome | None) -> None:
        """Show what came of this one."""
        self.told.set_texts(break_texts(broken, self._wire, answer, mended))

    @on(OptionList.OptionHighlighted)
    def _marked(self, event: OptionList.OptionHighlighted) -> None:
        event.stop()
        self.show(BREAKS[event.option_index], None, None)

    @on(OptionList.OptionSelected)
    def _chosen(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        self.post_message(self.Wanted(BREAKS[event.option_index]))
