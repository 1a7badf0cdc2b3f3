"""Keeping a cache honest: listening for `list_changed` for as long as a block of code runs.

Owns the listening task, its reconnecting, and what a host can wait for. What a notification does to the cache is
`cache`'s business. Source: draft, `notifications/agents/list_changed`.
"""

import asyncio
import inspect
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Final

import anyio

from .cache import AgentCache
from .errors import BadRequest, HostError, StreamLost, TimedOut
from .source import AgentSource

__all__ = ["Watch", "watch_list_changed"]

_log = logging.getLogger(__name__)

_FIRST_PAUSE: Final = 0.1
_LONGEST_PAUSE: Final = 5.0

OnChange = Callable[[], Awaitable[None] | None]


class Watch:
    """A view of the listening: what came, and whether it still listens.

    `count` is the number of `list_changed` so far, `openings` how often the stream was opened, `connected` whether it
    is open now, `error` why listening was given up (None while it goes on).
    """

    def __init__(self) -> None:
        self.count = 0
        self.openings = 0
        self.connected = False
        self.error: HostError | None = None
        self._seen = 0
        self._moved = anyio.Event()

    async def changed(self, timeout: float) -> int:
        """Wait for a `list_changed` that no earlier call returned for; returns `count`.

        Raises `TimedOut` after `timeout` seconds, and the watch's `error` where listening was given up.
        """
        await self.until(lambda watch: watch.count > self._seen, timeout)
        self._seen = self.count
        return self.count

    async def until(self, holds: Callable[["Watch"], bool], timeout: float) -> None:
        """Wait until `holds` is true of this watch; raises as `changed` does."""
        with anyio.move_on_after(timeout):
            while not holds(self):
                if self.error is not None:
                    raise self.error
                await self._moved.wait()
            return
        raise TimedOut("notifications/agents/list_changed", timeout)

    def _open(self) -> None:
        self.openings += 1
        self.connected = True
        self._move()

    def _change(self) -> None:
        self.count += 1
        self._move()

    def _close(self) -> None:
        self.connected = False
        self._move()

    def _move(self) -> None:
        self._moved.set()
        self._moved = anyio.Event()


@asynccontextmanager
async def watch_list_changed(
    connection: AgentSource,
    cache: AgentCache,
    *,
    on_change: OnChange | None = None,
    reconnect: bool = True,
    tries: int = 5,
    sleep: Callable[[float], Awaitable[None]] = anyio.sleep,
    clock: Callable[[], float] = time.monotonic,
) -> AsyncIterator[Watch]:
    """Listen while the block runs; entered once the stream is really open, left with nothing running.

    On each opening all that is kept for this connection is dropped, as delivery has no replay; on each `list_changed`
    the roster is. `on_change` is called after that; if it raises, that is logged and listening goes on. A stream that
    ends or breaks is opened again, up to `tries` times in a row with growing pauses (0.1 s doubling up to 5 s, through
    `sleep`); after that `watch.error` says why. The row starts anew after a stream that brought a notification or
    lasted longer than the longest pause. Raises `HostError` where the stream cannot be opened at first.
    """
    if tries < 1:
        raise BadRequest(f"watch_list_changed: tries must be 1 or more, got {tries!r}; or pass reconnect=False")
    listener = _Listener(
        connection=connection,
        cache=cache,
        on_change=on_change,
        tries=tries if reconnect else 0,
        sleep=sleep,
        clock=clock,
    )
    task = asyncio.create_task(listener.run())
    try:
        await listener.settled.wait()
        if listener.watch.error is not None:
            raise listener.watch.error
        yield listener.watch
    finally:
        task.cancel()
        with anyio.CancelScope(shield=True):
            await asyncio.wait([task])
    if not task.cancelled():
        task.result()  # a bug, such as a cache's on_event that raised: not for this module to hide


@dataclass(slots=True, kw_only=True)
class _Listener:
    """The task behind a watch."""

    connection: AgentSource
    cache: AgentCache
    on_change: OnChange | None
    tries: int
    sleep: Callable[[float], Awaitable[None]]
    clock: Callable[[], float]
    watch: Watch = field(default_factory=Watch)
    settled: anyio.Event = field(default_factory=anyio.Event)

    async def run(self) -> None:
        try:
            await self._keep_listening()
        finally:
            self.watch._close()
            self.settled.set()

    async def _keep_listening(self) -> None:
        failures = 0
        while True:
            error, held = await self._listen()
            failures = 1 if held else failures + 1
            if not self.watch.openings or failures > self.tries:
                self.watch.error = error
                return
            await self.sleep(min(_FIRST_PAUSE * 2 ** (failures - 1), _LONGEST_PAUSE))

    async def _listen(self) -> tuple[HostError, bool]:
        """One stream from opening to end; returns why it ended, and whether it had been of use."""
        count, opened_at = self.watch.count, None
        error: HostError
        try:
            async with self.connection.notifications() as notifications:
                opened_at = self.clock()
                self.cache.distrust(self.connection)
                self.watch._open()
                self.settled.set()
                async for notification in notifications:
                    if notification.is_list_changed:
                        await self._roster_changed()
            error = StreamLost("the server ended the stream of notifications")
        except HostError as caught:
            error = caught
        self.watch._close()
        lasted = opened_at is not None and self.clock() - opened_at > _LONGEST_PAUSE
        return error, lasted or self.watch.count > count

    async def _roster_changed(self) -> None:
        self.cache.roster_changed(self.connection)
        self.watch._change()
        if self.on_change is None:
            return
        try:
            outcome = self.on_change()
            if inspect.isawaitable(outcome):
                await outcome
        except Exception:  # noqa: BLE001 - the cache stays right whatever the callback does
            _log.exception("on_change raised")
