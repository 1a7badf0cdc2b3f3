"""A run of which more is wanted than the walk: a survey of the server by the clauses, a report in a file, or both.

Owns which of them an order asks for, and the exit code of the whole. It leaves looking to `clauses`, the walk to
`runs`, and every word to the tellers.
"""

import asyncio
from dataclasses import replace

from rich.console import Console

from agent_discovery.host import HostError
from demo.cast import CAST
from demo.clauses import CallerRefused, Fault, Survey, survey
from demo.clauses.telling import ClauseTeller
from demo.exit_codes import FAILED, HELD, NO_SERVER, USAGE
from demo.masking import Mask
from demo.plain import one_line
from demo.report import Report, surveyed_scenes, write_report
from demo.runs import Order, walk
from demo.terminal import Terminal, why
from demo.walk_report import WalkTaker

__all__ = ["run_reported", "survey_foreign"]


def run_reported(order: Order, console: Console) -> int:
    """Survey, or walk and then survey where the clauses are wanted, and write the report; returns the exit code."""
    mask = Mask(credential.token for credential in order.callers)
    report = _survey(order, console, mask, whole=True) if order.credentials else _walk(order, console, mask)
    if order.report is None:
        return report.exit_code
    try:
        write_report(report, order.report, mask)
    except OSError as problem:
        _say(console, f"error: the report cannot be written to {order.report}: {problem.strerror}; give another file")
        return USAGE
    _say(console, f"Report: {order.report}")
    return report.exit_code


def survey_foreign(order: Order, console: Console) -> int:
    """Survey the server that the walk turned away from, as it is not ours; returns the exit code."""
    return _foreign(order, console, Mask(credential.token for credential in order.callers)).exit_code


def _foreign(order: Order, console: Console, mask: Mask) -> Report:
    _say(console, "")
    _say(console, "This is not the demo server, so its own scenes are played, as far as they apply.")
    return _survey(order, console, mask, whole=True)


def _walk(order: Order, console: Console, mask: Mask) -> Report:
    taker = WalkTaker()
    walked = walk(order, Terminal(console).tell, taker.take)
    if walked.foreign:
        return _foreign(order, console, mask)
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


def _say(console: Console, text: str) -> None:
    console.print(text, soft_wrap=True)
