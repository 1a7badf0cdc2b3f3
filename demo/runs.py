"""One run of the command: the scripted walk or a survey of another server, told in the terminal and put into a report.

Owns which of the two it is, the pace of a walk and the exit code. It leaves options and signals to `__main__`, playing
to `stage`, looking to `clauses`, and every word to the tellers.
"""

import asyncio
from collections.abc import AsyncGenerator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import click
from rich.console import Console

from agent_discovery.host import Credential, HostError
from demo.cast import CAST, DEMO_SERVER
from demo.clauses import CallerRefused, Fault, Survey, survey
from demo.clauses.telling import ClauseTeller
from demo.events import Checked, Connected, Event, StepStarted, WalkEnded
from demo.exit_codes import FAILED, HELD, NO_SERVER, USAGE
from demo.masking import Mask
from demo.plain import one_line
from demo.report import Report, surveyed_scenes, write_report
from demo.scene import Scene, Wire
from demo.script import SCENES
from demo.stage import Stage
from demo.terminal import Terminal, why
from demo.walk_report import WalkTaker

__all__ = ["Order", "run"]


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
class _Walked:
    """How a walk ended: its exit code, and whether the reader left or the server was found not to be ours."""

    code: int
    left: bool = False
    foreign: bool = False


def run(order: Order, console: Console) -> int:
    """Carry the order out; returns the exit code. Interrupting it raises KeyboardInterrupt and writes no report."""
    mask = Mask(credential.token for credential in order.callers)
    report = _survey(order, console, mask, whole=True) if order.credentials else _walk_report(order, console, mask)
    if order.report is None:
        return report.exit_code
    try:
        write_report(report, order.report, mask)
    except OSError as problem:
        _say(console, f"error: the report cannot be written to {order.report}: {problem.strerror}; give another file")
        return USAGE
    _say(console, f"Report: {order.report}")
    return report.exit_code


def _walk_report(order: Order, console: Console, mask: Mask) -> Report:
    taker = WalkTaker()
    walked = _walk(order, Terminal(console), taker)
    if walked.foreign:
        _say(console, "")
        _say(console, "This is not the demo server, so its own scenes are played, as far as they apply.")
        return _survey(order, console, mask, whole=True)
    report = Report(
        url=order.url,
        exit_code=walked.code,
        scenes=taker.scenes,
        faults=tuple(taker.faults),
        callers=tuple(caller.name for caller in CAST),
    )
    if taker.connected is not None:
        opening = taker.connected.opening
        report = replace(
            report, wire=opening.wire, protocol_version=opening.protocol_version, server=opening.server_info
        )
    if not order.clauses or walked.left or walked.code == NO_SERVER:
        return report
    looked = _survey(order, console, mask, whole=False)
    return replace(
        report,
        exit_code=max(report.exit_code, looked.exit_code),
        verdicts=looked.verdicts,
        faults=(*report.faults, *looked.faults),
    )


def _survey(order: Order, console: Console, mask: Mask, *, whole: bool) -> Report:
    """Survey the server and tell of it; `whole`: its scenes too, not only the clauses."""
    try:
        found: Survey = asyncio.run(
            survey(
                order.url,
                order.callers,
                wire=order.wire,
                timeout=order.timeout,
                hidden_name=order.hidden_name,
                call_tools=order.call_tools,
            )
        )
    except (HostError, CallerRefused) as problem:
        text = mask.text(one_line(str(problem) if isinstance(problem, CallerRefused) else why(problem), 600))
        _say(console, f"error: {text}")
        return Report(url=order.url, exit_code=NO_SERVER, faults=(Fault(text),))
    teller = ClauseTeller(console, mask)
    if whole:
        teller.scenes(found)
    teller.clauses(found)
    return Report(
        url=found.url,
        exit_code=FAILED if found.failed else HELD,
        wire=found.wire,
        protocol_version=found.protocol_version,
        server=found.server,
        callers=found.callers,
        scenes=surveyed_scenes(found) if whole else (),
        verdicts=found.verdicts,
        faults=found.faults,
    )


def _walk(order: Order, terminal: Terminal, taker: WalkTaker) -> _Walked:
    """Plays the scenes and tells them. `q` at a pause ends the walk early."""
    failed = 0
    stage = Stage(order.url, wire=order.wire, timeout=order.timeout)
    with asyncio.Runner() as runner:
        events = stage.play(order.scenes or SCENES)
        try:
            while (event := runner.run(_next(events))) is not None:
                if order.interactive and _is_pause(event) and not _may_go_on():
                    return _Walked(FAILED if failed else HELD, left=True)
                terminal.tell(event)
                taker.take(event)
                if order.scenes is None and isinstance(event, Connected) and _is_foreign(event):
                    return _Walked(HELD, foreign=True)
                failed += isinstance(event, Checked) and not event.finding.held
                if isinstance(event, WalkEnded):
                    return _Walked(_exit_code(event))
        finally:
            runner.run(_end(events, stage))
    return _Walked(HELD)


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


def _say(console: Console, text: str) -> None:
    console.print(text, soft_wrap=True)
