"""The documents' command line, `python -m demo.documents`: plays, records, renders, and checks what is committed.

Owns the files: where recordings, templates and WALKTHROUGH.md are, when they are written, and how a stale one is
reported. Exit codes: 0 fresh or written, 1 stale or not to be made, 2 wrong usage.
"""

import asyncio
import difflib
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

import click
import jinja2

from demo.cast import CAST
from demo.output import written_output
from demo.recorder import Recorder, UnusableWalk
from demo.recording import Recording, UnusableRecording
from demo.render import WIRES, Play, RosterRow, diagram, script_json, walkthrough
from demo.scene import Wire
from demo.script import CLOSING, SCENES
from demo.stage import Stage

__all__ = ["MEND", "PLACES", "Places", "play_both", "record", "refresh", "roster_rows", "write_or_check"]

MEND: Final = "just readme"
"""The command that makes every document fresh again."""
FRESH, STALE, USAGE = 0, 1, 2
PLAY: Final = Play(SCENES, CLOSING)


@dataclass(frozen=True)
class Places:
    """Where the documents and what they are made from are kept."""

    root: Path

    @property
    def walkthrough(self) -> Path:
        return self.root / "WALKTHROUGH.md"

    @property
    def templates(self) -> Path:
        return self.root / "templates"

    def recording(self, wire: Wire) -> Path:
        return self.root / "demo" / "recordings" / f"{wire}.json"


PLACES: Final = Places(Path(__file__).resolve().parent.parent)


# Playing


async def record(url: str, wire: Wire) -> Recording:
    """Plays the whole script against the server at `url`; raises `UnusableWalk` where a check fails."""
    recorder = Recorder(wire, url)
    async for event in Stage(url, wire=wire).play(SCENES):
        recorder.take(event)
    return recorder.recording()


def play_both() -> dict[Wire, Recording]:
    """Plays the script on both wires against a demo server started for it."""
    from server.embedded import running_server  # costs a second, and rendering alone does not need it

    with running_server() as running:
        return {wire: asyncio.run(record(running.url, wire)) for wire in WIRES}


def roster_rows() -> tuple[RosterRow, ...]:
    """The demo server's roster as a table: decided by the agents' own access rules, for each of the cast."""
    from server import roster  # costs a second, and only the walkthrough needs it

    agents = (roster.PIPELINE_AGENT, roster.BILLING_AGENT, roster.DEPLOY_AGENT, roster.RELEASE_AGENT)
    return tuple(
        RosterRow(
            agent.name,
            tuple(agent.tools),
            tuple(
                _access(agent.access.sees(scopes), agent.access.missing(scopes))
                for scopes in (frozenset(caller.scopes) for caller in CAST)
            ),
        )
        for agent in agents
    )


def _access(sees: bool, missing: tuple[str, ...]) -> str:
    if not sees:
        return "does not see it"
    return f"sees it, needs {' '.join(missing)} to open it" if missing else "sees and opens it"


# Reading, writing, comparing


def refresh(
    places: Places = PLACES, *, check: bool = False, play: Callable[[], Mapping[Wire, Recording]] = play_both
) -> int:
    """Plays both wires and writes the recordings and WALKTHROUGH.md; with `check` it only compares. An exit code."""
    try:
        recordings = play()
        texts = {places.recording(wire): recording.to_json() for wire, recording in recordings.items()}
        texts[places.walkthrough] = walkthrough(PLAY, recordings, roster_rows(), places.templates)
    except (UnusableWalk, UnusableRecording, jinja2.TemplateError) as problem:
        return _refuse(problem)
    if check:
        return _compare(texts, places.root, MEND)
    for path, text in texts.items():
        try:
            _write(path, text)
        except OSError as problem:
            click.echo(f"Error: cannot write {path}: {problem.strerror}. Make it writable, or use --check.", err=True)
            return USAGE
        click.echo(f"wrote {path.relative_to(places.root)}")
    return FRESH


def write_or_check(
    doc: Literal["md", "mermaid", "json"], *, wire: Wire, out: Path | None, check: bool, places: Places = PLACES
) -> int:
    """Renders one document from the script and the committed recordings; plays nothing.

    Args:
        doc: WALKTHROUGH.md, the sequence diagram of `wire`, or the script as JSON.
        wire: which wire the diagram shows; the other documents hold both.
        out: where to write; None is standard output.
        check: compare with `out` (WALKTHROUGH.md for "md") instead of writing.

    Returns:
        The exit code: 0 written or fresh, 1 stale or not to be made, 2 wrong usage.
    """
    if check and out is None:
        if doc != "md":
            click.echo(f"Error: --doc {doc} --check needs --out FILE, the file to compare with.", err=True)
            return USAGE
        out = places.walkthrough
    try:
        text = _render(doc, wire, places)
    except (UnusableRecording, jinja2.TemplateError) as problem:
        return _refuse(problem)
    if out is None:
        click.echo(text.encode(), nl=False)
        return FRESH
    if check:
        mend = MEND if out == places.walkthrough else f"just demo --doc {doc} --wire {wire} --out {out}"
        return _compare({out: text}, places.root, mend)
    try:
        _write(out, text)
    except OSError as problem:
        click.echo(f"Error: cannot write {out}: {problem.strerror}. Choose another --out.", err=True)
        return USAGE
    return FRESH


def _render(doc: Literal["md", "mermaid", "json"], wire: Wire, places: Places) -> str:
    match doc:
        case "mermaid":
            return diagram(PLAY, wire, places.templates)
        case "json":
            return script_json(PLAY)
        case "md":
            recordings = {wire: _read_recording(places.recording(wire)) for wire in WIRES}
            return walkthrough(PLAY, recordings, roster_rows(), places.templates)


def _read_recording(path: Path) -> Recording:
    try:
        return Recording.from_json(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as problem:
        raise UnusableRecording(f"{path.name} cannot be read ({problem}); run `{MEND}`") from problem
    except UnusableRecording as problem:
        raise UnusableRecording(f"{path.name}: {problem}") from problem


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode())


def _compare(texts: Mapping[Path, str], root: Path, mend: str) -> int:
    """Prints how the files differ from what they should hold, and the command that mends it."""
    stale = [path for path, text in texts.items() if not path.is_file() or path.read_bytes() != text.encode()]
    for path in stale:
        name = str(path.relative_to(root) if path.is_relative_to(root) else path)
        held = path.read_bytes().decode(errors="backslashreplace") if path.is_file() else ""
        for line in difflib.unified_diff(
            held.splitlines(keepends=True), texts[path].splitlines(keepends=True), name, f"{name} (fresh)"
        ):
            click.echo(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n", nl=False)
    if stale:
        click.echo(f"Stale: {', '.join(path.name for path in stale)}. Mend it with: {mend}", err=True)
        return STALE
    click.echo(f"Fresh: {', '.join(path.name for path in texts)}.")
    return FRESH


def _refuse(problem: Exception) -> int:
    where = (
        f" (template {problem.name}, line {problem.lineno})" if isinstance(problem, jinja2.TemplateSyntaxError) else ""
    )
    click.echo(f"Error: no document was made{where}: {problem}", err=True)
    return STALE


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--check", is_flag=True, help="Change nothing; exit 1 with a diff where something is stale.")
def main(check: bool) -> None:
    """Play the script on both wires, record it, and write WALKTHROUGH.md."""
    sys.exit(refresh(check=check))


if __name__ == "__main__":
    with written_output():
        main(prog_name="python -m demo.documents")
