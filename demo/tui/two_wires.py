"""The same question on both wires, side by side, with the lines marked that only one of them has."""

from collections import Counter
from collections.abc import Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.widgets import Static

from demo.plain import printable
from demo.tui.lines_view import LinesView
from demo.tui.records import ExchangeRecord

__all__ = ["TwoWiresPanel", "side_lines", "told_apart"]


def side_lines(record: ExchangeRecord | None, error: Exception | None) -> list[str]:
    """An exchange as it is read from top to bottom; where nothing was sent, why."""
    if record is None:
        return ["nothing was sent", *printable(str(error or "")).splitlines()]
    return [*record.lines_request(), "", *record.lines_answer()]


def told_apart(mine: Sequence[str], other: Sequence[str]) -> list[str]:
    """My lines, those that the other side does not have behind a mark; commas and indent do not count."""
    theirs = Counter(map(_essence, other))
    lines = []
    for line in mine:
        essence = _essence(line)
        same = not essence or theirs[essence] > 0
        theirs[essence] -= same
        lines.append(("  " if same else "≠ ") + line)
    return lines


def _essence(line: str) -> str:
    return line.strip().rstrip(",")


class TwoWiresPanel(Vertical):
    """Two exchanges; the marked lines are where the wires differ."""

    HELP: ClassVar[str] = (
        "The last request, sent on the session wire and on the stateless one. ≠ marks the lines that only one side\n"
        "has: a session's id here, the _meta of each request there. b asks both anew, e goes over to the other wire."
    )

    def compose(self) -> ComposeResult:
        yield Static("b sends the last request on both wires.", id="wires-head", markup=False)
        with Horizontal():
            yield LinesView(kind="http", id="wires-session", wrap=False)
            yield LinesView(kind="http", id="wires-stateless", wrap=False)

    def show(self, title: str, session: Sequence[str], stateless: Sequence[str]) -> None:
        """Show both sides of one question."""
        self.query_one("#wires-head", Static).update(Content(printable(f"{title}: session wire | stateless wire")))
        self.query_one("#wires-session", LinesView).set_lines(told_apart(session, stateless), "http")
        self.query_one("#wires-stateless", LinesView).set_lines(told_apart(stateless, session), "http")
