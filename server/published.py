"""What the server publishes now: one roster in force, and the step to another.

Owns the state that a reload changes: registry, tools, tokens, scopes and provider. It leaves rosters to `roster` and
`roster_file`, and reading one again to `reload`. The step is taken in one go on the event loop, so no request meets
half of one roster and half of another.
"""

from dataclasses import dataclass

from agent_discovery.server import AgentDef, AgentRegistry
from server.leases import TokenLeases
from server.roster import BUILT_IN, RELEASE_AGENT, Provider, Roster, synthetic_agents
from server.tokens import TableVerifier
from server.tools import ToolShelf, build_tools

__all__ = ["Difference", "Published"]


@dataclass(frozen=True)
class Difference:
    """What a new roster changed: names of agents, and the tokens that are no longer good for what they were."""

    added: tuple[str, ...]
    changed: tuple[str, ...]
    removed: tuple[str, ...]
    ended_tokens: frozenset[str]

    def __str__(self) -> str:
        parts = [
            f"{what} {', '.join(names[:5])}{f' and {len(names) - 5} more' if len(names) > 5 else ''}"
            for what, names in (("added", self.added), ("changed", self.changed), ("removed", self.removed))
            if names
        ]
        return f"{'; '.join(parts) or 'no agent changed'}; tokens changed or removed: {len(self.ended_tokens)}"


class Published:
    """The roster in force.

    Args:
        roster: what to publish first.
        ttl_ms: see `AgentRegistry`.
        page_size: see `AgentRegistry`.
        synthetic: how many made-up agents to add to every roster.
    """

    def __init__(
        self, roster: Roster = BUILT_IN, *, ttl_ms: int = 60_000, page_size: int = 50, synthetic: int = 0
    ) -> None:
        self.shelf = ToolShelf()
        self.registry = AgentRegistry(tools=self.shelf.names, ttl_ms=ttl_ms, page_size=page_size)
        self.verifier = TableVerifier(())
        self.leases = TokenLeases()
        self._demo_tools = {tool.name: tool for tool in build_tools(self.registry)}
        self._synthetic = synthetic
        self._agents: frozenset[str] = frozenset()
        self.scopes: tuple[str, ...] = ()
        self.provider = Provider()
        self.apply(roster)

    def apply(self, roster: Roster) -> Difference:
        """Put `roster` in force and tell what that changed.

        Agents that are equal in both keep their place and wake nobody; new ones come last. An agent that was published
        at run time stays as long as the roster still has the tool to retire it. Streams of tokens that are gone, or
        mean something else now, end. Call it on the event loop.
        """
        self.scopes, self.provider = roster.scopes, roster.provider
        ended = self.verifier.replace(roster.tokens)
        self.leases.end(ended)
        self.shelf.replace([tool.canned or self._demo_tools[tool.name] for tool in roster.tools])
        for tool in roster.tools:
            self.registry.guard_tool(tool.name, tool.access)
        wanted = self._wanted(roster)
        gone = self._agents - wanted.keys()
        if "retire_release_agent" not in self.shelf.names() and RELEASE_AGENT.name not in wanted:
            gone |= {RELEASE_AGENT.name}
        removed = tuple(name for name in sorted(gone) if self.registry.remove(name))
        put = [name for name, agent in wanted.items() if self.registry.put(agent)]
        before, self._agents = self._agents, frozenset(wanted)
        added = tuple(name for name in put if name not in before)
        changed = tuple(name for name in put if name in before)
        return Difference(added, changed, removed, ended)

    def _wanted(self, roster: Roster) -> dict[str, AgentDef]:
        """The roster's own agents first; a made-up one gives way to one of its name."""
        wanted = {agent.name: agent for agent in roster.agents}
        for agent in synthetic_agents(self._synthetic, [tool.name for tool in roster.tools]):
            wanted.setdefault(agent.name, agent)
        return wanted
