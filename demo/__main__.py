"""The walkthrough's command line: `python -m demo`.

Owns the options, the choice of the server, the pace (Enter, q, Ctrl-C) and the exit code: 0 all checks held, 1 a check
failed, 2 wrong usage, 3 the server cannot be reached or does not offer the extension, 130 interrupted.
"""

import asyncio
import io
import math
import os
import re
import signal
import socket
import sys
import tomllib
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Final, Literal
from urllib.parse import urlsplit

import click
from rich.console import Console

from demo.events import Checked, Event, StepStarted, WalkEnded
from demo.scene import Scene
from demo.script import SCENES
from demo.stage import Stage
from demo.terminal import Terminal

ROOT: Final = Path(__file__).resolve().parent.parent
DEFAULT_URL: Final = "http://127.0.0.1:8080/mcp"
HELD, FAILED, USAGE, NO_SERVER, INTERRUPTED = 0, 1, 2, 3, 130


class _NoServer(Exception):
    """There is no server to walk through; the text says what to do."""


class _SceneRange(click.ParamType[tuple[Scene, ...]]):
    """`3` or `2-5`: scenes by number."""

    name = "N[-M]"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[Scene, ...]:
        match = re.fullmatch(r"(\d{1,2})(?:-(\d{1,2}))?", str(value))
        first, last = (int(match[1]), int(match[2] or match[1])) if match else (0, 0)
        chosen = tuple(scene for scene in SCENES if first <= scene.number <= last)
        if not chosen or first < 1 or last > len(SCENES):
            self.fail(
                f"{value!r} names no scenes: give a number from 1 to {len(SCENES)}, or a range such as 2-5", param, ctx
            )
        return chosen


def _url(_: click.Context, __: click.Parameter, value: str | None) -> str | None:
    if value is None:
        return None
    try:
        parts = urlsplit(value)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0 and value.isprintable()
    except ValueError:  # a bracket without its pair, a port that is none
        usable = False
    if not usable:
        raise click.BadParameter(f"{value!r} is no web address: give it as {DEFAULT_URL}")
    if parts.username is not None:
        raise click.BadParameter("the address must not hold a user name or password: the walkthrough has its tokens")
    return value


def _seconds(_: click.Context, __: click.Parameter, value: float) -> float:
    if not math.isfinite(value):
        raise click.BadParameter(f"{value} is no number of seconds: give e.g. 10")
    return value


