"""Exploring a server by hand: the connections, the cache and the streams behind the explore screen. No screen in it.

Owns who is connected on which wire, what is asked through the cache, the streams on which changes are heard, and the
same question on both wires. What came of it is told as values (`outcomes`); breaking things on purpose is `breaks`.
"""

import asyncio
import math
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, ClassVar, Final, Literal

from agent_discovery.host import (
    AgentCache,
    CacheEvent,
    ClientInfo,
    Connection,
    HostError,
    Observer,
    Roster,
    SessionEnded,
    Watch,
    connect,
    watch_list_changed,
)
from agent_discovery.wire import AGENTS_GET, AGENTS_LIST
from demo.cast import ALICE, CAST, Caller
from demo.scene import Wire
from demo.tui.caught import Caught
from demo.tui.outcomes import (
    CacheTold,
    Difference,
    ExplorerEvent,
    Heard,
    Outcome,
    Question,
    RosterMissed,
    RosterRead,
    StepUp,
    StreamMoved,
)

__all__ = ["Explorer", "no_one"]

_MOST_PAGES: Final = 100
_OTHER: Final[Mapping[Wire, Wire]] = {"session": "stateless", "stateless": "session"}


def no_one(_: object) -> None:
    """Listens to nothing."""


class Explorer:
    """One person's hands on one server.

    Args:
        url: the MCP endpoint.
        wire: the wire to begin with; "auto" takes the session wire where the server has it.
        timeout: seconds that one answer may take.
        observer: told every frame of every connection.
        tell: told what happens unasked; called synchronously, and must not raise.

    `acting` is who asks where a method is not told. Methods that ask return an `Outcome` and raise no `HostError`.
    """

    CLIENT: ClassVar = ClientInfo("agent-discovery-explorer")
    """How its hosts introduce themselves."""

    def __init__(
        self,
        url: str,
        *,
        wire: Literal["auto"] | Wire = "auto",
        timeout: float = 10.0,
        observer: Observer = no_one,
        tell: Callable[[ExplorerEvent], None] = no_one,
    ) -> None:
        self.url = url
        self.acting = ALICE
        self.timeout = timeout
        self.observer = observer
        self.cache = AgentCache(on_event=self._cache_moved)
        self.rosters: dict[Caller, Roster] = {}
        """The last roster that each caller was given, fresh or not."""
        self._wire: Literal["auto"] | Wire = wire
        self._tell = tell
        self._connections: dict[tuple[Wire, str], Connection] = {}
        self._opening: dict[object, asyncio.Lock] = {}
        self._drops: list[CacheEvent] = []

    # Connections

    @property
    def wire(self) -> Wire:
        """The wire in use; the session wire while it is still to be found out."""
        return "session" if self._wire == "auto" else self._wire

    @property
    def other_wire(self) -> Wire:
        """The wire that is not in use."""
        return _OTHER[self.wire]

    async def connection(self, caller: Caller, wire: Wire | None = None) -> Connection:
        """The connection of this caller's user, speaking with this caller's token; opened first if need be.

        Callers of one user share it, and with it the session. Raises `HostError`.
        """
        wanted = wire or self._wire
        async with self._lock("auto" if wanted == "auto" else (wanted, caller.user)):
            # Another caller may have found out the wire while this one waited.
            wanted = wire or self._wire
            found = None if wanted == "auto" else self._connections.get((wanted, caller.user))
            if found is None:
                found = await connect(
                    self.url,
                    caller.credential,
                    wire=wanted,
                    timeout=self.timeout,
                    client_info=self.CLIENT,
                    observer=self.observer,
                )
                self._connections[found.wire, caller.user] = found
                self._wire = found.wire if self._wire == "auto" else self._wire
        return found.as_token(caller.credential)

    def use_wire(self, wire: Wire) -> None:
        """Speak on this wire from now on, and ask anew for what was kept: the answers are to be seen on it.

        Streams that are followed stay on their wire: end them first and follow again.
        """
        self._wire = wire
        self.cache.clear()

    async def aclose(self) -> None:
        """Close all connections; they are opened again when something is asked."""
        connections = list(self._connections.values())
        self._connections.clear()
        self.cache.clear()
        await asyncio.gather(*(connection.aclose() for connection in connections))

    # Asking

    async def ask(self, question: Question, caller: Caller | None = None, wire: Wire | None = None) -> Outcome:
        """Send a question as it stands, past the cache."""

        async def send(connection: Connection) -> Mapping[str, Any]:
            return await connection.request(question.method, question.params)

        return await self._attempt(question, caller or self.acting, send, wire)

    async def call_tool(self, name: str, arguments: Mapping[str, Any], caller: Caller | None = None) -> Outcome:
        """Run one tool of the server."""
        return await self.ask(Question("tools/call", {"name": name, "arguments": dict(arguments)}), caller)

    async def read_roster(self, caller: Caller | None = None) -> Outcome:
        """The caller's roster, from the cache where it is fresh; tells `RosterRead`, or `RosterMissed`."""
        who = caller or self.acting

        async def read(connection: Connection) -> Mapping[str, Any]:
            kept = self.cache.peek_roster(connection) is not None
            roster = await self.cache.roster(connection)
            difference = Difference.between(self.rosters.get(who), roster)
            self.rosters[who] = roster
            self._tell(RosterRead(who, roster, difference, kept))
            return {"agents": [card.to_wire() for card in roster.agents]}

        outcome = await self._attempt(Question(AGENTS_LIST), who, read)
        if outcome.error is not None:
            self._tell(RosterMissed(who, outcome.error))
        return outcome

    async def open_agent(self, name: str, caller: Caller | None = None) -> Outcome:
        """All that is needed to run the agent, from the cache where it is fresh."""
        opened = []

        async def read(connection: Connection) -> Mapping[str, Any]:
            opened.append(await self.cache.agent(connection, name))
            return opened[0].to_wire()

        outcome = await self._attempt(Question(AGENTS_GET, {"name": name}), caller or self.acting, read)
        return Outcome(**{**vars(outcome), "details": opened[0]}) if opened else outcome

    async def list_tools(self, caller: Caller | None = None) -> Outcome:
        """Every tool that the caller may see; the result joins all pages of `tools/list`."""
        tools: list[Any] = []
        cursor: Any = None
        for _ in range(_MOST_PAGES):
            question = Question("tools/list", {} if cursor is None else {"cursor": cursor})
            outcome = await self.ask(question, caller)
            page = (outcome.result or {}).get("tools")
            tools += page if isinstance(page, list) else []
            cursor = (outcome.result or {}).get("nextCursor")
            if outcome.result is None or not isinstance(cursor, str):
                break
        return outcome if outcome.result is None else Outcome(**{**vars(outcome), "result": {"tools": tools}})

    async def on_both_wires(self, question: Question, caller: Caller | None = None) -> tuple[Outcome, Outcome]:
        """The same question on the session wire and on the stateless one, past the cache."""
        who = caller or self.acting
        session = await self.ask(question, who, "session")
        return session, await self.ask(question, who, "stateless")

    async def step_up(self, step: StepUp) -> Outcome:
        """Take the token that has what the refusal asked for, and send the same question again."""
        if step.after is None:
            return step.refused
        if step.before.user == self.acting.user:
            self.acting = step.after
        question = step.refused.question
        if question.method == AGENTS_GET:
            return await self.open_agent(str(question.params["name"]), step.after)
        return await self.ask(question, step.after)

    def forget_roster(self, caller: Caller) -> None:
        """Have the caller's roster asked for anew next time."""
        connection = self._connections.get((self.wire, caller.user))
        if connection is not None:
            self.cache.drop_roster(connection.as_token(caller.credential))

    def remaining(self, caller: Caller, name: str | None = None) -> float | None:
        """Seconds for which the caller's roster, or that agent, stays fresh; None where it is not kept."""
        connection = self._connections.get((self.wire, caller.user))
        return None if connection is None else self.cache.remaining(connection.as_token(caller.credential), name)

    # Hearing of changes

    def listeners(self) -> tuple[Caller, ...]:
        """Who needs a stream of their own: on the session wire one a session, on the stateless one each token."""
        return (
            CAST if self.wire == "stateless" else tuple(caller for caller in CAST if caller.name != "Alice stepped up")
        )

    async def follow(self, caller: Caller) -> None:
        """Keep the caller's roster true until cancelled, or until the stream cannot be had any more.

        Tells `StreamMoved`, `Heard` and what `read_roster` tells. Raises `HostError` where the stream is gone for good.
        """
        connection = await self.connection(caller)
        try:
            async with watch_list_changed(connection, self.cache, on_change=lambda: self._heard(caller)) as watch:
                openings = 0
                while True:
                    if watch.connected and watch.openings > openings:
                        openings = watch.openings
                        self._tell(StreamMoved(caller, "open"))
                        await self.read_roster(caller)
                    await watch.until(_opened_again(openings), math.inf)
        except HostError as error:
            self._tell(StreamMoved(caller, "closed", str(error)))
            raise

    async def _heard(self, caller: Caller) -> None:
        dropped = tuple(self._drops)
        self._drops.clear()
        self._tell(Heard(caller, dropped))
        await self.read_roster(caller)
        if self.wire == "session":
            # One stream speaks for all tokens of a session.
            for other in [who for who in self.rosters if who.user == caller.user and who != caller]:
                await self.read_roster(other)

    # Inside

    async def _attempt(
        self,
        question: Question,
        caller: Caller,
        work: Callable[[Connection], Awaitable[Mapping[str, Any]]],
        wire: Wire | None = None,
    ) -> Outcome:
        """What came of `work`. A session that the server has forgotten is opened anew, once."""
        outcome = await self._once(question, caller, work, wire)
        if not isinstance(outcome.error, SessionEnded):
            return outcome
        ended = self._connections.pop((outcome.wire, caller.user), None)
        if ended is not None:
            await ended.aclose()
        return await self._once(question, caller, work, wire)

    async def _once(
        self,
        question: Question,
        caller: Caller,
        work: Callable[[Connection], Awaitable[Mapping[str, Any]]],
        wire: Wire | None,
    ) -> Outcome:
        caught = Caught(question.method, caller.name)
        result: Mapping[str, Any] | None = None
        error: HostError | None = None
        try:
            connection = await self.connection(caller, wire)
            stop = connection.observe(caught)
            try:
                result = await work(connection)
            finally:
                stop()
        except HostError as problem:
            error = problem
        return Outcome(question, caller, wire or self.wire, caught.request, caught.answer, result, error)

    def _cache_moved(self, event: CacheEvent) -> None:
        if event.kind != "dropped":
            self._tell(CacheTold(event))
            return
        # A notification is told of in the very turn of the loop in which it makes the cache drop something; what is
        # left after that turn was dropped for another reason.
        self._drops.append(event)
        asyncio.get_running_loop().call_soon(self._tell_drops)

    def _tell_drops(self) -> None:
        for event in self._drops:
            self._tell(CacheTold(event))
        self._drops.clear()

    def _lock(self, key: object) -> asyncio.Lock:
        return self._opening.setdefault(key, asyncio.Lock())


def _opened_again(openings: int) -> Callable[[Watch], bool]:
    return lambda watch: watch.connected and watch.openings > openings
