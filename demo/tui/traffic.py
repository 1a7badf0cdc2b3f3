"""The exchange log: every exchange of the program, one a row, with a filter.

The list draws only the rows in view, so that ten thousand cost no more than thirty. What is kept is in `records`.
"""

import asyncio
from collections.abc import Callable, Sequence
from typing import ClassVar, Final

from rich.segment import Segment
from rich.style import Style
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.events import Click
from textual.geometry import Region, Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.widgets import Input

from demo.tui.plain_text import PlainText
from demo.tui.records import ExchangeRecord, TrafficLog

__all__ = ["TrafficList", "TrafficPanel"]

_PAUSE: Final = 0.1
"""Seconds for which news is gathered before it is drawn."""
_CHOSEN, _FAILED, _DIM = "traffic--chosen", "traffic--failed", "traffic--dim"


class TrafficList(ScrollView, can_focus=True):
    """Records, one a row, with one of them chosen. It follows the newest until the reader moves away from it."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "move(-1)", "Up", id="traffic.up", show=False, tooltip="The exchange before"),
        Binding("down,j", "move(1)", "Down", id="traffic.down", show=False, tooltip="The exchange after"),
        Binding("pageup", "move_page(-1)", "Page up", id="traffic.pageup", show=False, tooltip="A page back"),
        Binding("pagedown", "move_page(1)", "Page down", id="traffic.pagedown", show=False, tooltip="A page on"),
        Binding("home", "move_to(0)", "First", id="traffic.first", show=False, tooltip="The first exchange"),
        Binding("end", "move_to(-1)", "Newest", id="traffic.last", show=False, tooltip="The newest exchange"),
    ]
    COMPONENT_CLASSES: ClassVar[set[str]] = {_CHOSEN, _FAILED, _DIM}

    class Moved(Message):
        """The reader chose another row."""

        def __init__(self, record: ExchangeRecord) -> None:
            self.record = record
            super().__init__()

    def __init__(self, id: str | None = None) -> None:
        super().__init__(id=id)
        self._records: Sequence[ExchangeRecord] = ()
        self._shown = 0
        """How many rows there were when they were last drawn; the records may be a log that grows meanwhile."""
        self._cursor = -1
        self._chosen: ExchangeRecord | None = None
        self._styles: dict[str, Style] = {}

    @property
    def records(self) -> Sequence[ExchangeRecord]:
        return self._records

    @property
    def chosen(self) -> ExchangeRecord | None:
        return self._chosen

    def show(self, records: Sequence[ExchangeRecord], *, moved: bool) -> None:
        """Show these. `moved` says that rows may stand elsewhere than before, so the chosen one is looked for."""
        newest = self._cursor >= self._shown - 1
        self._records, self._shown = records, len(records)
        if newest:
            self._cursor = len(records) - 1
        elif moved:
            self._cursor = next((at for at, record in enumerate(records) if record is self._chosen), len(records) - 1)
        self._chosen = records[self._cursor] if records else None
        self.virtual_size = Size(self.size.width, len(records))
        self._show_cursor()
        self.refresh()

    def choose(self, record: ExchangeRecord) -> bool:
        """Go to this record's row; False where it is not in the list."""
        for at, candidate in enumerate(self._records):
            if candidate is record:
                self._cursor, self._chosen = at, record
                self._show_cursor()
                self.refresh()
                return True
        return False

    def action_move(self, rows: int) -> None:
        self._go(self._cursor + rows)

    def action_move_page(self, pages: int) -> None:
        self._go(self._cursor + pages * max(1, self.size.height - 1))

    def action_move_to(self, row: int) -> None:
        self._go(row if row >= 0 else len(self._records) - 1)

    def on_click(self, event: Click) -> None:
        self._go(self.scroll_offset.y + event.y)

    def _go(self, row: int) -> None:
        if not self._records:
            return
        self._cursor = max(0, min(len(self._records) - 1, row))
        self._chosen = self._records[self._cursor]
        self._show_cursor()
        self.refresh()
        self.post_message(self.Moved(self._chosen))

    def _show_cursor(self) -> None:
        if self._cursor >= 0 and self.size.height:
            self.scroll_to_region(Region(0, self._cursor, 1, 1), animate=False, immediate=True, force=True)

    def render_lines(self, crop: Region) -> list[Strip]:
        self._styles.clear()  # worked out once for each paint, as that takes longer than drawing a row
        return super().render_lines(crop)

    def render_line(self, y: int) -> Strip:
        row = self.scroll_offset.y + y
        width = self.scrollable_content_region.width
        if not 0 <= row < len(self._records):
            return Strip.blank(width, self._style_of())
        record = self._records[row]
        style = self._style(record, row)
        mark = "▶ " if row == self._cursor else "  "
        return Strip([Segment(mark + _row(record), style)]).crop_extend(0, width, style)

    def _style(self, record: ExchangeRecord, row: int) -> Style:
        style = self._style_of()
        if record.under_way:
            style += self._style_of(_DIM)
        elif record.status is None or record.status >= 400:
            style += self._style_of(_FAILED)
        return style + self._style_of(_CHOSEN) if row == self._cursor else style

    def _style_of(self, name: str = "") -> Style:
        if (style := self._styles.get(name)) is None:
            style = self.get_component_rich_style(name, partial=True) if name else self.rich_style
            self._styles[name] = style
        return style


