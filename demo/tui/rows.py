"""Lines of text folded into the rows of a pane, and the places where a text is found in them.

Pure: it knows neither colours nor screens. Widths are terminal cells.
"""

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate

from rich.cells import cell_len

__all__ = ["Hit", "Row", "Rows", "one_a_row"]


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


def one_a_row(lines: Iterable[str]) -> list[str]:
    """The lines as shown: without tabs, and a line break in one, which a server may put there, begins another."""
    parts = (part for line in lines for part in (line.split("\n") if "\n" in line else (line,)))
    return [part.expandtabs(4) if "\t" in part else part for part in parts]


class Rows:
    """Lines, such as `one_a_row` makes, and how they fold at a width. Where none has to be folded, folding is free."""

    def __init__(self, lines: Iterable[str] = ()) -> None:
        self.lines: list[str] = []
        self.longest = 0
        """The width of the longest line, in cells."""
        self._width = 0
        self._firsts: list[int] = []
        """The first row of each line, while lines are folded; empty while each line is one row."""
        self._count = 0
        self._cuts: dict[int, list[int]] = {}
        """Where the rows of a line begin, for lines that do not fold every `_width` characters."""
        self.append(lines)

    def append(self, lines: Iterable[str]) -> None:
        """Add lines at the end; they are such as `one_a_row` makes."""
        added = list(lines)
        self.lines += added
        self.longest = max(self.longest, max(map(_width, added), default=0))
        self.fold(self._width)

    def fold(self, width: int) -> None:
        """Fold lines that are wider than `width` cells; 0 folds none."""
        self._width = width
        self._firsts, self._cuts, self._count = [], {}, len(self.lines)
        if width <= 0 or self.longest <= width:
            return
        for number, line in enumerate(self.lines):
            if not line.isascii() and cell_len(line) > width:
                self._cuts[number] = _cuts(line, width)
        # A row takes no object of its own until it is shown: a text may have a hundred thousand of them.
        counts = [-(-len(line) // width) if line else 1 for line in self.lines]
        for number, cuts in self._cuts.items():
            counts[number] = len(cuts)
        *self._firsts, self._count = accumulate(counts, initial=0)

    def __len__(self) -> int:
        return self._count

    def row(self, number: int) -> Row:
        """The row at this place from the top; raises IndexError beyond the end."""
        if not 0 <= number < self._count:
            raise IndexError(f"row {number} of {self._count}")
        if not self._firsts:
            return Row(number, 0, len(self.lines[number]))
        line = bisect_right(self._firsts, number) - 1
        within, length = number - self._firsts[line], len(self.lines[line])
        if (cuts := self._cuts.get(line)) is not None:
            return Row(line, cuts[within], cuts[within + 1] if within + 1 < len(cuts) else length)
        return Row(line, within * self._width, min(length, (within + 1) * self._width))

    def row_of(self, line: int, character: int = 0) -> int:
        """The row in which this character of this line is shown."""
        if not self._firsts:
            return line
        if (cuts := self._cuts.get(line)) is not None:
            return self._firsts[line] + bisect_right(cuts, character) - 1
        last = max(0, len(self.lines[line]) - 1)
        return self._firsts[line] + min(character, last) // self._width

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


def _cuts(line: str, width: int) -> list[int]:
    """Where the rows of a line begin that holds characters of two cells or none."""
    cuts, used = [0], 0
    for at, character in enumerate(line):
        cells = cell_len(character)
        if used + cells > width and at > cuts[-1]:
            cuts.append(at)
            used = 0
        used += cells
    return cuts
