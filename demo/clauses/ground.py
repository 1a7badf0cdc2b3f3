"""What a survey reads first, and every probe looks at: each caller's opening, roster, tools and opened agents.

Owns the reading and its bounds, and the lines that probes speak on. It judges nothing: what is malformed stays as it
came, with words for why it could not be read on.
"""

import secrets
from collections.abc import Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from typing import Any, Final

import anyio

from agent_discovery.host import Credential, Wire
from agent_discovery.host.exchange import Channel
from agent_discovery.versions import DEFAULT_VERSION, InvalidVersion, Version
from agent_discovery.wire import AGENTS_GET, AGENTS_LIST, EXTENSION_ID
from demo.clauses.line import Line, Seen

__all__ = [
    "MOST_OPENED",
    "MOST_PAGES",
    "NO_PROTOCOL",
    "Ground",
    "Pages",
    "Visit",
    "declared_for",
    "made_up_name",
    "read_pages",
]

MOST_PAGES: Final = 1000
"""Pages of one list that are read."""
MOST_OPENED: Final = 20
"""Agents that are opened for each caller."""
_MOST_UNANSWERED: Final = 3
NO_PROTOCOL: Final = "1999-01-01"
"""A protocol version that nobody speaks."""


@dataclass(frozen=True)
class Pages:
    """A list in its pages: the exchanges, the items of all pages, and why it could not be read to its end."""

    member: str
    seen: tuple[Seen, ...] = ()
    items: tuple[Any, ...] = ()
    trouble: str | None = None
    in_cursors: bool = False
    """Whether the trouble is about cursors; else it is about a page itself."""

    @property
    def is_whole(self) -> bool:
        return self.trouble is None

    @property
    def cited(self) -> tuple[Seen, ...]:
        """The first and the last exchange."""
        return self.seen if len(self.seen) < 2 else (self.seen[0], self.seen[-1])

    @property
    def by_name(self) -> dict[str, Mapping[str, Any]]:
        """The items that are objects with a name; of a name given twice, the first."""
        named: dict[str, Mapping[str, Any]] = {}
        for item in self.items:
            name = item.get("name") if isinstance(item, Mapping) else None
            if isinstance(name, str) and name:
                named.setdefault(name, item)
        return named


async def read_pages(line: Line, method: str, member: str, seconds: float) -> Pages:
    """Read a list to its end, within `seconds` and `MOST_PAGES`."""
    seen: list[Seen] = []
    items: list[Any] = []
    cursors: set[str] = set()
    cursor: str | None = None

    def so_far(trouble: str | None = None, *, in_cursors: bool = False) -> Pages:
        return Pages(member, tuple(seen), tuple(items), trouble, in_cursors)

    deadline = anyio.current_time() + seconds
    while True:
        page = await line.ask(method, {} if cursor is None else {"cursor": cursor})
        seen.append(page)
        if page.result is None:
            return so_far(f"{method} was answered with {page.answered}")
        if not isinstance(page.result.get(member), list):
            return so_far(f"the result of {method} has no list of {member}")
        items += page.result[member]
        if page.result.get("nextCursor") is None:
            return so_far()
        cursor = page.result["nextCursor"]
        if not isinstance(cursor, str):
            return so_far(f"nextCursor of {method} is {type(cursor).__name__}, not a string", in_cursors=True)
        if cursor in cursors:
            return so_far(f"the pages of {method} go round in a circle: a cursor came twice", in_cursors=True)
        if len(seen) >= MOST_PAGES or anyio.current_time() > deadline:
            return so_far(f"{method} still has a nextCursor after {len(seen)} pages", in_cursors=True)
        cursors.add(cursor)


