"""Runs the program in the terminal and leaves the terminal as it was, however it ends.

It owns the log file, what is said after leaving, and the exit code: 0 no check failed, 1 one failed or the
program crashed, 129 the terminal was closed, 130 interrupted, 143 terminated.
"""

import asyncio
import logging
import os
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final, Literal, NoReturn

from demo.plain import printable
from demo.scene import Scene, Wire
from demo.script import SCENES
from demo.tui.app import TuiSettings, WalkthroughApp, build_app
from demo.tui.guardian import Guardian
from demo.tui.places import state_directory

__all__ = ["end_process", "run_tui", "summary"]

CRASHED: Final = 1


def run_tui(
    url: str | None,
    wire: Literal["auto"] | Wire = "auto",
    timeout: float = 10.0,
    scenes: Sequence[Scene] = SCENES,
    explore: bool = False,
    own_server: bool = False,
) -> int:
    """Run until the reader leaves; returns the exit code.

    Args:
        url: the server's endpoint.
        wire: which wire to speak.
        timeout: seconds that one answer may take.
        scenes: the scenes to walk through.
        explore: begin with the explorer.
        own_server: start a demo server for this program instead of looking for one at `url`.
    """
    app = build_app(TuiSettings(None if own_server else url, wire, timeout, explore, tuple(scenes)))
    log = _log_to_a_file()
    guardians: list[Guardian] = []
    try:
        code = asyncio.run(_run(app, guardians.append))
    finally:
        app.stop_server()
        for guardian in guardians:
            guardian.release()
    for line in summary(app, code, log):
        # Where the terminal is gone, as after a hang-up, there is nobody to tell.
        with suppress(OSError):
            print(line)
    with suppress(OSError):
        sys.stdout.flush()
    return code


def end_process(code: int) -> NoReturn:
    """End the process at once, whatever threads are left: one that still loads something, or reads a terminal."""
    with suppress(OSError, ValueError):
        sys.stdout.flush()
    os._exit(code)


async def _run(app: WalkthroughApp, guarded_by: Callable[[Guardian], None]) -> int:
    with Guardian(app.leave, sys.__stdin__.fileno() if sys.__stdin__ is not None else None) as guardian:
        guarded_by(guardian)
        await app.run_async()
    return CRASHED if app.crash_log is not None else app.return_code or 0


def summary(app: WalkthroughApp, code: int, log: Path | None = None) -> list[str]:
    """What is said after leaving: one line, and a second one after a crash."""
    total = app.held_checks + app.failed_checks
    failed = f", {app.failed_checks} failed" if app.failed_checks else ""
    lines = [f"{app.held_checks} of {total} checks held{failed}." if total else "No scene was played to its end."]
    if app.crash_log is not None:
        lines.append(f"The program crashed; what happened is in {app.crash_log}. Exit code {code}.")
    elif code > 128:
        lines[0] += f" Ended by a signal; what was logged is in {log}." if log else " Ended by a signal."
    return [printable(line) for line in lines]


def _log_to_a_file() -> Path | None:
    """Send what libraries log into a file: on the screen it would be drawn over the program."""
    path = state_directory() / "tui.log"
    try:
        handler = logging.FileHandler(path, mode="w", encoding="utf-8", delay=True)
    except OSError:
        logging.getLogger().addHandler(logging.NullHandler())
        return None
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.WARNING)
    return path
