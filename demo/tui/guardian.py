"""Sees to it that the program ends when a signal or the end of its terminal says so.

Textual writes through a thread that dies with the terminal; whoever writes next then waits for ever, the event loop
with it. So the end is asked for from outside the loop, and made certain after a while.
"""

import asyncio
import os
import select
import signal
import threading
from collections.abc import Callable
from types import FrameType
from typing import Final

__all__ = ["Guardian", "resume_only_what_was_suspended"]

GRACE_SECONDS: Final = 8.0
"""For putting a server back, saying goodbye and restoring the terminal; all of it is bounded by less."""
_POLL_MILLISECONDS: Final = 500
_SIGNALS: Final = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGHUP", "SIGINT") if hasattr(signal, name))
_HANGUP: Final = 128 + int(getattr(signal, "SIGHUP", 1))


class Guardian:
    """Use it as a context manager in the main thread, inside the running loop.

    Args:
        leave: asks the program to end with an exit code; called on the loop.
        terminal: the file descriptor of the terminal, or None where none is to be watched.
    """

    def __init__(self, leave: Callable[[int], object], terminal: int | None) -> None:
        self._leave = leave
        self._terminal = terminal
        self._loop = asyncio.get_running_loop()
        self._over = threading.Event()
        self._last_resort: threading.Timer | None = None
        self._replaced: dict[int, signal.Handlers | int | Callable[[int, FrameType | None], object] | None] = {}

    def __enter__(self) -> "Guardian":
        for number in _SIGNALS:
            # Not the loop's own handlers: those wait for the loop, which may be the one that hangs.
            self._replaced[number] = signal.signal(number, lambda got, _frame: self.end(128 + got))
        if self._terminal is not None and hasattr(select, "poll"):
            threading.Thread(target=self._watch, args=(self._terminal,), name="terminal-watch", daemon=True).start()
        return self

    def __exit__(self, *_exc: object) -> None:
        self._over.set()
        for number, handler in self._replaced.items():
            signal.signal(number, handler)

    def end(self, code: int) -> None:
        """Ask the program to leave, and end it in any case after a while. Only the first call counts."""
        if self._last_resort is not None:
            return
        self._last_resort = threading.Timer(GRACE_SECONDS, os._exit, [code])
        self._last_resort.daemon = True
        self._last_resort.start()
        self._loop.call_soon_threadsafe(self._leave, code)

    def release(self) -> None:
        """The program has ended by itself: nothing is left to make certain."""
        if self._last_resort is not None:
            self._last_resort.cancel()

    def _watch(self, terminal: int) -> None:
        poll = select.poll()
        poll.register(terminal, 0)  # a hang-up is told unasked, and what is typed is not for here
        while not self._over.is_set():
            for _, event in poll.poll(_POLL_MILLISECONDS):
                if event & (select.POLLHUP | select.POLLERR | select.POLLNVAL) and not self._over.is_set():
                    self.end(_HANGUP)
                    return


def resume_only_what_was_suspended() -> None:
    """From now on a SIGCONT takes the terminal again only where a SIGTSTP gave it back.

    Call it once Textual's driver has set its own handlers. That one takes the terminal at any SIGCONT: a second time
    while it has it (the kernel sends one along with a hang-up, and `kill -CONT` may come from anyone), or when the
    program is leaving already. Then nobody gives it back, and the thread that reads it never ends.
    """
    if not hasattr(signal, "SIGTSTP"):
        return
    suspend, resume = signal.getsignal(signal.SIGTSTP), signal.getsignal(signal.SIGCONT)
    suspended = False

    def on_stop(number: int, frame: FrameType | None) -> None:
        nonlocal suspended
        suspended = True
        if callable(suspend):
            suspend(number, frame)

    def on_continue(number: int, frame: FrameType | None) -> None:
        nonlocal suspended
        if suspended and callable(resume):
            suspended = False
            resume(number, frame)

    signal.signal(signal.SIGTSTP, on_stop)
    signal.signal(signal.SIGCONT, on_continue)
