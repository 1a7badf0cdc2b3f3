"""Loading what sends, and the other screen, beside the screen that is read meanwhile.

Owns the order, and what becomes of a module that cannot be loaded. An import cannot be broken off, so the thread is one
that nobody has to wait for when the program ends.
"""

import asyncio
import threading
from contextlib import suppress
from importlib import import_module
from typing import Final

__all__ = ["Loading"]

_SENDING: Final = ("demo.stage", "demo.tui.explorer")
_SCREENS: Final = ("demo.tui.walk", "demo.tui.explore")
"""One of them is there; x goes to the other."""


class Loading:
    """Starts once; any number of coroutines of one loop may wait for it."""

    def __init__(self) -> None:
        self._done = asyncio.Event()
        self._problem: Exception | None = None

    def start(self) -> None:
        """Begin, in the running loop."""
        loop = asyncio.get_running_loop()
        threading.Thread(target=self._run, args=(loop,), name="loading", daemon=True).start()

    async def wait(self) -> None:
        """Until what sends is there; raises what kept it from being loaded."""
        await self._done.wait()
        if self._problem is not None:
            raise self._problem

    def _run(self, loop: asyncio.AbstractEventLoop) -> None:
        try:
            for name in _SENDING:
                import_module(name)
        except Exception as problem:  # noqa: BLE001 - the thread's boundary: `wait` raises it
            self._problem = problem
        with suppress(RuntimeError):  # the program has ended meanwhile, and its loop with it
            loop.call_soon_threadsafe(self._done.set)
        if self._problem is None:
            for name in _SCREENS:
                import_module(name)
