"""An agent as a tool: what a supervisor model is shown in order to hand a task over.

Owns the tool definition, its name, and the way back from that name to the agent. Running the agent is the host's
business. Made from cards alone, so nothing of an agent's instructions, tools or schemas gets into the routing context
(draft, "Host guidance": it is discouraged to put all of that into one).
"""

import hashlib
import re
from collections.abc import Collection, Iterable, Mapping
from types import MappingProxyType
from typing import Any, Final

from agent_discovery.shapes import AgentCard, AgentDetails

from .errors import BadRequest
from .reading import Roster

__all__ = ["Delegations", "delegation_tool"]

_PREFIX: Final = "delegate_to_"
_LONGEST_NAME: Final = 64
_UNSAFE = re.compile(r"[^A-Za-z0-9_-]+")
_DIGEST: Final = 8
_LONGEST_DESCRIPTION: Final = 1000


class Delegations:
    """One delegation tool for each agent of a roster, and the way back.

    `taken` names the tools that the supervisor has besides, such as those of `tools/list`: no delegation tool gets
    one of these names. Names are the same for the same agents and `taken`, in any order.

    >>> from agent_discovery.shapes import AgentCard
    >>> delegations = Delegations([AgentCard(name="pipeline-agent", description="Finds out why a pipeline failed.")])
    >>> delegations.tools[0]["name"]
    'delegate_to_pipeline-agent'
    >>> delegations.agent_of("delegate_to_pipeline-agent")
    'pipeline-agent'
    """

    def __init__(self, agents: Roster | Iterable[AgentCard], *, taken: Collection[str] = ()) -> None:
        cards = agents.agents if isinstance(agents, Roster) else tuple(agents)
        _check_taken(taken)
        used = set(taken)
        names: dict[str, str] = {}
        tools: dict[str, dict[str, Any]] = {}
        for card in sorted(cards, key=lambda card: (_safe(card.name) != card.name, card.name)):
            if card.name in tools:
                raise BadRequest(f"Delegations: agent {card.name!r} is given twice; pass each once, as a roster does")
            tools[card.name] = delegation_tool(card, taken=used)
            name = tools[card.name]["name"]
            names[name] = card.name
            used.add(name)
        self.tools = tuple(tools[card.name] for card in cards)
        self._agents: Mapping[str, str] = MappingProxyType(names)

    def agent_of(self, tool: str) -> str | None:
        """The agent that this tool delegates to; None where it is none of these tools."""
        return self._agents.get(tool)


def delegation_tool(agent: AgentCard | AgentDetails, *, taken: Collection[str] = ()) -> dict[str, Any]:
    """One local tool by which a model hands a task to this agent, in the shape of an MCP `Tool`.

    Its name has letters, digits, `_` and `-` only, 64 at most, which MCP and the model vendors' rules allow, and is
    not one of `taken`. Of details only the card is used. The card's text is the server's: it describes, it is not to
    be obeyed.
    """
    card = agent.agent if isinstance(agent, AgentDetails) else agent
    _check_taken(taken)
    return {
        "name": _name(card.name, frozenset(taken)),
        "description": _description(card),
        "inputSchema": {
            "type": "object",
            "properties": {
                "task": {"type": "string", "description": "What the agent is to do, with all that it needs to know."}
            },
            "required": ["task"],
            "additionalProperties": False,
        },
    }


def _safe(name: str) -> str:
    return _UNSAFE.sub("_", name)


def _name(agent: str, taken: Collection[str]) -> str:
    """The agent's own name where it can be used, else as much of it as fits and a digest that sets it apart."""
    plain = _PREFIX + _safe(agent)
    if _safe(agent) == agent and len(plain) <= _LONGEST_NAME and plain not in taken:
        return plain
    digest = hashlib.sha256(agent.encode(errors="surrogatepass")).hexdigest()
    for length in range(_DIGEST, len(digest)):
        mark = "_" + digest[:length]
        name = plain[: max(0, _LONGEST_NAME - len(mark))] + mark
        if name not in taken:
            return name
    raise BadRequest(f"delegation_tool: no free name for agent {agent!r}; leave out of taken what nobody calls")


def _description(card: AgentCard) -> str:
    """One line, without what a terminal or a prompt could take for more than text."""
    parts = [f"Hands a task to the agent {card.name}."]
    if card.description:
        parts.append(card.description)
    if card.capabilities:
        parts.append(f"Capabilities: {', '.join(card.capabilities)}.")
    text = " ".join("".join(c if c.isprintable() else " " for c in " ".join(parts)).split())
    return text if len(text) <= _LONGEST_DESCRIPTION else text[: _LONGEST_DESCRIPTION - 1] + "…"


def _check_taken(taken: object) -> None:
    if isinstance(taken, str):
        raise BadRequest(f"taken must be a collection of tool names, got {taken!r}; write [{taken!r}]")
