"""The two answers of the draft as values: a whole roster from its pages, and one agent's details.

Owns what counts as a well-formed answer and what is forgiven (a missing or odd `ttlMs` or `cacheScope`, an odd hint).
Anything else that is wrong is the server's fault and refused whole: part of a roster would route as if it were all.
It asks through the connection that it is given and keeps nothing; keeping is `cache`.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final, TypeVar

from pydantic import BaseModel, ValidationError

from agent_discovery.shapes import AgentCard, AgentDetails, AgentPage, ModelRoutingHint
from agent_discovery.wire import AGENTS_GET, AGENTS_LIST, CacheScope

from .errors import ServerFault
from .source import AgentSource

__all__ = ["MAX_INSTRUCTIONS", "MAX_NAME", "MAX_PAGES", "Roster", "fetch_details", "fetch_roster"]

MAX_PAGES: Final = 1000
"""A roster may have this many pages; more are the server's fault."""

MAX_NAME: Final = 256
"""Characters that an agent's name may have."""

MAX_INSTRUCTIONS: Final = 1_000_000
"""Characters that an agent's instructions may have, which is more than a model can read."""

_MAX_TTL_MS: Final = 2**53
_SHOWN: Final = 60
Shape = TypeVar("Shape", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class Roster:
    """All agents that a caller may see, from all pages, in the server's order.

    `ttl_ms` is the smallest of the pages' (milliseconds from the receipt of the first page), `cache_scope` is private
    where any page's is.
    """

    agents: tuple[AgentCard, ...]
    ttl_ms: int
    cache_scope: CacheScope
    _by_name: Mapping[str, AgentCard] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_by_name", MappingProxyType({card.name: card for card in self.agents}))

    @property
    def names(self) -> tuple[str, ...]:
        """The agents' names, in order."""
        return tuple(self._by_name)

    def get(self, name: str) -> AgentCard | None:
        """The card of that agent, or None where it is not in the roster."""
        return self._by_name.get(name)

    def __contains__(self, name: object) -> bool:
        return name in self._by_name


async def fetch_roster(connection: AgentSource, clock: Callable[[], float]) -> tuple[Roster, float]:
    """Ask for all pages of `agents/list`; returns the roster and the clock's time at the first page's receipt.

    Raises `ServerFault` for malformed pages, a name given twice, and pages without end.
    """
    pages: list[AgentPage] = []
    cursors: set[str] = set()
    received = 0.0
    cursor: str | None = None
    while True:
        result = await connection.request(AGENTS_LIST, {} if cursor is None else {"cursor": cursor})
        if not pages:
            received = clock()
        pages.append(_shaped(AgentPage, _forgiven(result), AGENTS_LIST))
        cursor = pages[-1].next_cursor
        if cursor is None:
            return _joined(pages), received
        if cursor in cursors:
            raise ServerFault(f"the pages of {AGENTS_LIST} go round in a circle: a cursor came twice")
        if len(pages) == MAX_PAGES:
            raise ServerFault(f"{AGENTS_LIST} has more than {MAX_PAGES} pages")
        cursors.add(cursor)


async def fetch_details(connection: AgentSource, name: str, clock: Callable[[], float]) -> tuple[AgentDetails, float]:
    """Ask for one agent; returns its details and the clock's time at receipt. Raises `ServerFault` when malformed."""
    result = await connection.request(AGENTS_GET, {"name": name})
    received = clock()
    details = _shaped(AgentDetails, {**_forgiven(result), "modelRoutingHint": _hint(result)}, AGENTS_GET)
    if details.agent.name != name:
        raise ServerFault(f"asked for agent {name!r}, it sent {_shown(details.agent.name)}")
    if len(details.instructions or "") > MAX_INSTRUCTIONS:
        size = len(details.instructions or "")
        raise ServerFault(f"the instructions of agent {name!r} are {size} characters, more than {MAX_INSTRUCTIONS}")
    _check_tools(name, details.tools)
    return details, received


def _check_tools(agent: str, tools: tuple[dict[str, Any], ...]) -> None:
    names: set[str] = set()
    for tool in tools:
        name = tool.get("name")
        if not isinstance(name, str) or not name:
            raise ServerFault(f"a tool of agent {agent!r} has no name")
        if name in names:
            raise ServerFault(f"agent {agent!r} has tool {_shown(name)} twice")
        if not isinstance(tool.get("inputSchema"), dict):
            raise ServerFault(f"tool {_shown(name)} of agent {agent!r} has no inputSchema that is an object")
        names.add(name)


def _joined(pages: list[AgentPage]) -> Roster:
    agents = tuple(card for page in pages for card in page.agents)
    names: set[str] = set()
    for card in agents:
        if len(card.name) > MAX_NAME or not card.name.isprintable():
            raise ServerFault(
                f"{AGENTS_LIST} has an agent named {_shown(card.name)}: a name has {MAX_NAME} characters at most, and "
                "none that does not print"
            )
        if card.name in names:
            raise ServerFault(f"{AGENTS_LIST} names agent {card.name!r} twice")
        names.add(card.name)
    private = any(page.cache_scope == "private" for page in pages)
    return Roster(agents, min(page.ttl_ms for page in pages), "private" if private else "public")


def _forgiven(result: Mapping[str, Any]) -> dict[str, Any]:
    """The result with a usable `ttlMs` and `cacheScope`: odd ones count as "do not keep" and "do not share"."""
    ttl = result.get("ttlMs")
    usable = ttl if isinstance(ttl, int) and not isinstance(ttl, bool) else 0
    scope = "public" if result.get("cacheScope") == "public" else "private"
    return {**result, "ttlMs": max(0, min(usable, _MAX_TTL_MS)), "cacheScope": scope}


def _hint(result: Mapping[str, Any]) -> ModelRoutingHint | None:
    """The hint as far as this host understands it: it is advice, so an odd one must not make the agent unusable."""
    hint = result.get("modelRoutingHint")
    if not isinstance(hint, dict):
        return None
    try:
        return ModelRoutingHint.model_validate(hint, strict=True)
    except ValidationError:
        return None


def _shaped(shape: type[Shape], result: Mapping[str, Any], method: str) -> Shape:
    try:
        return shape.model_validate(result)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(map(str, first["loc"])) or "the result"
        raise ServerFault(f"the result of {method} is malformed: {where}: {first['msg']}") from error


def _shown(name: str) -> str:
    """As it can stand in a line of text: escaped and shortened."""
    return ascii(name if len(name) <= _SHOWN else name[:_SHOWN] + "…")
