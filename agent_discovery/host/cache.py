"""What a host remembers of agents: for how long, and for whom.

Owns freshness, isolation between authorization contexts, and sharing one request among callers. Reading the answers is
`reading`, hearing of changes is `watch`. Sources: draft, "Caching"; MCP 2026-07-28, `ttlMs` and `cacheScope`.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import Final, Literal, TypeVar, cast

from agent_discovery.shapes import AgentDetails
from agent_discovery.wire import AGENT_NOT_FOUND

from .errors import BadRequest, ServerRefused
from .flights import Flights
from .reading import Roster, fetch_details, fetch_roster
from .source import AgentSource

__all__ = ["AgentCache", "CacheEvent", "Roster"]

EventKind = Literal["hit", "stored", "dropped", "expired", "not_stored"]
Value = TypeVar("Value", Roster, AgentDetails)

_ROSTER: Final = None
"""The place of the roster among an authorization context's entries; agents have their names."""
_EVERYONE: Final = None
"""The place of what is shared between authorization contexts."""

Key = tuple[str, str | None, str | None]
"""URL, authorization context or everyone, agent's name or the roster."""


@dataclass(frozen=True, slots=True)
class CacheEvent:
    """What the cache did: `what` is "roster" or an agent's name, `remaining_ms` the freshness left at that moment."""

    kind: EventKind
    what: str
    remaining_ms: int
    reason: str


@dataclass(frozen=True, slots=True)
class _Entry:
    value: Roster | AgentDetails
    fresh_until: float


