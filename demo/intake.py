"""What comes in while a script is played: which step it belongs to, and the event that it becomes.

Owns the queue of events, the step under way, and what is held back until the script comes to it. It leaves sending to
`demo.stage`, and what is made of a scene to `demo.memory` and the checks.
"""

import asyncio
from collections.abc import AsyncGenerator, Coroutine, Iterator
from contextlib import contextmanager
from typing import Any

from agent_discovery.host import (
    AnswerFrame,
    CacheEvent,
    FailureFrame,
    Frame,
    NotificationFrame,
    Observer,
    RequestFrame,
)
from agent_discovery.wire import LIST_CHANGED
from demo.arrows import seen
from demo.cast import Caller
from demo.events import CacheMoved, Event, Travelled
from demo.memory import Memory, Trace

__all__ = ["Intake"]


class Intake:
    """Takes the frames of every connection and the moves of the cache.

    Args:
        memory: of the scene that is played; `begin` brings the next one's.
        observer: called with every frame, also with those that belong to no step.

    `watching` is set while the stream of changes is open: what the cache drops then, it drops because of the stream.
    `roster_from` is the user whose answer was the last roster to be kept.
    """

    def __init__(self, memory: Memory, observer: Observer | None) -> None:
        self.memory = memory
        self.watching = False
        self.roster_from: str | None = None
        self._observer = observer
        self._events: asyncio.Queue[Event | None] = asyncio.Queue()
        self._step: tuple[str, Caller] | None = None
        """The key and caller of the step under way; without one, what travels is nobody's business."""
        self._owners: dict[int, str] = {}
        """Which step sent a request, by the identity of its frame."""
        self._dropped: list[CacheEvent] = []
        """What notifications made the cache drop, until the script comes to it."""

    def begin(self, memory: Memory) -> None:
        """A scene begins; late frames of the one before belong to nobody."""
        self.memory = memory
        self._owners = {}

    @contextmanager
    def step(self, key: str, caller: Caller) -> Iterator[Trace]:
        """While the block runs, what travels belongs to this step."""
        trace = self.memory.traces[key] = Trace()
        with self._now((key, caller)):
            yield trace

    @contextmanager
    def aside(self) -> Iterator[None]:
        """While the block runs, what travels is none of the script's business, and none is told of it."""
        with self._now(None):
            yield

    def tell(self, event: Event) -> None:
        """Have `event` told among those of the work under way."""
        self._events.put_nowait(event)

    async def told(self, work: Coroutine[Any, Any, None]) -> AsyncGenerator[Event]:
        """The events that come up while `work` is done."""
        task = asyncio.create_task(work)
        task.add_done_callback(lambda _: self._events.put_nowait(None))
        told = False
        try:
            while (event := await self._events.get()) is not None:
                yield event
            told = True
            await task
        finally:
            if not told:
                task.cancel()
                # What is left to tell must not be told in the next step, or the next time this stage is played.
                while await self._events.get() is not None:
                    pass

    def take_heard(self, key: str, caller: Caller) -> None:
        """The script has come to the notification: it, and what it made the cache drop, are this step's."""
        trace = self.memory.trace(key)
        trace.notifications += self.memory.heard[:1]
        trace.cache += self._dropped
        for frame in trace.notifications:
            self.tell(Travelled(frame, seen(frame)))
        for event in trace.cache:
            self.tell(CacheMoved(caller.name, event))

    def stop_watching(self) -> None:
        """The stream of changes is closed."""
        self.watching = False
        self._dropped.clear()

    def travelled(self, frame: Frame) -> None:
        """Take a frame; the observer of every connection."""
        if self._observer is not None:
            self._observer(frame)
        if isinstance(frame, NotificationFrame) and frame.message.get("method") == LIST_CHANGED:
            # Told when the script comes to it: on its own stream it may overtake the answer that it follows from.
            self.memory.heard.append(frame)
            return
        request = frame if isinstance(frame, RequestFrame) else frame.request
        if isinstance(frame, RequestFrame) and self._step is not None:
            self._owners[id(frame)] = self._step[0]
        trace = self.memory.traces.get(self._owners.get(id(request), ""))
        if trace is None:
            return
        match frame:
            case RequestFrame():
                trace.requests.append(frame)
            case AnswerFrame():
                trace.answers.append(frame)
            case NotificationFrame():
                trace.notifications.append(frame)
            case FailureFrame(error=error):
                trace.error = error
        self.tell(Travelled(frame, seen(frame)))

    def cache_moved(self, event: CacheEvent) -> None:
        """Take a move of the host's cache; its `on_event`."""
        if self.watching and event.kind == "dropped" and event.what == "roster":
            self._dropped.append(event)
        elif self._step is not None:
            key, caller = self._step
            if event.kind == "stored" and event.what == "roster":
                self.roster_from = caller.user
            self.memory.trace(key).cache.append(event)
            self.tell(CacheMoved(caller.name, event))

    @contextmanager
    def _now(self, step: tuple[str, Caller] | None) -> Iterator[None]:
        before, self._step = self._step, step
        try:
            yield
        finally:
            self._step = before
