"""Tells a survey in the terminal: the scenes that could be played, then every clause, then what it comes to.

Lines of text only; nothing that a server sent is ever markup.
"""

from collections.abc import Iterator
from typing import Final

from rich.console import Console
from rich.text import Text

from demo.clauses.line import Seen
from demo.clauses.survey import Survey
from demo.clauses.verdicts import Verdict
from demo.masking import Mask
from demo.plain import one_line

__all__ = ["ClauseTeller"]

_STYLES: Final = {"held": "bold green", "broken": "bold red", "not exercised": "yellow", "own": "dim"}
_WIDTH: Final = 600


class ClauseTeller:
    """Prints a survey to a rich console, without the secrets that the mask knows."""

    def __init__(self, console: Console, mask: Mask) -> None:
        self._console = console
        self._mask = mask

    def scenes(self, found: Survey) -> None:
        """The scenes, one after the other."""
        self._line(f"Server: {found.url}")
        name, version = str(found.server.get("name", "unnamed")), str(found.server.get("version", ""))
        self._line(f"   {name} {version}, on the {found.wire} wire, protocol {found.protocol_version}", "dim")
        self._line(f"   looked at as {', '.join(found.callers)}", "dim")
        for scene in found.scenes:
            self._line("")
            self._line(f"{scene.number}. {scene.title}", "bold")
            if scene.applies:
                self._line(f"   {scene.text}")
                self._exchanges(scene.shown)
            else:
                self._line(f"   not applicable: {scene.text}", "yellow")

    def clauses(self, found: Survey) -> None:
        """Every clause with what became of it, the faults, and the sum."""
        self._line("")
        self._line("The clauses", "bold")
        for verdict in found.verdicts:
            self._verdict(verdict)
        for fault in found.faults:
            self._line("")
            self._line(f"   fault: {fault.text}", "bold red")
            self._exchanges(fault.shown)
        self._line("")
        for line in _summed(found):
            self._line(line, "bold red" if line.startswith(("Broken", "Fault")) else "bold")

    def _verdict(self, verdict: Verdict) -> None:
        entry = verdict.clause
        self._line("")
        mark = "warning: broken" if verdict.warns else verdict.outcome
        style = "bold yellow" if verdict.warns else _STYLES[verdict.outcome]
        self._line(f"   {mark:<13} {entry.id} {entry.strength}: {entry.text}", style)
        self._line(f"      {verdict.text}")
        self._exchanges(verdict.shown)

    def _exchanges(self, shown: tuple[Seen, ...]) -> None:
        for seen in shown:
            self._line(f"      {seen.asked}", "dim")
            self._line(f"         -> {seen.answered}", "dim")

    def _line(self, text: str, style: str = "") -> None:
        shown = one_line(self._mask.text(text), _WIDTH)
        if self._console.color_system is None:
            self._console.file.write(f"{shown}\n")
        else:
            self._console.print(Text(shown, style=style), soft_wrap=True)


def _summed(found: Survey) -> Iterator[str]:
    for verdict in found.verdicts:
        if verdict.fails:
            yield f"Broken: {verdict.clause.id} {verdict.clause.strength}: {verdict.text}"
    for fault in found.faults:
        yield f"Fault: {fault.text}"
    counts = {name: sum(verdict.outcome == name for verdict in found.verdicts) for name in _STYLES}
    warned = [verdict.clause.id for verdict in found.verdicts if verdict.warns]
    warning = f" (of these only warned of: {', '.join(warned)})" if warned else ""
    yield (
        f"{counts['held']} clauses held, {counts['broken']} broken{warning}, {counts['not exercised']} not exercised; "
        f"{counts['own']} are shown by this project's tests."
    )