class AgentCache:
    """Rosters and agents' details of any number of servers, each fresh for as long as its server said.

    The roster with all its pages is one entry, each agent's details another; each has its own `ttlMs`, counted from
    receipt, and neither prolongs the other. A private entry is used for the authorization context (URL and token) that
    it was read with, a public one for every context of the same URL. Callers who ask for the same at the same time
    share one request. A refusal is never stored, and nothing is asked again by itself.

    `clock` counts seconds and never goes back; `on_event` is called synchronously and must not raise.
    """

    def __init__(
        self, *, clock: Callable[[], float] = time.monotonic, on_event: Callable[[CacheEvent], None] | None = None
    ) -> None:
        self._clock = clock
        self._on_event = on_event
        self._entries: dict[Key, _Entry] = {}
        self._flights: Flights[Key] = Flights()

    async def roster(self, connection: AgentSource) -> Roster:
        """All agents that this connection's token may see: kept, or asked for page by page. Raises `HostError`."""
        _require_agents(connection)
        kept = self._fresh(connection, _ROSTER)
        if isinstance(kept, Roster):
            return kept
        return await self._fly(connection, _ROSTER, lambda: fetch_roster(connection, self._clock))

    async def agent(self, connection: AgentSource, name: str) -> AgentDetails:
        """All that is needed to run that agent: kept, or asked for.

        Raises `HostError`; after `agent_not_found` nothing of that agent is kept, the roster that named it included.
        """
        _require_agents(connection)
        kept = self._fresh(connection, name)
        if isinstance(kept, AgentDetails):
            return kept
        try:
            return await self._fly(connection, name, lambda: fetch_details(connection, name, self._clock))
        except ServerRefused as refusal:
            if refusal.reason == AGENT_NOT_FOUND:
                self._forget_agent(connection, name)
            raise

    def peek_roster(self, connection: AgentSource) -> Roster | None:
        """The roster where it is kept and fresh, without asking the server and without an event."""
        kept = self._find(connection, _ROSTER)
        return kept[1].value if kept and isinstance(kept[1].value, Roster) else None

    def remaining(self, connection: AgentSource, name: str | None = None) -> float | None:
        """Seconds for which the agent's details, or without a name the roster, are still fresh; None if not kept."""
        kept = self._find(connection, name)
        return kept[1].fresh_until - self._clock() if kept else None

    def roster_changed(self, connection: AgentSource) -> None:
        """A `list_changed` came on this connection's stream: drop the roster; answers under way will not be kept.

        The roster goes for each context that the stream speaks for (`Connection.listens_for`), and the public one of
        the same server. Details stay until their own time is up, or the next roster does not name their agent.
        """
        self._ground(connection)
        self._drop(_keys(connection, connection.listens_for, _ROSTER), "the server says that the roster changed")

    def distrust(self, connection: AgentSource) -> None:
        """Drop the roster and all details that this connection's stream would have spoken of.

        Delivery has no replay, so what was kept before a stream opened may be stale (draft, "Notifications").
        """
        self._ground(connection)
        contexts = {_EVERYONE, *connection.listens_for}
        keys = [key for key in self._entries if key[0] == connection.url and key[1] in contexts]
        self._drop(keys, "changes may have been missed while no stream was open")

    def drop_roster(self, connection: AgentSource) -> None:
        """Forget the roster for this connection's context, and the public one."""
        self._flights.ground(lambda key: key == (connection.url, connection.authorization, _ROSTER))
        self._drop(_keys(connection, [connection.authorization], _ROSTER), "asked to drop it")

    def drop_agent(self, connection: AgentSource, name: str) -> None:
        """Forget that agent's details for this connection's context, and the public ones."""
        self._flights.ground(lambda key: key == (connection.url, connection.authorization, name))
        self._drop(_keys(connection, [connection.authorization], name), "asked to drop it")

    def clear(self) -> None:
        """Forget everything, of all servers; answers under way will not be kept."""
        self._flights.ground(lambda _key: True)
        self._drop(list(self._entries), "asked to drop everything")

    async def _fly(
        self, connection: AgentSource, name: str | None, fetch: Callable[[], Awaitable[tuple[Value, float]]]
    ) -> Value:
        """Join the request for this that is under way, or make it and keep its answer."""
        key = (connection.url, connection.authorization, name)

        async def fetch_and_keep() -> Value:
            flight = asyncio.current_task()
            value, received = await fetch()
            self._keep(connection, name, value, received, grounded=self._flights.is_grounded(flight))
            return value

        return cast("Value", await self._flights.join(key, fetch_and_keep))

    def _keep(
        self,
        connection: AgentSource,
        name: str | None,
        value: Roster | AgentDetails,
        received: float,
        *,
        grounded: bool,
    ) -> None:
        self._sweep()
        left = received + value.ttl_ms / 1000 - self._clock()
        if grounded:
            self._tell("not_stored", name, 0, "it changed while the answer was under way")
            return
        own, shared = _keys(connection, [connection.authorization], name)
        self._entries.pop(own, None)
        self._entries.pop(shared, None)
        if left > 0:
            self._entries[shared if value.cache_scope == "public" else own] = _Entry(value, left + self._clock())
            self._tell("stored", name, left, f"{value.cache_scope}, ttlMs {value.ttl_ms}")
        else:
            self._tell("not_stored", name, 0, f"ttlMs {value.ttl_ms} leaves no time to keep it")
        if isinstance(value, Roster):
            self._drop_vanished(connection, value)

    def _fresh(self, connection: AgentSource, name: str | None) -> Roster | AgentDetails | None:
        self._sweep(_keys(connection, [connection.authorization], name))
        kept = self._find(connection, name)
        if kept is None:
            return None
        self._tell("hit", name, kept[1].fresh_until - self._clock(), kept[1].value.cache_scope)
        return kept[1].value

    def _find(self, connection: AgentSource, name: str | None) -> tuple[Key, _Entry] | None:
        now = self._clock()
        for key in _keys(connection, [connection.authorization], name):
            entry = self._entries.get(key)
            if entry is not None and now < entry.fresh_until:
                return key, entry
        return None

    def _drop_vanished(self, connection: AgentSource, roster: Roster) -> None:
        mine = (connection.authorization, _EVERYONE)
        for key in list(self._entries):
            url, context, name = key
            if url == connection.url and context in mine and name is not None and name not in roster:
                self._drop([key], "its agent is no longer in the roster")

    def _forget_agent(self, connection: AgentSource, name: str) -> None:
        keys = _keys(connection, [connection.authorization], name)
        roster = self.peek_roster(connection)
        if roster is not None and name in roster:
            keys += _keys(connection, [connection.authorization], _ROSTER)
        self._drop(keys, f"the server does not know agent {name!r} any more")

    def _ground(self, connection: AgentSource) -> None:
        """Whoever asked gets the answer, but it is not kept: another context's might have been kept for everyone."""
        self._flights.ground(lambda key: key[0] == connection.url)

    def _sweep(self, keys: Iterable[Key] | None = None) -> None:
        """Take out what has expired: contexts come and go with their tokens, and must not pile up."""
        now = self._clock()
        for key in list(self._entries) if keys is None else keys:
            entry = self._entries.get(key)
            if entry is not None and now >= entry.fresh_until:
                del self._entries[key]
                self._tell("expired", key[2], 0, f"its ttlMs of {entry.value.ttl_ms} is over")

    def _drop(self, keys: Iterable[Key], reason: str) -> None:
        for key in keys:
            if (entry := self._entries.pop(key, None)) is not None:
                self._tell("dropped", key[2], max(0.0, entry.fresh_until - self._clock()), reason)

    def _tell(self, kind: EventKind, name: str | None, seconds: float, reason: str) -> None:
        if self._on_event is not None:
            self._on_event(CacheEvent(kind, "roster" if name is None else name, round(seconds * 1000), reason))


def _keys(connection: AgentSource, contexts: Iterable[str], name: str | None) -> list[Key]:
    """The private places of these contexts, then the shared one."""
    return [*((connection.url, context, name) for context in contexts), (connection.url, _EVERYONE, name)]


def _require_agents(connection: AgentSource) -> None:
    if connection.opening is None:
        raise BadRequest("AgentCache: the connection is not open; await connection.open() first")
    connection.opening.require_agents()
