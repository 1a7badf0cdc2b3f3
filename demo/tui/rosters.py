"""The rosters of two callers side by side, with what one has and the other has not."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Final

from textual import on
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.message import Message
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from demo.cast import Caller
from demo.plain import printable
from demo.tui.plain_text import PlainText

if TYPE_CHECKING:
    from agent_discovery.host import Roster

__all__ = ["RosterColumn", "RostersPanel", "roster_rows"]

_MOST: Final = 1_000
"""Rows that a list shows; a larger roster is better read in the exchange."""


@dataclass(frozen=True)
class RosterColumn:
    """One caller's side: the last roster read, and the seconds for which the cache takes it for fresh."""

    caller: Caller
    roster: "Roster | None" = None
    fresh: float | None = None

    @property
    def heading(self) -> str:
        """Who and how many, then how fresh."""
        if self.roster is None:
            return f"{self.caller.name}\nnot read yet"
        fresh = "not cached" if self.fresh is None else f"fresh for {self.fresh:.0f} s"
        return f"{self.caller.name}: {len(self.roster.agents)}\n{fresh}"


def roster_rows(mine: "Roster | None", other: "Roster | None") -> list[tuple[str, str]]:
    """Mark and name of each agent: `=` the other has the same card, `≠` another card, `◆` none. Unmarked if unknown."""
    rows = []
    for card in mine.agents if mine else ():
        theirs = other.get(card.name) if other else None
        mark = " " if other is None else "◆" if theirs is None else "=" if theirs == card else "≠"
        rows.append((mark, card.name))
    return rows


class RosterList(OptionList):
    """One caller's agents."""

    def __init__(self, id: str) -> None:
        super().__init__(id=id, markup=False)
        self.names: list[str] = []
        self._rows: list[tuple[str, str]] = []

    def show(self, rows: Sequence[tuple[str, str]]) -> None:
        """Show these rows and stay at the name where the reader was."""
        if list(rows) == self._rows:
            return
        at = self.names[self.highlighted] if self.highlighted is not None and self.names else None
        self._rows = list(rows)
        self.names = [name for _, name in rows[:_MOST]]
        self.clear_options()
        self.add_options(Option(Content(printable(f"{mark} {name}"))) for mark, name in rows[:_MOST])
        if len(rows) > _MOST:
            self.add_option(Option(Content(f"and {len(rows) - _MOST} more"), disabled=True))
        if self.names:
            self.highlighted = self.names.index(at) if at in self.names else 0


class RostersPanel(Vertical):
    """Both rosters; Enter opens the agent as the caller whose list it stands in."""

    HELP: ClassVar[str] = (
        "What each caller sees. ◆ marks an agent that only this caller sees, ≠ a card that differs, = the same card.\n"
        "Enter opens the agent as the caller whose list it is in; l asks the server for both rosters anew. The\n"
        "seconds say for how long the cache still takes the roster for fresh."
    )

    class Opened(Message):
        """Open this agent as this caller."""

        def __init__(self, caller: Caller, name: str) -> None:
            self.caller = caller
            self.name = name
            super().__init__()

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self._columns: tuple[RosterColumn, ...] = ()

    def compose(self) -> ComposeResult:
        with Horizontal():
            for side in ("first", "second"):
                with Vertical():
                    yield PlainText(id=f"roster-{side}-head", classes="roster-head")
                    yield RosterList(f"roster-{side}")

    def on_mount(self) -> None:
        self.border_subtitle = "◆ only here  ≠ differs"

    def show(self, first: RosterColumn, second: RosterColumn) -> None:
        """Show these two side by side."""
        self._columns = (first, second)
        for side, mine, other in (("first", first, second), ("second", second, first)):
            self.query_one(f"#roster-{side}-head", PlainText).show(printable(mine.heading))
            self.query_one(f"#roster-{side}", RosterList).show(roster_rows(mine.roster, other.roster))

    @on(OptionList.OptionSelected)
    def _chosen(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        listed = event.option_list
        if isinstance(listed, RosterList) and self._columns and event.option_index < len(listed.names):
            column = self._columns[0 if listed.id == "roster-first" else 1]
            self.post_message(self.Opened(column.caller, listed.names[event.option_index]))