class TrafficPanel(Vertical):
    """The log with its filter."""

    HELP: ClassVar[str] = (
        "Every exchange since the program started. Up and down choose one, which is then shown in full; f goes to the\n"
        "filter: words that must all stand somewhere in an exchange (method, caller, status, header, JSON).\n"
        "Enter or escape leaves the filter."
    )

    class Chosen(Message):
        """The reader chose this exchange."""

        def __init__(self, record: ExchangeRecord) -> None:
            self.record = record
            super().__init__()

    def __init__(self, log: TrafficLog, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self._log = log
        self._filter = ""
        self._pending = False
        self._count = PlainText(id="traffic-count")
        self._unsubscribe: Callable[[], None] = lambda: None

    def compose(self) -> ComposeResult:
        yield FilterInput(placeholder="filter: method, caller, status, any text", id="traffic-filter", compact=True)
        yield TrafficList(id="traffic-list")
        yield self._count

    def on_mount(self) -> None:
        self._unsubscribe = self._log.subscribe(self._news)
        self._draw()

    def on_unmount(self) -> None:
        self._unsubscribe()

    @property
    def list(self) -> TrafficList:
        return self.query_one(TrafficList)

    def focus_filter(self) -> None:
        """Go to the filter."""
        self.query_one(FilterInput).focus()

    def choose(self, record: ExchangeRecord) -> bool:
        """Go to this record's row, without a message; False where the filter hides it."""
        return self.list.choose(record)

    @on(Input.Changed, "#traffic-filter")
    def _filter_changed(self, event: Input.Changed) -> None:
        event.stop()
        self._filter = event.value
        self._later()

    @on(Input.Submitted, "#traffic-filter")
    def _filter_left(self, event: Input.Submitted) -> None:
        event.stop()
        self.list.focus()

    @on(TrafficList.Moved)
    def _moved(self, event: TrafficList.Moved) -> None:
        event.stop()
        self.post_message(self.Chosen(event.record))

    def _news(self, _: ExchangeRecord) -> None:
        self._later()

    def _later(self) -> None:
        if not self._pending and self.is_mounted:
            self._pending = True
            # Not `set_timer`: Textual skips a tick that comes late, and a timer that has only one never comes then.
            asyncio.get_running_loop().call_later(_PAUSE, self.call_later, self._draw)

    def _draw(self) -> None:
        self._pending = False
        records = self._log.filtered(self._filter) if self._filter.strip() else self._log.records
        full = len(self._log.records) < self._log.total
        self.list.show(records, moved=bool(self._filter) or full)
        count = f"{len(records)} of {len(self._log.records)}" if self._filter.strip() else f"{len(records)}"
        self._count.show(f"{count} exchanges")


class FilterInput(Input):
    """The filter's line; escape leaves it."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,down", "leave", "Leave", id="filter.leave", show=False, tooltip="Back to the log"),
    ]

    def action_leave(self) -> None:
        if isinstance(self.parent, TrafficPanel):
            self.parent.list.focus()


def _row(record: ExchangeRecord) -> str:
    took = "" if record.elapsed_ms is None else f"{record.elapsed_ms:.0f} ms"
    status = "..." if record.under_way else "none" if record.status is None else str(record.status)
    scene = f"scene {record.scene}" if record.scene is not None else "explore"
    return f"{record.number:>5} {status:>4} {took:>8} {record.wire:<9} {scene:<8} {record.title} : {record.outcome}"
