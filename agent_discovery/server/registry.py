"""Which agents there are, who sees them, and which tools are guarded.

Owns the roster and its revisions, and is the one place that every door asks: list, get, tools and notifications. It
leaves to `views` the roster as one set of scopes sees it, and to `extension` how any of it travels.
"""

import logging
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterable
from typing import Final

from agent_discovery.server.access import OPEN_TO_ALL, Access, Scopes
from agent_discovery.server.agents import AgentDef
from agent_discovery.server.cursors import CursorSeal
from agent_discovery.server.views import Entry, RosterView, make_entry

__all__ = ["AgentRegistry"]

_logger = logging.getLogger(__name__)

_MAX_VIEWS: Final = 256
"""Sets of scopes whose view is kept; one more costs a rebuild, not an error."""


class AgentRegistry:
    """The roster of one server.

    Args:
        agents: the agents to begin with, in the order in which `agents/list` shows them.
        tools: the names of the server's tools, or a callable that gives them as of now; None where they are not known.
            With it, an agent that names a tool which does not exist is refused here and not at a caller's request.
        ttl_ms: milliseconds for which a host may take an answer for fresh.
        page_size: cards on a page of `agents/list`.
        cursor_key: see `CursorSeal`.

    Change it from the event loop that serves it; it is not made for several threads. Every change moves `revision`; a
    change that changes nothing does not.
    """

    def __init__(
        self,
        agents: Iterable[AgentDef] = (),
        *,
        tools: Iterable[str] | Callable[[], Collection[str]] | None = None,
        ttl_ms: int = 60_000,
        page_size: int = 50,
        cursor_key: bytes | None = None,
    ) -> None:
        _check_count("ttl_ms", ttl_ms, least=0)
        _check_count("page_size", page_size, least=1)
        self._tools = _tool_source(tools)
        self._seal = CursorSeal(cursor_key)
        self._entries: dict[str, Entry] = {}
        self._tool_access: dict[str, Access] = {}
        self._views: OrderedDict[Scopes, RosterView] = OrderedDict()
        self._listeners: dict[object, Callable[[], None]] = {}
        self._next_place = 1
        self.ttl_ms: Final = ttl_ms
        self.page_size: Final = page_size
        self.revision = 0
        for agent in agents:
            self.add(agent)

    def add(self, agent: AgentDef) -> None:
        """Put a new agent at the end of the roster.

        Raises:
            ValueError: the name is taken, or the agent names a tool the server does not have.
        """
        if agent.name in self._entries:
            raise ValueError(f"agent {agent.name!r} is already registered; use replace() to change it")
        self._check_tools(agent)
        self._entries[agent.name] = make_entry(self._next_place, agent)
        self._next_place += 1
        self._changed()

    def replace(self, agent: AgentDef) -> bool:
        """Change a registered agent, which keeps its place; False when the definition was equal already.

        Raises:
            ValueError: no such agent, or the agent names a tool the server does not have.
        """
        entry = self._entries.get(agent.name)
        if entry is None:
            raise ValueError(f"agent {agent.name!r} is not registered; use add() or put()")
        if entry.agent == agent:
            return False
        self._check_tools(agent)
        self._entries[agent.name] = make_entry(entry.place, agent)
        self._changed()
        return True

    def put(self, agent: AgentDef) -> bool:
        """Add the agent, or replace the one of its name; False when nothing changed."""
        if agent.name in self._entries:
            return self.replace(agent)
        self.add(agent)
        return True

    def remove(self, name: str) -> bool:
        """Take an agent out of the roster; False when there was none of that name."""
        if self._entries.pop(name, None) is None:
            return False
        self._changed()
        return True

    def guard_tool(self, name: str, access: Access) -> None:
        """Set who sees a tool and which scopes calling it takes; without this everyone sees and calls it.

        Raises:
            ValueError: the tool catalogue is known and has no such tool.
        """
        known = self.tool_names()
        if known is not None and name not in known:
            raise ValueError(f"guard_tool(): there is no tool {name!r}; the tools are {', '.join(known) or 'none'}")
        if self._tool_access.get(name, OPEN_TO_ALL) != access:
            self._tool_access[name] = access
            self._changed()

    @property
    def guards_tools(self) -> bool:
        """Whether any tool has a policy of its own."""
        return bool(self._tool_access)

    def tool_access(self, name: str) -> Access:
        """The policies of a tool; those of a name that no tool has are open, as nothing says otherwise."""
        return self._tool_access.get(name, OPEN_TO_ALL)

    def tool_names(self) -> Collection[str] | None:
        """The server's tools by name, or None where they are not known."""
        return None if self._tools is None else self._tools()

    def missing_tools(self, agent: AgentDef) -> tuple[str, ...]:
        """Tools the agent names that the server does not have; empty where the catalogue is not known."""
        known = self.tool_names()
        return () if known is None else tuple(tool for tool in agent.tools if tool not in known)

    def view(self, scopes: Scopes) -> RosterView:
        """The roster as callers with these scopes see it, built once for each revision and set of scopes."""
        view = self._views.get(scopes)
        if view is not None:
            self._views.move_to_end(scopes)
            return view
        visible = [entry for entry in self._entries.values() if entry.agent.access.sees(scopes)]
        view = RosterView(visible, seal=self._seal, page_size=self.page_size, ttl_ms=self.ttl_ms)
        self._views[scopes] = view
        if len(self._views) > _MAX_VIEWS:
            self._views.popitem(last=False)
        return view

    def on_change(self, listener: Callable[[], None]) -> Callable[[], None]:
        """Call `listener` after every change; returns what stops that (calling it twice is fine).

        Listeners run at once, inside the change, and must not wait. One that raises is logged and hurts no other.
        """
        token = object()
        self._listeners[token] = listener

        def unsubscribe() -> None:
            self._listeners.pop(token, None)

        return unsubscribe

    def _changed(self) -> None:
        self.revision += 1
        self._views.clear()
        for listener in list(self._listeners.values()):
            try:
                listener()
            except Exception:  # fan-out: one listener's fault must not reach the others or the change
                _logger.exception("a listener to roster changes raised; the change stands")

    def _check_tools(self, agent: AgentDef) -> None:
        if missing := self.missing_tools(agent):
            known = ", ".join(self.tool_names() or ()) or "none"
            raise ValueError(
                f"agent {agent.name!r} names a tool the server does not have, got {missing[0]!r}; the tools are {known}"
            )


def _tool_source(
    tools: Iterable[str] | Callable[[], Collection[str]] | None,
) -> Callable[[], Collection[str]] | None:
    if tools is None or callable(tools):
        return tools
    if isinstance(tools, str):
        raise ValueError(f"AgentRegistry: tools must be tool names, got {tools!r}; write [{tools!r}]")
    names = dict.fromkeys(tools)
    for name in names:
        if not isinstance(name, str):
            raise ValueError(f"AgentRegistry: tools must be tool names, got {name!r}; give each tool's name")
    return names.keys


def _check_count(field: str, value: object, *, least: int) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise ValueError(
            f"AgentRegistry: {field} must be an integer of {least} or more, got {value!r}; leave it out for the default"
        )
