"""One run of the command: the scripted walk, told in the terminal, and where more is asked for, that too.

Owns the order, the pace of a walk and its exit code. It leaves options and signals to `__main__`, playing to `stage`,
every word to the tellers, and surveys and reports to `reported`.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import click
from rich.console import Console

from agent_discovery.host import Credential
from demo.cast import CAST, DEMO_SERVER
from demo.events import Checked, Connected, Event, StepStarted, WalkEnded
from demo.exit_codes import FAILED, HELD, NO_SERVER
from demo.scene import Scene, Wire
from demo.script import SCENES
from demo.stage import Stage
from demo.terminal import Terminal

__all__ = ["Order", "Walked", "run", "walk"]


@dataclass(frozen=True, kw_only=True)
class Order:
    """What is asked for. With `credentials` the server is surveyed; without, the script is played as far as it is ours.

    `scenes` is None where none were named: then a server of another name is surveyed with the demo's tokens.
    """

    url: str
    wire: Literal["auto"] | Wire = "auto"
    timeout: float = 10.0
    scenes: tuple[Scene, ...] | None = None
    interactive: bool = False
    credentials: tuple[Credential, ...] = ()
    clauses: bool = False
    report: Path | None = None
    hidden_name: str | None = None
    call_tools: bool = False

    @property
    def callers(self) -> tuple[Credential, ...]:
        """As whom a survey looks."""
        return self.credentials or tuple(caller.credential for caller in CAST)


@dataclass(frozen=True)
class Walked:
    """How a walk ended: its exit code, and whether the reader left or the server was found not to be ours."""

    code: int
    left: bool = False
    foreign: bool = False


def run(order: Order, console: Console) -> int:
    """Carry the order out; returns the exit code. Interrupting it raises KeyboardInterrupt and writes no report."""
    if not order.credentials and not order.clauses and order.report is None:
        walked = walk(order, Terminal(console).tell)
        if not walked.foreign:
            return walked.code
        from demo.reported import survey_foreign  # a walk of ours does without, and ends a tenth of its time sooner

        return survey_foreign(order, console)
    from demo.reported import run_reported

    return run_reported(order, console)


def walk(order: Order, *tellers: Callable[[Event], None]) -> Walked:
    """Play the scenes and tell each event. `q` at a pause ends the walk early, a server that is not ours at once."""
    failed = 0
    stage = Stage(order.url, wire=order.wire, timeout=order.timeout)
    with asyncio.Runner() as runner:
        events = stage.play(order.scenes or SCENES)
        try:
            while (event := runner.run(_next(events))) is not None:
                if order.interactive and _is_pause(event) and not _may_go_on():
                    return Walked(FAILED if failed else HELD, left=True)
                for tell in tellers:
                    tell(event)
                if order.scenes is None and isinstance(event, Connected) and _is_foreign(event):
                    return Walked(HELD, foreign=True)
                failed += isinstance(event, Checked) and not event.finding.held
                if isinstance(event, WalkEnded):
                    return Walked(_exit_code(event))
        finally:
            runner.run(_end(events, stage))
    return Walked(HELD)


async def _next(events: AsyncGenerator[Event]) -> Event | None:
    return await anext(events, None)


async def _end(events: AsyncGenerator[Event], stage: Stage) -> None:
    await events.aclose()
    await stage.aclose()


def _is_foreign(event: Connected) -> bool:
    return event.opening.has_agents and event.opening.server_info.get("name") != DEMO_SERVER


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
