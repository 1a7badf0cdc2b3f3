"""Plays a script: performs each step over real connections and yields what happens as typed events.

It owns the host's state while a walk lasts (connections, cache, the watched stream) and decides nothing about how
things look. It leaves what comes in to `demo.intake`, and what came of a scene to `demo.judging`. The consumer sets the
pace: nothing is sent while it does not ask for the next event.
"""

import asyncio
import random
from collections.abc import AsyncGenerator, Sequence
from contextlib import AsyncExitStack, aclosing
from typing import Final, Literal

from agent_discovery.host import (
    AgentCache,
    ClientInfo,
    Connection,
    HostError,
    Observer,
    ServerRefused,
    Watch,
    connect,
    watch_list_changed,
)
from agent_discovery.wire import AGENTS_GET, AGENTS_LIST
from demo.cast import CLIENT_NAME, Caller
from demo.events import (
    Checked,
    Connected,
    Decided,
    Event,
    SceneDisturbed,
    SceneEnded,
    SceneStarted,
    StepStarted,
    Stopped,
    WalkEnded,
    WalkStarted,
)
from demo.intake import Intake
from demo.judging import disturbance, findings, reason_to_stop
from demo.memory import UNREADABLE, Memory, NotReached
from demo.scene import (
    Decide,
    Exchange,
    Hear,
    Leave,
    Listen,
    Open,
    Recall,
    Scene,
    Step,
    Unlisten,
    Wire,
)
from demo.script import CLOSING

__all__ = ["Stage"]

ATTEMPTS: Final = 8
"""How often a scene is played while somebody else keeps changing the server's roster."""
HEARING_SECONDS: Final = 5.0
"""How long a change notification may take to arrive."""
CLEANUP_SECONDS: Final = 2.0
"""How long putting things back may take when a walk is broken off."""


