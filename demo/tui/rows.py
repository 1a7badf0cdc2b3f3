"""Lines of text folded into the rows of a pane, and the places where a text is found in them.

Pure: it knows neither colours nor screens. Widths are terminal cells.
"""

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rich.cells import cell_len

__all__ = ["Hit", "Row", "Rows"]


@dataclass(frozen=True, slots=True)
class Row:
    """One row of the pane: this part of that line, in characters."""

    line: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Hit:
    """Where a searched text stands: the line, from and to in characters."""

    line: int
    start: int
    end: int


class Rows:
    """Lines and how they fold at a width. Where nothing has to be folded, folding costs nothing."""

    def __init__(self, lines: Iterable[str] = ()) -> None:
        self.lines: list[str] = []
        self.longest = 0
        """The width of the longest line, in cells."""
        self._width = 0
        self._folded: list[Row] | None = None
        self._firsts: list[int] = []
        self.append(lines)

    def append(self, lines: Iterable[str]) -> None:
        """Add lines at the end."""
        added = [line.expandtabs(4) if "\t" in line else line for line in lines]
        self.lines += added
        self.longest = max(self.longest, max(map(_width, added), default=0))
        self.fold(self._width)

    def fold(self, width: int) -> None:
        """Fold lines that are wider than `width` cells; 0 folds none."""
        self._width = width
        if width <= 0 or self.longest <= width:
            self._folded, self._firsts = None, []
            return
        self._folded, self._firsts = [], []
        for number, line in enumerate(self.lines):
            self._firsts.append(len(self._folded))
            self._folded += _fold(number, line, width)

    def __len__(self) -> int:
        return len(self.lines) if self._folded is None else len(self._folded)

    def row(self, number: int) -> Row:
        """The row at this place from the top; raises IndexError beyond the end."""
        if self._folded is None:
            return Row(number, 0, len(self.lines[number]))
        return self._folded[number]

    def row_of(self, line: int, character: int = 0) -> int:
        """The row in which this character of this line is shown."""
        if self._folded is None:
            return line
        first = self._firsts[line]
        last = self._firsts[line + 1] if line + 1 < len(self._firsts) else len(self._folded)
        starts = [row.start for row in self._folded[first:last]]
        return first + max(0, bisect_right(starts, character) - 1)

    def find(self, text: str, most: int = 10_000) -> Sequence[Hit]:
        """Where `text` stands, without regard to case, `most` places at most, in order."""
        wanted = text.lower()
        found: list[Hit] = []
        if not wanted:
            return found
        for number, line in enumerate(self.lines):
            lowered = line.lower()
            at = lowered.find(wanted)
            while at >= 0 and len(found) < most:
                found.append(Hit(number, at, at + len(wanted)))
                at = lowered.find(wanted, at + len(wanted))
            if len(found) >= most:
                break
        return found


def _width(line: str) -> int:
    return len(line) if line.isascii() else cell_len(line)


def _fold(number: int, line: str, width: int) -> list[Row]:
    if _width(line) <= width:
        return [Row(number, 0, len(line))]
    if line.isascii():
        return [Row(number, at, min(at + width, len(line))) for at in range(0, len(line), width)]
    rows: list[Row] = []
    start = used = 0
    for at, character in enumerate(line):
        cells = cell_len(character)
        if used + cells > width and at > start:
            rows.append(Row(number, start, at))
            start, used = at, 0
        used += cells
    return [*rows, Row(number, start, len(line))]
