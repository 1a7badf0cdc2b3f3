"""A pane of read-only lines: JSON, HTTP, a diagram, plain text. It owns showing, scrolling, searching and selecting.

A row is coloured when it comes into view, so a text of two megabytes costs no more than what is seen of it. How lines
fold and where a text is found is in `rows`, which colour a part gets in `colouring`. Nothing in it is ever markup.
"""

import itertools
from collections.abc import Iterable, Sequence
from typing import ClassVar, Final

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual.binding import Binding, BindingType
from textual.cache import LRUCache
from textual.events import Resize
from textual.geometry import Region, Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.selection import Selection
from textual.strip import Strip

from demo.plain import printable
from demo.tui.colouring import STYLES, Kind, Span, colour_spans
from demo.tui.rows import Hit, Row, Rows, one_a_row

__all__ = ["LinesView"]

_LONG: Final = 4_000
"""Lines longer than this are coloured a row at a time, not as a whole."""
_FOUND: Final = "lines-view--found"
_CURRENT: Final = "lines-view--current"


class LinesView(ScrollView, can_focus=True):
    """Lines in a scrollable pane.

    Args:
        lines: what to show at first.
        kind: what the lines are, which decides their colours.
        wrap: fold lines that are wider than the pane; else it scrolls sideways.
        follow_end: keep the end in view when lines are appended.
    """

    HELP: ClassVar[str] = (
        "Text to read. Arrows, Page Up and Page Down, Home and End scroll; / searches, ] and [ go to the next and\n"
        "the previous place; w folds long lines or lets them run on; y copies it, o opens it in your pager."
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("right_square_bracket", "next_hit", "Next found", id="lines.next", show=False, key_display="]"),
        Binding("left_square_bracket", "previous_hit", "Previous found", id="lines.previous", show=False),
        Binding("w", "toggle_wrap", "Fold lines", id="lines.wrap", show=False, tooltip="Fold long lines, or not"),
        Binding("y", "copy_lines", "Copy", id="lines.copy", show=False, tooltip="Copy this text"),
        Binding("o", "page_lines", "Pager", id="lines.pager", show=False, tooltip="Open this text in the pager"),
    ]
    COMPONENT_CLASSES: ClassVar[set[str]] = {_FOUND, _CURRENT, *(f"lines-view--{name}" for name in STYLES)}
    DEFAULT_CSS = "\n".join(
        [
            "LinesView { background: $surface; color: $foreground; height: 1fr; scrollbar-size-vertical: 1; }",
            # Else a scrollbar that appears would take cells from lines that are folded already.
            "LinesView { scrollbar-gutter: stable; }",
            "LinesView:focus { background-tint: $foreground 4%; }",
            f".{_FOUND} {{ background: $warning 40%; text-style: underline; }}",
            f".{_CURRENT} {{ background: $warning; color: $background; text-style: bold underline; }}",
            *(
                f".lines-view--{name} {{ " + ("text-style: " if style.startswith("bold") else "color: ") + style + "; }"
                for name, style in STYLES.items()
            ),
        ]
    )

    class CopyWanted(Message):
        """The reader wants this text copied."""

        def __init__(self, view: "LinesView") -> None:
            self.view = view
            super().__init__()

        @property
        def control(self) -> "LinesView":
            return self.view

    class PagerWanted(CopyWanted):
        """The reader wants this text in the pager."""

    def __init__(
        self,
        lines: Sequence[str] = (),
        kind: Kind = "plain",
        *,
        wrap: bool = True,
        follow_end: bool = False,
        id: str | None = None,
        classes: str | None = None,
    ) -> None:
        super().__init__(id=id, classes=classes)
        self.follow_end = follow_end
        self.kind: Kind = kind
        self.wrap = wrap
        self._rows = Rows(one_a_row(lines))
        self._spans: LRUCache[int, list[Span]] = LRUCache(1024)
        self._styles: dict[str, Style] = {}
        """What the paint under way has worked out, by component class; the pane's own style by the empty text."""
        self._hits: Sequence[Hit] = ()
        self._hits_by_line: dict[int, list[Hit]] = {}
        self._current: int | None = None
        self.searched = ""
        """What was searched for last, while its hits are marked."""

    @property
    def allow_select(self) -> bool:
        return True

    # What is shown

    @property
    def lines(self) -> Sequence[str]:
        return self._rows.lines

    @property
    def text(self) -> str:
        """All of it, for copying."""
        return "\n".join(self._rows.lines)

    def set_lines(self, lines: Sequence[str], kind: Kind = "plain") -> None:
        """Show these lines from their top; what was searched for is searched again."""
        shown = one_a_row(lines)
        if self.kind == kind and shown == self._rows.lines:
            return
        self.kind = kind
        self._rows = Rows(shown)
        self._spans.clear()
        self._lay_out()
        self._search_again()
        self.scroll_to(0, 0, animate=False, immediate=True)
        if self.follow_end:
            self.scroll_end(animate=False, immediate=True, force=True, x_axis=False)

    def append_lines(self, lines: Iterable[str]) -> None:
        """Add lines at the end; the view goes along where it `follow_end`s and was at the end."""
        at_end = self.is_vertical_scroll_end
        self._rows.append(one_a_row(lines))
        self._lay_out()
        if self.searched:
            self._search_again()
        if self.follow_end and at_end:
            self.scroll_end(animate=False, immediate=True, force=True, x_axis=False)

    def scroll_to_line(self, line: int) -> None:
        """Bring this line into view, without moving where it is in view already."""
        if 0 <= line < len(self._rows.lines):
            self._show_row(self._rows.row_of(line))

    def action_toggle_wrap(self) -> None:
        """Fold long lines, or let them run on."""
        self.wrap = not self.wrap
        self._lay_out()
        if self.wrap:
            self.scroll_to(x=0, animate=False, immediate=True, force=True)

    def action_copy_lines(self) -> None:
        self.post_message(self.CopyWanted(self))

    def action_page_lines(self) -> None:
        self.post_message(self.PagerWanted(self))

    # Searching

    def search(self, text: str) -> int:
        """Mark every place where `text` stands, go to the first one, and return how many there are."""
        self.searched = text
        self._current = None
        self._find()
        if self._hits:
            self._go_to(0)
        return len(self._hits)

    @property
    def hits(self) -> int:
        return len(self._hits)

    @property
    def current_hit(self) -> int | None:
        """The place that the reader is at, counted from 0."""
        return self._current

    def next_hit(self) -> None:
        """Go to the next place found; after the last one comes the first."""
        if self._hits:
            self._go_to(0 if self._current is None else (self._current + 1) % len(self._hits))

    def previous_hit(self) -> None:
        """Go to the place before."""
        if self._hits:
            self._go_to(((self._current or 0) - 1) % len(self._hits))

    def action_next_hit(self) -> None:
        self.next_hit()

    def action_previous_hit(self) -> None:
        self.previous_hit()

    def _find(self) -> None:
        self._hits = self._rows.find(self.searched)
        self._hits_by_line = {}
        for hit in self._hits:
            self._hits_by_line.setdefault(hit.line, []).append(hit)
        self.refresh()

    def _search_again(self) -> None:
        self._current = None
        if self.searched:
            self._find()

    def _go_to(self, number: int) -> None:
        self._current = number
        hit = self._hits[number]
        self._show_row(self._rows.row_of(hit.line, hit.start))
        self.refresh()

    def _show_row(self, row: int) -> None:
        height = max(1, self.scrollable_content_region.height)
        self.scroll_to_region(Region(0, row, 1, 1), animate=False, immediate=True, force=True, center=height > 4)

    # Showing

    def on_resize(self, _: Resize) -> None:
        self._lay_out()

    def _lay_out(self) -> None:
        width = self.scrollable_content_region.width
        self._rows.fold(width if self.wrap else 0)
        widest = min(width, self._rows.longest) if self.wrap else self._rows.longest
        self.virtual_size = Size(widest, len(self._rows))
        self.refresh()

    def selection_updated(self, selection: Selection | None) -> None:
        self.refresh()

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        rows = (self._rows.row(number) for number in range(len(self._rows)))
        shown = "\n".join(self._rows.lines[row.line][row.start : row.end] for row in rows)
        return printable(selection.extract(shown)), "\n"

    def render_lines(self, crop: Region) -> list[Strip]:
        # Working out a style takes longer than drawing a line with it, and one paint needs only a few of them.
        self._styles.clear()
        return super().render_lines(crop)

    def render_line(self, y: int) -> Strip:
        left, top = self.scroll_offset
        width, number = self.scrollable_content_region.width, top + y
        if number >= len(self._rows):
            return Strip.blank(width, self._style_of())
        row = self._rows.row(number)
        start, end = row.start, row.end
        if not self.wrap and end - start > _LONG:
            # Beyond the part in view nothing of a very long line is looked at; characters are at least a cell wide.
            start, end, left = start + left, min(end, start + left + width), 0
            row = Row(row.line, start, end)
        strip = self._strip(row, number)
        strip = strip.crop_extend(left, left + width, self._style_of())
        return strip.apply_offsets(left, number)

    def _strip(self, row: Row, number: int) -> Strip:
        text = self._rows.lines[row.line][row.start : row.end]
        marks = self._marks(row, number)
        segments: list[Segment] = []
        cuts = sorted({0, len(text), *(at for start, end, _ in marks for at in (start, end))})
        for start, end in itertools.pairwise(cuts):
            style = self._style_of()
            for begin, finish, more in marks:
                if begin <= start and end <= finish:
                    style += more
            segments.append(Segment(printable(text[start:end]), style))
        return Strip(segments, cell_len(printable(text)))

    def _marks(self, row: Row, number: int) -> list[tuple[int, int, Style]]:
        """What is styled in a row, later ones over earlier ones, in characters of the row."""
        length = row.end - row.start
        marks: list[tuple[int, int, Style]] = []
        for start, end, name in self._coloured(row):
            begin, finish = max(0, start - row.start), min(length, end - row.start)
            if begin < finish:
                marks.append((begin, finish, self._style_of(f"lines-view--{name}")))
        for hit in self._hits_by_line.get(row.line, ()):
            begin, finish = max(0, hit.start - row.start), min(length, hit.end - row.start)
            if begin < finish:
                current = self._current is not None and self._hits[self._current] is hit
                marks.append((begin, finish, self._style_of(_CURRENT if current else _FOUND)))
        selection = self.text_selection
        if selection is not None and (span := selection.get_span(number)) is not None:
            begin, finish = span[0], length if span[1] == -1 else min(length, span[1])
            if begin < finish:
                marks.append((begin, finish, self.screen.get_component_rich_style("screen--selection")))
        return marks

    def _style_of(self, name: str = "") -> Style:
        if (style := self._styles.get(name)) is None:
            style = self.get_component_rich_style(name, partial=True) if name else self.rich_style
            self._styles[name] = style
        return style

    def _coloured(self, row: Row) -> list[Span]:
        line = self._rows.lines[row.line]
        if len(line) > _LONG:
            part = line[row.start : row.end]
            return [(start + row.start, end + row.start, name) for start, end, name in colour_spans(part, self.kind)]
        if (spans := self._spans.get(row.line)) is None:
            self._spans[row.line] = spans = list(colour_spans(line, self.kind))
        return spans