class Stage:
    """One walk against one server.

    Args:
        url: the MCP endpoint, e.g. `http://127.0.0.1:8080/mcp`.
        wire: which wire to speak; "auto" takes the session wire where the server has it.
        timeout: seconds that one answer may take.
        observer: called with every frame of every connection, also with those that belong to no step.
    """

    def __init__(
        self,
        url: str,
        *,
        wire: Literal["auto"] | Wire = "auto",
        timeout: float = 10.0,
        observer: Observer | None = None,
    ) -> None:
        self.url = url
        self.wire: Literal["auto"] | Wire = wire
        self.connections: dict[str, Connection] = {}
        self._timeout = timeout
        self._intake = Intake(self._new_memory(), observer)
        self.cache = AgentCache(on_event=self._intake.cache_moved)
        self._watch: Watch | None = None
        self._watching = AsyncExitStack()
        self._stopped: Stopped | None = None

    @property
    def _memory(self) -> Memory:
        return self._intake.memory

    @property
    def listening(self) -> bool:
        """Whether the stream on which changes are announced is open."""
        return self._watch is not None

    # Playing

    async def play(self, scenes: Sequence[Scene]) -> AsyncGenerator[Event]:
        """The events of these scenes, in order; `WalkEnded` comes last."""
        yield WalkStarted(self.url, tuple(scenes))
        held = 0
        failed: list[Checked] = []
        for scene in scenes:
            async with aclosing(self.play_scene(scene)) as events:
                async for event in events:
                    if isinstance(event, Checked):
                        held += event.finding.held
                        failed += [] if event.finding.held else [event]
                    yield event
            if self._stopped is not None:
                break
        async with aclosing(self.close()) as events:
            async for event in events:
                yield event
        yield WalkEnded(held, tuple(failed), self._stopped)

    async def play_scene(self, scene: Scene) -> AsyncGenerator[Event]:
        """The events of one scene. Where somebody else disturbs it, it is played again."""
        self._stopped = None
        doubted = False
        for attempt in range(1, ATTEMPTS + 1):
            yield SceneStarted(scene, attempt)
            self._intake.begin(self._new_memory())
            self._forget(scene)
            try:
                async with aclosing(self._steps(scene)) as events:
                    async for event in events:
                        yield event
                found = findings(scene, self._memory)
                disturbed = await disturbance(scene, self._memory, found) if attempt < ATTEMPTS else None
                async with aclosing(self._each(scene.cleanup)) as events:
                    async for event in events:
                        yield event
            except (GeneratorExit, asyncio.CancelledError):
                await self._break_off(scene)
                raise
            if disturbed is None or (disturbed.doubtful and doubted):
                break
            doubted = disturbed.doubtful
            yield SceneDisturbed(scene, attempt, disturbed.reason)
            # Apart by chance, so that two walks which disturb each other do not keep doing so.
            await asyncio.sleep(random.uniform(0.05, 0.25) * attempt)
        for title, finding in found:
            yield Checked(scene, title, finding)
        yield SceneEnded(scene, sum(f.held for _, f in found), sum(not f.held for _, f in found))
        if (stopped := reason_to_stop(scene, self._memory, found, self.url)) is not None:
            self._stopped = stopped
            yield stopped

    async def close(self) -> AsyncGenerator[Event]:
        """Ends the sessions that are open and forgets what was cached. The stage can be played again afterwards."""
        self.cache.clear()
        leaving = [step for step in CLOSING if isinstance(step, Leave) and step.caller.user in self.connections]
        async with aclosing(self._each(leaving)) as events:
            async for event in events:
                yield event

    async def aclose(self) -> None:
        """`close` for whoever does not want to see it."""
        async with aclosing(self.close()) as events:
            async for _ in events:
                pass

    # Steps

    async def _steps(self, scene: Scene) -> AsyncGenerator[Event]:
        opened = {step.caller.user for step in scene.steps if isinstance(step, Open)}
        callers = {step.caller.user: step.caller for step in reversed(scene.steps) if isinstance(step, _WITH_CALLER)}
        missing = [user for user in callers if user not in opened and user not in self.connections]
        prelude = [Open(callers[user], f"open-{user}") for user in sorted(missing)]
        async with aclosing(self._each([*prelude, *scene.steps])) as events:
            async for event in events:
                yield event
        await self._stop_watching()

    async def _each(self, steps: Sequence[Step]) -> AsyncGenerator[Event]:
        for step in steps:
            pause = getattr(step, "pause", isinstance(step, Open))
            yield StepStarted(step, pause)
            async with aclosing(self._intake.told(self._perform(step))) as events:
                async for event in events:
                    yield event
            trace = self._memory.traces.get(getattr(step, "key", ""))
            if trace is not None and trace.error is not None and not isinstance(trace.error, ServerRefused):
                return

    async def _perform(self, step: Step) -> None:
        match step:
            case Decide():
                try:
                    self._memory.decided[step.key] = text = step.decide(self._memory)
                except (NotReached, HostError, *UNREADABLE) as problem:
                    text = f"cannot tell: {problem}"
                self._intake.tell(Decided(step.title, text))
            case Unlisten():
                await self._stop_watching()
            case _:
                with self._intake.step(step.key, step.caller) as trace:
                    try:
                        await self._travel(step)
                    except (HostError, NotReached) as problem:
                        trace.error = problem if isinstance(problem, HostError) else None

    async def _travel(self, step: Open | Exchange | Recall | Listen | Hear | Leave) -> None:
        match step:
            case Open(caller=caller):
                await self._open(caller)
            case Exchange():
                await self._exchange(step)
            case Recall(caller=caller, name=name):
                connection = self._memory.connection(caller)
                recalled = self.cache.roster(connection) if name is None else self.cache.agent(connection, name)
                self._memory.recalled[step.key] = await recalled
            case Listen(caller=caller):
                await self._stop_watching()
                watching = watch_list_changed(self._memory.connection(caller), self.cache, reconnect=False)
                self._watch = await self._watching.enter_async_context(watching)
                self._intake.watching = True
            case Hear(key=key, caller=caller):
                await self._hear(key, caller)
            case Leave(caller=caller):
                await self._leave(caller.user)

    async def _open(self, caller: Caller) -> None:
        await self._end_earlier(caller)
        connection = await connect(
            self.url,
            caller.credential,
            wire=self.wire,
            timeout=self._timeout,
            client_info=ClientInfo(CLIENT_NAME),
            observer=self._intake.travelled,
        )
        self.connections[caller.user] = connection
        self.wire = self._memory.wire = connection.wire
        if connection.opening is not None:
            self._intake.tell(Connected(connection.wire, connection.opening))

    async def _end_earlier(self, caller: Caller) -> None:
        """Says goodbye for a user who connects anew; the script has no such step, so none is told of it."""
        if caller.user in self.connections:
            with self._intake.aside():
                await self._leave(caller.user)

    async def _leave(self, user: str) -> None:
        # Kept until it is closed: broken off in between, the session would have nobody left to end it.
        await self.connections[user].aclose()
        del self.connections[user]

    async def _exchange(self, step: Exchange) -> None:
        connection = self._memory.connection(step.caller)
        params = self._memory.resolve(step.params)
        match step:
            case Exchange(through_cache=True) if step.method == AGENTS_LIST:
                await self.cache.roster(connection)
            case Exchange(through_cache=True) if step.method == AGENTS_GET:
                await self.cache.agent(connection, params["name"])
            case _:
                await connection.request(step.method, params)

    async def _hear(self, key: str, caller: Caller) -> None:
        if self._watch is None:
            raise NotReached("no stream is open to hear anything on")
        try:
            await self._watch.changed(min(HEARING_SECONDS, self._timeout))
        finally:
            self._intake.take_heard(key, caller)

    async def _stop_watching(self) -> None:
        self._watch = None
        self._intake.stop_watching()
        await self._watching.aclose()

    def _forget(self, scene: Scene) -> None:
        """Lets a scene that is played again find the cache as it did the first time: without what it will ask for.

        But for a roster that the server let everyone share and that another caller brought: that this caller must not
        meet it is the scene's to check, however often it is played.
        """
        for step in scene.steps:
            if not isinstance(step, Exchange) or not step.through_cache or step.caller.user not in self.connections:
                continue
            connection = self._memory.connection(step.caller)
            if step.method == AGENTS_LIST:
                kept = self.cache.peek_roster(connection)
                if kept is not None and (kept.cache_scope == "private" or self._intake.roster_from == step.caller.user):
                    self.cache.drop_roster(connection)
            else:
                self.cache.drop_agent(connection, str((step.params or {})["name"]))

    def _new_memory(self) -> Memory:
        wire: Wire = "session" if self.wire == "auto" else self.wire
        return Memory(wire, self.connections)

    async def _break_off(self, scene: Scene) -> None:
        """Puts the server back as it was, for a walk that ends in the middle of a scene."""
        try:
            async with asyncio.timeout(CLEANUP_SECONDS):
                await self._stop_watching()
                with self._intake.aside():
                    for step in scene.cleanup:
                        await self._exchange(step)
        except (TimeoutError, HostError, NotReached):
            return  # the walk is over already; the next one starts by cleaning up itself


_WITH_CALLER = (Open, Exchange, Recall, Listen, Hear, Leave)
