"""Real processes: the walkthrough and the demo server as a shell starts them, bounded in time and ended by pid.

Owns starting, reading and ending them, and what must be true of everything that the walkthrough ever prints. It leaves
what is printed for which server to the tests.
"""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from click.testing import CliRunner

from demo.__main__ import main
from server.tokens import DEMO_TOKENS

__all__ = [
    "PATIENCE",
    "Ended",
    "ServerProcess",
    "checked_output",
    "environment",
    "in_process",
    "interruptible",
    "run",
    "serving",
]

ROOT: Final = Path(__file__).resolve().parents[2]
PATIENCE: Final = 20.0
"""Seconds that a process may take; far more than any needs, as the machine may be busy."""


@dataclass(frozen=True)
class Ended:
    """A process that ended: its exit code and all it printed, both streams together."""

    code: int
    output: str

    @property
    def lines(self) -> list[str]:
        return self.output.splitlines()

    @property
    def last(self) -> str:
        return self.lines[-1]


def checked_output(output: str) -> str:
    """The output, which whatever happened holds no traceback, no token and no leftover of the event loop."""
    for never in ("Traceback", "Task was destroyed", "was never retrieved", "ResourceWarning", "RuntimeWarning"):
        assert never not in output, output
    for known in DEMO_TOKENS:
        assert known.token not in output
    return output


def environment(**changes: str | None) -> dict[str, str]:
    """This process's environment without what steers colors; None takes a variable out."""
    steering = ("NO_COLOR", "FORCE_COLOR", "COLORTERM", "TERM", "TTY_COMPATIBLE", "TTY_INTERACTIVE", "COLUMNS")
    kept = {name: value for name, value in os.environ.items() if name not in steering}
    wanted = {"TERM": "xterm-256color", "PYTHONDEVMODE": None, **changes}
    return {**kept, **{name: value for name, value in wanted.items() if value is not None}}


def interruptible() -> None:
    """In a new process: SIGINT counts, even where the tests themselves run in the background and are deaf to it."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def run(*arguments: str, env: Mapping[str, str] | None = None, timeout: float = PATIENCE) -> Ended:
    """`python -m demo` with these arguments, to its end."""
    done = subprocess.run(
        [sys.executable, "-m", "demo", *arguments],
        cwd=ROOT,
        env=environment() if env is None else dict(env),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=timeout,
        check=False,
    )
    return Ended(done.returncode, checked_output(done.stdout.decode()))


def in_process(*arguments: str) -> Ended:
    """The same command in this process, where a new one would add nothing but time."""
    done = CliRunner().invoke(main, [*arguments], prog_name="python -m demo")
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return Ended(done.exit_code, checked_output(done.output))


@dataclass(frozen=True)
class ServerProcess:
    """A demo server in a process of its own."""

    url: str
    process: subprocess.Popen[str]

    def kill(self) -> None:
        """At once, as a crash would."""
        self.process.kill()
        self.process.wait(PATIENCE)


@contextmanager
def serving(*arguments: str) -> Iterator[ServerProcess]:
    """`python -m server` on a free port until the block ends."""
    with subprocess.Popen(
        [sys.executable, "-m", "server", "--port", "0", *arguments],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        watchdog = threading.Timer(PATIENCE, process.kill)
        watchdog.start()
        try:
            assert process.stdout is not None
            ready = process.stdout.readline()
            watchdog.cancel()
            assert " ready on http" in ready, ready
            yield ServerProcess(ready.split(" ready on ")[1].split()[0], process)
        finally:
            watchdog.cancel()
            if process.poll() is None:
                process.terminate()
            process.wait(PATIENCE)
