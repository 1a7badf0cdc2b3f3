"""The roster as callers with one set of scopes see it.

Owns the filtered roster: lookup by name, pages made once each, and a fingerprint that tells whether the roster changed
for these callers. It leaves to `registry` which agents exist and for how long a view holds.
"""

import hashlib
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from agent_discovery.server.agents import AgentDef
from agent_discovery.server.cursors import CursorSeal

__all__ = ["Entry", "RosterView", "make_entry"]


@dataclass(frozen=True)
class Entry:
    """One registered agent: its place in registration order, its card as it travels, and the card's digest."""

    place: int
    agent: AgentDef
    card: Mapping[str, Any]
    digest: bytes


def make_entry(place: int, agent: AgentDef) -> Entry:
    """The entry for `agent` at `place`."""
    card = agent.card()
    return Entry(place, agent, card.to_wire(), hashlib.sha256(card.model_dump_json().encode()).digest())


class RosterView:
    """What callers with one set of scopes see, at one revision of the registry.

    `agents` maps each visible name to its definition: a hidden name and one that never existed are the same miss.
    `names` holds the visible names in registration order. `fingerprint` is equal for equal lists of visible cards.
    """

    def __init__(self, entries: Sequence[Entry], *, seal: CursorSeal, page_size: int, ttl_ms: int) -> None:
        self._entries = entries
        self._places = [entry.place for entry in entries]
        self._seal = seal
        self._page_size = page_size
        self._ttl_ms = ttl_ms
        self._pages: dict[int, dict[str, Any]] = {}
        self.agents: Mapping[str, AgentDef] = MappingProxyType({entry.agent.name: entry.agent for entry in entries})
        self.names: tuple[str, ...] = tuple(self.agents)
        self.fingerprint: bytes = hashlib.sha256(b"".join(entry.digest for entry in entries)).digest()

    def page(self, cursor: str | None = None) -> dict[str, Any]:
        """The result of `agents/list` from `cursor` on, as it travels. Do not change it: it is handed out again.

        A cursor names the last agent of the page before by its place in the whole roster, so pages stay in step while
        agents come and go. `nextCursor` is there only when another visible agent follows.

        Raises:
            InvalidCursor: the cursor is not one of ours.
        """
        start = 0 if cursor is None else bisect_right(self._places, self._seal.open(cursor))
        if (page := self._pages.get(start)) is None:
            page = self._pages[start] = self._make_page(start)
        return page

    def _make_page(self, start: int) -> dict[str, Any]:
        end = start + self._page_size
        shown = self._entries[start:end]
        page: dict[str, Any] = {"agents": [entry.card for entry in shown]}
        if end < len(self._entries):
            page["nextCursor"] = self._seal.seal(shown[-1].place)
        # Private on every page: what is on it depends on who asks (draft, "Caching").
        return {**page, "ttlMs": self._ttl_ms, "cacheScope": "private"}
