"""A real terminal for a process: a pseudo-terminal that keys can be typed into and whose screen can be read.

Owns the terminal and the waiting. POSIX only; it leaves what is typed and expected to the tests.
"""

import fcntl
import os
import pty
import select
import signal
import subprocess
import sys
import termios
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Final

from tests.e2e.processes import PATIENCE, ROOT, Ended, checked_output, environment, interruptible

__all__ = ["InTerminal", "in_terminal"]

_CHUNK: Final = 65_536


class InTerminal:
    """`python -m demo` in a terminal of its own."""

    def __init__(self, process: subprocess.Popen[bytes], screen: int) -> None:
        self.process = process
        self._screen = screen
        self._seen = ""
        self._read_up_to = 0

    def expect(self, text: str) -> None:
        """Wait until this text appears after all that was waited for before."""
        until = time.monotonic() + PATIENCE
        while (at := self._seen.find(text, self._read_up_to)) < 0:
            assert self._more(until), f"{text!r} did not appear; so far:\n{self._seen}"
        self._read_up_to = at + len(text)

    def prompted(self, prompt: str) -> None:
        """Wait for the prompt, and until keys count: a terminal drops what is typed while its mode changes."""
        self.expect(prompt)
        until = time.monotonic() + PATIENCE
        while termios.tcgetattr(self._screen)[3] & termios.ICANON:
            assert time.monotonic() < until, "nobody waits for a key"
            select.select([], [], [], 0.005)

    def type(self, keys: str) -> None:
        os.write(self._screen, keys.encode())

    def signal(self, number: signal.Signals) -> None:
        self.process.send_signal(number)

    def end(self) -> Ended:
        """Wait until the process ends; what it printed, with the terminal's line ends made plain."""
        until = time.monotonic() + PATIENCE
        while self._more(until):
            pass
        return Ended(self.process.wait(PATIENCE), checked_output(self._seen.replace("\r\n", "\n")))

    def _more(self, until: float) -> bool:
        """Read on; False at the end."""
        ready, _, _ = select.select([self._screen], [], [], max(0.0, until - time.monotonic()))
        assert ready, f"nothing came for too long; so far:\n{self._seen}"
        try:
            read = os.read(self._screen, _CHUNK)
        except OSError:  # Linux: the last process that had the terminal has ended
            return False
        self._seen += read.decode(errors="replace")
        return bool(read)


@contextmanager
def in_terminal(*arguments: str, env: Mapping[str, str] | None = None) -> Iterator[InTerminal]:
    """Start it; whatever happens, no process of it is left after the block."""
    screen, terminal = pty.openpty()

    def own_the_terminal() -> None:
        interruptible()
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)

    process = subprocess.Popen(
        [sys.executable, "-m", "demo", *arguments],
        cwd=ROOT,
        env=dict(env) if env is not None else environment(),
        stdin=terminal,
        stdout=terminal,
        stderr=terminal,
        start_new_session=True,
        preexec_fn=own_the_terminal,  # noqa: PLW1509 - between fork and exec, and it starts no thread
    )
    os.close(terminal)
    try:
        yield InTerminal(process, screen)
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait(PATIENCE)
        os.close(screen)
