"""What an agent is: its definition, checked when it is written down.

Owns `AgentDef` and the rules for its fields. It leaves to `registry` which agents there are.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from agent_discovery.server.access import OPEN_TO_ALL, Access
from agent_discovery.shapes import AgentCard, ModelRoutingHint

__all__ = ["MAX_NAME_LENGTH", "AgentDef"]

MAX_NAME_LENGTH: Final = 128


@dataclass(frozen=True, kw_only=True)
class AgentDef:
    """One agent: what everyone who sees it may read (`name`, `description`, `capabilities`), and what opening it gives.

    Args:
        name: unique in the registry; 1 to 128 visible characters without whitespace.
        description: one or two sentences to route by.
        capabilities: labels to route by; not tool names.
        instructions: the prompt for whoever runs the agent; goes out with `agents/get` only.
        tools: names of tools of this server. Membership grants nothing: each tool keeps its own policies.
        model_routing_hint: advice on the model.
        access: who sees the agent, and which scopes opening it takes.

    Raises:
        ValueError: a field breaks its rule; the text says which and how to mend it.

    Source: draft "MCP Agent Discovery Extension", `agents/list` and `agents/get`.
    """

    name: str
    description: str | None = None
    capabilities: Sequence[str] = ()
    instructions: str | None = None
    tools: Sequence[str] = ()
    model_routing_hint: ModelRoutingHint | None = None
    access: Access = OPEN_TO_ALL

    def __post_init__(self) -> None:
        _check_name(self.name)
        for field in ("description", "instructions"):
            value = getattr(self, field)
            if value is not None and not isinstance(value, str):
                raise ValueError(
                    f"agent {self.name!r}: {field} must be a text or None, got {value!r}; leave it out for none"
                )
        for field in ("capabilities", "tools"):
            object.__setattr__(self, field, _texts(self.name, field, getattr(self, field)))
        clash = sorted(set(self.capabilities) & set(self.tools))
        if clash:
            raise ValueError(
                f"agent {self.name!r}: capabilities are labels, not tool names, got {clash[0]!r} in both; "
                "name what the agent is good for instead"
            )
        if self.model_routing_hint is not None and not isinstance(self.model_routing_hint, ModelRoutingHint):
            raise ValueError(
                f"agent {self.name!r}: model_routing_hint must be a ModelRoutingHint, got {self.model_routing_hint!r}; "
                "write ModelRoutingHint(role='small')"
            )
        if not isinstance(self.access, Access):
            raise ValueError(
                f"agent {self.name!r}: access must be an Access, got {self.access!r}; "
                "write Access(visible_to=holders_of('a:scope'))"
            )

    def card(self) -> AgentCard:
        """The part of the definition that `agents/list` shows."""
        return AgentCard(name=self.name, description=self.description, capabilities=tuple(self.capabilities))


def _check_name(name: object) -> None:
    if (
        not isinstance(name, str)
        or not 1 <= len(name) <= MAX_NAME_LENGTH
        or not all(char.isprintable() and not char.isspace() for char in name)
    ):
        raise ValueError(
            f"an agent's name must be 1 to {MAX_NAME_LENGTH} visible characters without whitespace, got {name!r}; "
            "choose a short handle such as 'billing-agent'"
        )


def _texts(agent: str, field: str, value: object) -> tuple[str, ...]:
    if isinstance(value, str) or not isinstance(value, Sequence):
        raise ValueError(f"agent {agent!r}: {field} must be a tuple of texts, got {value!r}; write ({value!r},)")
    texts = tuple(value)
    for text in texts:
        if not isinstance(text, str) or not text.strip():
            raise ValueError(
                f"agent {agent!r}: each of {field} must be a non-empty text, got {text!r}; mend or remove it"
            )
    twice = sorted({text for text in texts if texts.count(text) > 1})
    if twice:
        raise ValueError(f"agent {agent!r}: {field} must not repeat itself, got {twice[0]!r} twice; remove one")
    return texts
