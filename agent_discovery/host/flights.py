"""Requests under way, shared: who asks for what is already being asked for waits for the same answer.

Owns the tasks and their ends. Knows nothing of agents, freshness or servers.
"""

import asyncio
from collections.abc import Callable, Coroutine, Hashable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

__all__ = ["Flights"]

Key = TypeVar("Key", bound=Hashable)


@dataclass(slots=True)
class _Flight:
    task: asyncio.Task[Any]
    waiting: int = 0


class Flights(Generic[Key]):
    """At most one request for each key. It runs in a task of its own, so that no caller's end ends it for the others.

    The task is cancelled when the last caller has gone, and lives no longer than its callers.
    """

    def __init__(self) -> None:
        self._flights: dict[Key, _Flight] = {}
        self._grounded: set[asyncio.Task[Any]] = set()

    async def join(self, key: Key, start: Callable[[], Coroutine[Any, Any, Any]]) -> Any:
        """Wait for the request under way for `key`, or start it; its error goes to all who wait."""
        flight = self._flights.get(key)
        if flight is None or flight.task.get_loop() is not asyncio.get_running_loop():
            flight = self._flights[key] = _Flight(asyncio.create_task(start()))
            flight.task.add_done_callback(lambda task: self._landed(key, task))
        flight.waiting += 1
        try:
            await asyncio.wait([flight.task])  # unlike awaiting the task, being cancelled here does not cancel it
            return flight.task.result()
        finally:
            flight.waiting -= 1
            if not flight.waiting and not flight.task.done():
                self._leave(key, flight.task)
                flight.task.cancel()

    def ground(self, concerns: Callable[[Key], bool]) -> None:
        """Let the requests under way end for those who wait, mark them, and have later callers start anew."""
        for key in [key for key in self._flights if concerns(key)]:
            self._grounded.add(self._flights.pop(key).task)

    def is_grounded(self, task: asyncio.Task[Any] | None) -> bool:
        """Whether what this task was asked for has changed since it started."""
        return task in self._grounded

    def _landed(self, key: Key, task: asyncio.Task[Any]) -> None:
        self._leave(key, task)
        self._grounded.discard(task)
        if not task.cancelled():
            task.exception()  # taken here, as nobody may be left who waits for it

    def _leave(self, key: Key, task: asyncio.Task[Any]) -> None:
        flight = self._flights.get(key)
        if flight is not None and flight.task is task:
            del self._flights[key]