def _print_version(ctx: click.Context, _: click.Parameter, wanted: bool) -> None:
    if wanted and not ctx.resilient_parsing:
        click.echo(tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"])
        ctx.exit()


@click.command(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.option(
    "--url",
    callback=_url,
    help=f"The server's MCP endpoint. Without it: {DEFAULT_URL}, or a server of the walkthrough's own.",
)
@click.option(
    "--wire",
    type=click.Choice(["auto", "session", "stateless"]),
    default="auto",
    show_default=True,
    help="session (2025-11-25), stateless (2026-07-28), or whichever the server has, session first.",
)
@click.option(
    "--non-interactive",
    is_flag=True,
    help="No pauses. The default where there is no terminal. Screen readers: this tells everything as plain text.",
)
@click.option("--tui", is_flag=True, help="Walk and explore in a program that fills the terminal.")
@click.option("--explore", is_flag=True, help="As --tui, beginning with the explorer.")
@click.option("--scene", "scenes", type=_SceneRange(), default=None, help="Play only these scenes.")
@click.option(
    "--timeout",
    type=click.FloatRange(min=0, min_open=True),
    default=10.0,
    show_default=True,
    metavar="SECONDS",
    callback=_seconds,
    help="How long one answer may take.",
)
@click.option(
    "--color",
    type=click.Choice(["auto", "always", "never"]),
    default="auto",
    show_default=True,
    help="auto: where there is a terminal, and NO_COLOR is not set.",
)
@click.option(
    "--doc", type=click.Choice(["md", "mermaid", "json"]), help="Print the script as a document; plays nothing."
)
@click.option("--out", type=click.Path(dir_okay=False, path_type=Path), help="With --doc: write there.")
@click.option(
    "--check", is_flag=True, help="With --doc: compare with --out (md: WALKTHROUGH.md) and exit 1 where it is stale."
)
@click.option(
    "--version", is_flag=True, is_eager=True, expose_value=False, callback=_print_version, help="Print the version."
)
def main(
    url: str | None,
    wire: Literal["auto", "session", "stateless"],
    non_interactive: bool,
    tui: bool,
    explore: bool,
    scenes: tuple[Scene, ...] | None,
    timeout: float,
    color: str,
    doc: Literal["md", "mermaid", "json"] | None,
    out: Path | None,
    check: bool,
) -> None:
    """Walk through MCP agent discovery in seven scenes, against a real server.

    Exit code: 0 all checks held, 1 a check failed, 2 wrong usage, 3 no server that offers the extension, 130
    interrupted.
    """
    if doc is None and (out is not None or check):
        raise click.UsageError("--out and --check go with --doc md, --doc mermaid or --doc json")
    if doc is not None:
        from demo.documents import write_or_check  # documents need Jinja, playing does not

        sys.exit(write_or_check(doc, wire="session" if wire == "auto" else wire, out=out, check=check))
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # a server may send what this terminal cannot show
    console = _console(color)
    if (tui or explore) and not non_interactive:
        _tui(url, wire, timeout, scenes, explore, color)
    interactive = not non_interactive and sys.stdin.isatty() and sys.stdout.isatty()
    try:
        with _ending_on_signals(), _server(url, console) as chosen:
            stage = Stage(chosen, wire=wire, timeout=timeout)
            sys.exit(_walk(stage, scenes or SCENES, Terminal(console), interactive))
    except KeyboardInterrupt:
        _say(console, "Interrupted.")
        sys.exit(INTERRUPTED)
    except _NoServer as problem:
        _say(console, f"error: {problem}")
        sys.exit(NO_SERVER)
    except BrokenPipeError:
        # Whoever read the output has left; nothing more can be said there, not even by the interpreter at its exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(FAILED)


def _tui(
    url: str | None,
    wire: Literal["auto", "session", "stateless"],
    timeout: float,
    scenes: tuple[Scene, ...] | None,
    explore: bool,
    color: str,
) -> None:
    """Runs the program that fills the terminal and exits. Where it cannot run, says so in one line and returns."""
    from demo.tui.fit import why_not

    if (reason := why_not()) is not None:
        click.echo(reason, err=True)
        return
    if color == "never":
        os.environ["NO_COLOR"] = "1"
    from demo.tui.run import run_tui  # Textual is loaded only when it is asked for

    own_server = url is None and not _somebody_listens(DEFAULT_URL)
    sys.exit(run_tui(url or DEFAULT_URL, wire, timeout, scenes or SCENES, explore, own_server))


def _walk(stage: Stage, scenes: Sequence[Scene], terminal: Terminal, interactive: bool) -> int:
    """Plays the scenes and tells them; returns the exit code. `q` at a pause ends the walk early."""
    failed = 0
    with asyncio.Runner() as runner:
        events = stage.play(scenes)
        try:
            while (event := runner.run(_next(events))) is not None:
                if interactive and _is_pause(event) and not _may_go_on():
                    return FAILED if failed else HELD
                terminal.tell(event)
                failed += isinstance(event, Checked) and not event.finding.held
                if isinstance(event, WalkEnded):
                    return _exit_code(event)
        finally:
            runner.run(_end(events, stage))
    return HELD


async def _next(events: AsyncGenerator[Event]) -> Event | None:
    return await anext(events, None)


async def _end(events: AsyncGenerator[Event], stage: Stage) -> None:
    await events.aclose()
    await stage.aclose()


def _exit_code(ended: WalkEnded) -> int:
    if ended.stopped is not None:
        return NO_SERVER
    return FAILED if ended.failed else HELD


def _is_pause(event: Event) -> bool:
    return isinstance(event, StepStarted) and event.pause


def _may_go_on() -> bool:
    """Waits for a key. Enter, space or any other key goes on; q ends the walk; Ctrl-C interrupts it."""
    click.echo("   [Enter next, q quit] ", nl=False)
    try:
        key = click.getchar()
    except EOFError:  # Ctrl-D
        return False
    finally:
        click.echo("\r" + " " * 24 + "\r", nl=False)
    return key not in ("q", "Q", "")  # empty: whoever had the terminal has left


@contextmanager
def _ending_on_signals() -> Iterator[None]:
    """While the block runs, SIGTERM and SIGHUP end the walk as Ctrl-C does: the server is put back as it was."""
    if signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield  # a job in the background, deaf to Ctrl-C: whoever started it so has ways of their own
        return
    numbers = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
    replaced = [number for number in numbers if signal.getsignal(number) is signal.SIG_DFL]
    for number in replaced:
        # Through SIGINT, as asyncio has its own way to end what is under way on that one.
        signal.signal(number, lambda *_: signal.raise_signal(signal.SIGINT))
    try:
        yield
    finally:
        for number in replaced:
            signal.signal(number, signal.SIG_DFL)


@contextmanager
def _server(url: str | None, console: Console) -> Iterator[str]:
    """The endpoint to walk through: the one asked for, the default one, or one started for this walk."""
    if url is not None:
        yield url
    elif _somebody_listens(DEFAULT_URL):
        yield DEFAULT_URL
    else:
        _say(console, f"Nobody answers at {DEFAULT_URL}: starting a demo server for this walk.")
        from server.embedded import ServerFailed, running_server  # costs a second; not needed where a server is up

        with ExitStack() as stack:
            try:
                running = stack.enter_context(running_server())
            except (OSError, ServerFailed) as problem:
                raise _NoServer(f"no demo server could be started ({problem}); name a running one with --url") from None
            yield running.url


def _somebody_listens(url: str) -> bool:
    parts = urlsplit(url)
    try:
        socket.create_connection((str(parts.hostname), parts.port or 80), timeout=1).close()
    except OSError:
        return False
    return True


def _console(color: str) -> Console:
    # "standard" has the colors that are used here; "auto" finds none where TERM is "dumb" or there is no terminal.
    systems: Mapping[str, Literal["auto", "standard"] | None] = {"auto": "auto", "always": "standard", "never": None}
    return Console(
        force_terminal=True if color == "always" else None,
        no_color={"auto": None, "always": False, "never": True}[color],
        color_system=systems[color],
        highlight=False,
        markup=False,
        emoji=False,
    )


def _say(console: Console, text: str) -> None:
    console.print(text, soft_wrap=True)


if __name__ == "__main__":
    main(prog_name="python -m demo")
