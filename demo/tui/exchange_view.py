"""The exchange in full: what was asked and what came back, status, milliseconds, headers, JSON.

Side by side where there is room, one of the two where there is not. What each side says is in `records`.
"""

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from typing import ClassVar, Final

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.events import DescendantFocus, Resize
from textual.message import Message
from textual.reactive import reactive
from textual.widget import Widget

from demo.tui.lines_view import LinesView
from demo.tui.plain_text import PlainText
from demo.tui.records import ExchangeRecord

__all__ = ["ExchangeView"]

_LARGE: Final = 200_000
"""Characters from which on what came back is made into lines in a thread."""
_SIDE_BY_SIDE: Final = 84
"""From how many columns on both sides are shown at once."""


class ExchangeView(Widget):
    """Shows one record; None shows what to do to see one."""

    HELP: ClassVar[str] = (
        "One exchange as it went over the wire: the request on one side, what came back on the other. g goes from one\n"
        "side to the other, c copies the request as a curl command, y copies the side that you are in, o opens it in\n"
        "your pager. Tokens are masked until you press v."
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("c", "copy_curl", "curl", id="exchange.curl", tooltip="Copy this request as a curl command"),
        Binding("y", "copy_answer", "Copy", id="exchange.copy", tooltip="Copy what came back"),
        Binding("o", "page_answer", "Pager", id="exchange.pager", tooltip="Open what came back in the pager"),
        Binding("g", "other_side", "Other side", id="exchange.side", tooltip="Go from the request to the answer"),
    ]

    record: reactive[ExchangeRecord | None] = reactive(None, always_update=True)
    show_token: reactive[bool] = reactive(False)

    class CurlWanted(Message):
        """The reader wants this record's request as a curl command."""

        def __init__(self, record: ExchangeRecord) -> None:
            self.record = record
            super().__init__()

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self._large: tuple[ExchangeRecord, int, list[str]] | None = None
        """The last large one that was laid out, and how large it was then."""

    def compose(self) -> ComposeResult:
        yield PlainText(id="exchange-title")
        yield PlainText(id="exchange-why")
        with Horizontal(id="exchange-sides"):
            yield LinesView(kind="http", id="exchange-request")
            yield LinesView(kind="http", id="exchange-answer", classes="-shown")

    def on_mount(self) -> None:
        self._show()

    def watch_record(self) -> None:
        if self.is_mounted:
            self._show()

    def watch_show_token(self) -> None:
        if self.is_mounted:
            self._show()

    def on_resize(self, event: Resize) -> None:
        self.set_class(event.size.width < _SIDE_BY_SIDE, "-narrow")

    def on_descendant_focus(self, event: DescendantFocus) -> None:
        if isinstance(event.widget, LinesView):
            self._bring_up(event.widget)

    @property
    def request(self) -> LinesView:
        return self.query_one("#exchange-request", LinesView)

    @property
    def answer(self) -> LinesView:
        return self.query_one("#exchange-answer", LinesView)

    @property
    def shown(self) -> LinesView:
        """The side that is in front."""
        return self.request if self.request.has_class("-shown") else self.answer

    def focus(self, scroll_visible: bool = True) -> "ExchangeView":
        """Focus the side that is in front."""
        self.shown.focus(scroll_visible)
        return self

    def action_other_side(self) -> None:
        """Go from the request to what came back, or the other way."""
        other = self.request if self.shown is self.answer else self.answer
        self._bring_up(other)
        other.focus()

    def action_copy_curl(self) -> None:
        if self.record is not None:
            self.post_message(self.CurlWanted(self.record))

    def action_copy_answer(self) -> None:
        self.answer.action_copy_lines()

    def action_page_answer(self) -> None:
        self.answer.action_page_lines()

    def _bring_up(self, side: LinesView) -> None:
        self.request.set_class(side is self.request, "-shown")
        self.answer.set_class(side is self.answer, "-shown")
        self._title()

    def _show(self) -> None:
        record = self.record
        self.request.set_lines([] if record is None else record.lines_request(self.show_token), "http")
        self._show_answer(record)
        why = None if record is None else record.why_failed()
        self.query_one("#exchange-why", PlainText).show(why or "")
        self.set_class(why is not None, "-failed")
        self._title()

    def _show_answer(self, record: ExchangeRecord | None) -> None:
        self.workers.cancel_group(self, "exchange")
        if record is None or record.size < _LARGE:
            self.answer.set_lines([] if record is None else record.lines_answer(), "http")
        elif self._large is not None and self._large[0] is record and self._large[1] == record.size:
            self.answer.set_lines(self._large[2], "http")
        else:
            self.answer.set_lines([f"{record.size:,} characters are being laid out..."])
            work: Callable[[], Awaitable[None]] = partial(self._lay_out, record)
            self.run_worker(work, name="exchange", group="exchange", exclusive=True)

    async def _lay_out(self, record: ExchangeRecord) -> None:
        size = record.size
        lines = await asyncio.to_thread(record.lines_answer)
        self._large = record, size, lines
        if self.record is record:
            self.answer.set_lines(lines, "http")

    def _title(self) -> None:
        self.query_one("#exchange-title", PlainText).show(self._title_text())

    def _title_text(self) -> str:
        record = self.record
        if record is None:
            return "No exchange yet."
        took = "" if record.elapsed_ms is None else f", {record.elapsed_ms:.0f} ms"
        status = "under way" if record.under_way else "no answer" if record.status is None else f"HTTP {record.status}"
        side = "request" if self.shown is self.request else "answer"
        hidden = f"[{side}; g: the other] " if self.has_class("-narrow") else ""
        return f"{hidden}#{record.number} {record.title}: {status}{took}, {record.wire} wire"
