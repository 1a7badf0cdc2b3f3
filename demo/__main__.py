"""The walkthrough's command line: `python -m demo`.

Owns the options, the choice of the server, the pace (Enter, q, Ctrl-C) and the exit code: 0 all checks held, 1 a check
failed, 2 wrong usage, 3 the server cannot be reached or does not offer the extension, 130 interrupted.
"""

import gc
import io
import logging
import os
import signal
import socket
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

import click
from rich.console import Console

from agent_discovery.host import Credential
from demo.cast import DEFAULT_URL
from demo.exit_codes import INTERRUPTED, NO_SERVER
from demo.options import SceneRange, agent_name, checked_url, credentials, finite, print_version, report_file
from demo.output import written_output
from demo.scene import Scene
from demo.script import SCENES

__all__ = ["main"]

TOKEN_VARIABLE = "MCP_TOKEN"


class _NoServer(Exception):
    """There is no server to walk through; the text says what to do."""


@click.command(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.option(
    "--url",
    callback=checked_url,
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
@click.option("--scene", "scenes", type=SceneRange(), default=None, help="Play only these scenes.")
@click.option(
    "--token",
    "tokens",
    multiple=True,
    metavar="[LABEL=]TOKEN",
    callback=credentials,
    help="With --url: check any server as this caller; once for each. Else the variable MCP_TOKEN, split at spaces.",
)
@click.option("--clauses", is_flag=True, help="After the walk, say of each clause of the drafts whether it holds.")
@click.option(
    "--report",
    type=click.Path(dir_okay=False, path_type=Path),
    callback=report_file,
    metavar="FILE.json|FILE.xml",
    help="Write what was found as JSON or as JUnit XML.",
)
@click.option("--hidden-name", metavar="NAME", callback=agent_name, help="An agent that the first caller must not see.")
@click.option("--call-tools", is_flag=True, help="Call an agent's tools even where none says that it is read-only.")
@click.option(
    "--timeout",
    type=click.FloatRange(min=0, min_open=True),
    default=10.0,
    show_default=True,
    metavar="SECONDS",
    callback=finite,
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
    "--version", is_flag=True, is_eager=True, expose_value=False, callback=print_version, help="Print the version."
)
def main(
    url: str | None,
    wire: Literal["auto", "session", "stateless"],
    non_interactive: bool,
    tui: bool,
    explore: bool,
    scenes: tuple[Scene, ...] | None,
    tokens: tuple[Credential, ...],
    clauses: bool,
    report: Path | None,
    hidden_name: str | None,
    call_tools: bool,
    timeout: float,
    color: str,
    doc: Literal["md", "mermaid", "json"] | None,
    out: Path | None,
    check: bool,
) -> None:
    """Walk through MCP agent discovery in seven scenes, against a real server; or check another server by its clauses.

    Exit code: 0 all checks held, 1 a check failed, 2 wrong usage, 3 no server that offers the extension, 130
    interrupted.
    """
    if doc is None and (out is not None or check):
        raise click.UsageError("--out and --check go with --doc md, --doc mermaid or --doc json")
    fills_terminal = (tui or explore) and not non_interactive
    if fills_terminal or doc is not None:
        _only_for_walks(token=tokens, clauses=clauses, report=report, hidden_name=hidden_name, call_tools=call_tools)
    if doc is not None:
        from demo.documents import write_or_check  # documents need Jinja, playing does not

        sys.exit(write_or_check(doc, wire="session" if wire == "auto" else wire, out=out, check=check))
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # a server may send what this terminal cannot show
    console = _console(color)
    if fills_terminal:
        try:
            _tui(url, wire, timeout, scenes, explore, color)
        except KeyboardInterrupt:  # before the program takes the terminal, and with it ^c
            _say(console, "Interrupted.")
            sys.exit(INTERRUPTED)
    if url is None and not clauses and (hidden_name is not None or call_tools):
        option = "--call-tools" if hidden_name is None else "--hidden-name"
        raise click.UsageError(f"{option} goes with --url or --clauses: the script's own scenes have no use for it")
    callers = _callers(url, tokens, scenes)
    from demo.runs import Order, run  # the program that fills the terminal has no use for it

    try:
        with _ending_on_signals(), _server(url, console) as chosen:
            order = Order(
                url=chosen,
                wire=wire,
                timeout=timeout,
                scenes=scenes,
                interactive=not non_interactive and _at_a_terminal(),
                credentials=callers,
                clauses=clauses,
                report=report,
                hidden_name=hidden_name,
                call_tools=call_tools,
            )
            sys.exit(run(order, console))
    except KeyboardInterrupt:
        _say(console, "Interrupted.")
        sys.exit(INTERRUPTED)
    except _NoServer as problem:
        _say(console, f"error: {problem}")
        sys.exit(NO_SERVER)


def _only_for_walks(**given: object) -> None:
    """Refuse options that nothing would come of."""
    for name, value in given.items():
        if value:
            option = name.replace("_", "-")
            raise click.UsageError(f"--{option} goes with the plain walk: leave out --tui, --explore and --doc")


def _callers(
    url: str | None, tokens: tuple[Credential, ...], scenes: tuple[Scene, ...] | None
) -> tuple[Credential, ...]:
    """As whom to check a server that is not ours; empty where the script is to be played."""
    if tokens and url is None:
        raise click.UsageError("--token goes with --url: name the server that the token is for")
    if tokens and scenes is not None:
        raise click.UsageError("--scene picks from the script and --token checks any server: give one of the two")
    if tokens or url is None or scenes is not None:
        return tokens
    try:
        return credentials(
            click.get_current_context(), click.Option(["--token"]), os.environ.get(TOKEN_VARIABLE, "").split()
        )
    except click.BadParameter as problem:
        raise click.UsageError(f"in {TOKEN_VARIABLE}: {problem.message}") from None


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
    gc.disable()  # until the first paint: all that starting makes stays, and looking for garbage in it is in vain
    from demo.tui.run import end_process, run_tui  # Textual is loaded only when it is asked for

    own_server = url is None and not _somebody_listens(DEFAULT_URL)
    end_process(run_tui(url or DEFAULT_URL, wire, timeout, scenes or SCENES, explore, own_server))


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

        # What its SDK warns of, such as a bad Origin, is what the walk asks on purpose; `just serve` still says it.
        logging.getLogger("mcp").setLevel(logging.ERROR)
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


def _at_a_terminal() -> bool:
    return all(stream is not None and stream.isatty() for stream in (sys.stdin, sys.stdout))  # None where it is closed


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
    with written_output():
        main(prog_name="python -m demo")