@dataclass(eq=False)
class Visit:
    """One caller at the server."""

    line: Line
    opening: Seen
    roster: Pages = field(default_factory=lambda: Pages("agents"))
    tools: Pages = field(default_factory=lambda: Pages("tools"))
    opened: dict[str, Seen] = field(default_factory=dict)
    """By name: what `agents/get` answered, for the first `MOST_OPENED` agents of the roster."""

    @property
    def label(self) -> str:
        return self.line.label

    @property
    def names(self) -> tuple[str, ...]:
        """The agents' names that can be asked for, each once, in the server's order."""
        return tuple(self.roster.by_name)

    @property
    def agents(self) -> dict[str, Mapping[str, Any]]:
        """The results of the agents that were opened."""
        return {name: seen.result for name, seen in self.opened.items() if seen.result is not None}

    @property
    def refused_for_scope(self) -> dict[str, Seen]:
        """The agents that this caller sees and that answered with 401, 403 or a challenge."""
        return {name: seen for name, seen in self.opened.items() if seen.status in (401, 403) or seen.challenge}


@dataclass(eq=False)
class Ground:
    """All that probes share. Probes may ask more through `visits` and `another_line`."""

    channel: Channel
    wire: Wire
    credentials: tuple[Credential, ...]
    timeout: float
    hidden_name: str | None = None
    call_tools: bool = False
    visits: list[Visit] = field(default_factory=list)
    bare: Visit | None = None
    """The first caller again, not declaring the extension."""
    declared: Mapping[str, Any] = field(default_factory=dict)
    """What each line declares for the extension, but where a probe is about that."""
    _lines: AsyncExitStack = field(default_factory=AsyncExitStack)

    @property
    def first(self) -> Visit:
        """The caller of the first token, as whom everything is asked that does not depend on the caller."""
        return self.visits[0]

    @property
    def settings(self) -> Any:
        """What the server advertises for the extension, as it came."""
        capabilities = (self.first.opening.result or {}).get("capabilities")
        extensions = capabilities.get("extensions") if isinstance(capabilities, Mapping) else None
        return extensions.get(EXTENSION_ID) if isinstance(extensions, Mapping) else None

    async def read(self) -> None:
        """Let every caller open, list and look; then once more without declaring the extension."""
        for credential in self.credentials:
            line, opening = await self.another_line(self.declared, credential)
            visit = Visit(line, opening)
            self.visits.append(visit)
            if opening.result is not None:
                await self._look(visit)
        line, opening = await self.another_line(None)
        self.bare = Visit(line, opening)
        if opening.result is not None:
            self.bare.tools = await read_pages(line, "tools/list", "tools", self.patience)

    @property
    def patience(self) -> float:
        """Seconds for a list of many pages."""
        return max(30.0, 3 * self.timeout)

    async def another_line(
        self, settings: Mapping[str, Any] | None, credential: Credential | None = None
    ) -> tuple[Line, Seen]:
        """A line that declares these settings, and how opening it was answered; the survey's end closes it."""
        line = Line(self.channel, self.wire, credential or self.credentials[0], settings, self.timeout)
        self._lines.push_async_callback(line.aclose)
        return line, await line.open()

    async def aclose(self) -> None:
        """End every session that was opened."""
        await self._lines.aclose()

    async def _look(self, visit: Visit) -> None:
        visit.roster = await read_pages(visit.line, AGENTS_LIST, "agents", self.patience)
        visit.tools = await read_pages(visit.line, "tools/list", "tools", self.patience)
        unanswered = 0
        for name in visit.names[:MOST_OPENED]:
            visit.opened[name] = seen = await visit.line.ask(AGENTS_GET, {"name": name})
            unanswered += seen.answer is None
            if unanswered == _MOST_UNANSWERED:
                return


def declared_for(advertised: Any) -> dict[str, Any]:
    """What to declare for the server to serve us: nothing where 1.0.0 will do, else its lowest version."""
    versions = advertised.get("versions") if isinstance(advertised, Mapping) else None
    parsed = [version for text in versions if (version := _version(text))] if isinstance(versions, list) else []
    if not parsed or any(version.major == DEFAULT_VERSION.major for version in parsed):
        return {}
    return {"version": str(min(parsed))}


def _version(text: object) -> Version | None:
    try:
        return Version.parse(text)
    except InvalidVersion:
        return None


def made_up_name(length: int = 24) -> str:
    """A name of this many characters that no server has registered, but by a chance that is none."""
    return ("x" + secrets.token_hex(max(1, length)))[: max(1, length)]
