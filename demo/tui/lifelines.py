"""A sequence diagram drawn as text: two lifelines, an arrow for each frame, notes for what the host does by itself.

Pure: rows and a width in, lines out. It owns the drawing; what an arrow says comes with the event (`demo.arrows`), and
what a note says from the plain teller, so that both tell the same. Widths are terminal cells.
"""

import io
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from rich.cells import cell_len, chop_cells
from rich.console import Console

from agent_discovery.host import Frame, RequestFrame
from demo.events import CacheMoved, Connected, Decided, Event, SceneDisturbed, Stopped, Travelled, WalkEnded
from demo.plain import one_line
from demo.terminal import Terminal

__all__ = ["Drawing", "LifelineRow", "draw", "folded", "request_of", "rows_of", "told"]

RowKind = Literal["there", "back", "note"]

CHOSEN: Final = "▶"
"""In the first column of the chosen arrow's lines, so that it is marked without colour too."""
NARROWEST: Final = 24
_MARGIN: Final = 1
_ENDS: Final = ("Host", "Server")


@dataclass(frozen=True)
class LifelineRow:
    """One arrow or note. `frame` is what travelled; a note has none."""

    kind: RowKind
    label: str
    frame: Frame | None = None

    @property
    def request(self) -> RequestFrame | None:
        """The request that this arrow is, or that it answers."""
        return None if self.frame is None else request_of(self.frame)


@dataclass(frozen=True)
class Drawing:
    """The lines, and for each line the row that it belongs to (None for the heads of the lifelines)."""

    lines: tuple[str, ...]
    rows: tuple[int | None, ...]

    def line_of(self, row: int) -> int:
        """The last line of a row: the one with the arrow; 0 where the row is not drawn."""
        return max((line for line, owner in enumerate(self.rows) if owner == row), default=0)


def request_of(frame: Frame) -> RequestFrame:
    """The request that a frame is, or that it came for."""
    return frame if isinstance(frame, RequestFrame) else frame.request


def told(event: Event) -> str:
    """What the plain teller says of an event, without its margin."""
    page = io.StringIO()
    Terminal(Console(file=page, color_system=None, width=10_000)).tell(event)
    return page.getvalue().strip()


def rows_of(events: Iterable[Event]) -> list[LifelineRow]:
    """The arrows and notes of these events, in order."""
    rows: list[LifelineRow] = []
    for event in events:
        match event:
            case Travelled(frame=frame, arrow=arrow):
                kind: RowKind = "there" if arrow.direction == "->>" else "back"
                rows.append(LifelineRow(kind, one_line(arrow.label), frame))
            case Connected() | CacheMoved() | Decided() | SceneDisturbed():
                rows.append(LifelineRow("note", one_line(told(event))))
            case Stopped():
                rows.append(LifelineRow("note", one_line(told(WalkEnded(0, (), event)).rpartition("\n")[2])))
            case _:
                pass
    return rows


def draw(rows: Sequence[LifelineRow], width: int, chosen: int | None = None) -> Drawing:
    """The diagram, `width` cells wide (24 at least), the chosen row marked in its first column."""
    width = max(width, NARROWEST)
    inside = width - _MARGIN - 2
    lines: list[str] = [_heads(width)]
    owners: list[int | None] = [None]
    for number, row in enumerate(rows):
        margin = CHOSEN if number == chosen else " "
        drawn = [f"{margin}{line}" for line in _drawn(row, inside)]
        lines += drawn
        owners += [number] * len(drawn)
    return Drawing(tuple(lines), tuple(owners))


def _heads(width: int) -> str:
    host, server = _ENDS
    return " " + host + " " * (width - _MARGIN - len(host) - len(server)) + server


def _drawn(row: LifelineRow, inside: int) -> list[str]:
    if row.kind == "note":
        first, *others = folded(row.label, inside - 4)
        return [_between(f" · {first}", inside), *(_between(f"   {part}", inside) for part in others)]
    fits = cell_len(row.label) <= inside - 5
    above = [] if fits else [_between(f" {part}", inside) for part in folded(row.label, inside - 2)]
    text = f" {row.label} " if fits else ""
    shaft = inside - cell_len(text) - 2
    if row.kind == "there":
        return [*above, f"│─{text}{'─' * shaft}▶│"]
    return [*above, f"│◀┄{text}{'┄' * shaft}│"]


def _between(text: str, inside: int) -> str:
    return f"│{text}{' ' * (inside - cell_len(text))}│"


def folded(text: str, width: int) -> list[str]:
    """The text in lines of at most `width` cells, broken at its line breaks, and at spaces where there are any."""
    return [line for part in text.split("\n") for line in _folded_line(part, width)]


def _folded_line(text: str, width: int) -> list[str]:
    lines: list[str] = []
    line = ""
    for word in text.split(" "):
        for part in chop_cells(word, width) or [""]:
            joined = f"{line} {part}" if line else part
            if cell_len(joined) <= width:
                line = joined
            else:
                lines.append(line)
                line = part
    return [*lines, line]
