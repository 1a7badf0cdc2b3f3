"""What a model's context would hold: all tools at once, or the roster and the agents that were opened.

`context_cost` is pure; `ContextMeter` shows it.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from textual.content import Content
from textual.reactive import reactive
from textual.widgets import Static

__all__ = ["ContextMeter", "Cost", "context_cost"]


@dataclass(frozen=True)
class Cost:
    """Bytes of JSON, UTF-8 and without spaces, that a model would have been given."""

    tools: int | None
    """By `tools/list`; None where it was not asked."""
    roster: int
    opened: int
    agents: int
    """How many agents were opened."""

    @property
    def discovered(self) -> int:
        """By `agents/list` and the opened agents together."""
        return self.roster + self.opened


def context_cost(
    tools_list_result: Mapping[str, Any] | Sequence[Any] | None,
    roster_cards: Iterable[Mapping[str, Any]],
    opened: Iterable[Mapping[str, Any]],
) -> Cost:
    """The cost of both ways.

    Args:
        tools_list_result: the result of `tools/list`, or its tools; None where nobody asked for it.
        roster_cards: the cards of `agents/list`, as they travel.
        opened: the results of `agents/get`, as they travel; instructions and tools are what is counted.
    """
    cards, agents = list(roster_cards), list(opened)
    tools: Any = tools_list_result
    if isinstance(tools_list_result, Mapping):
        tools = tools_list_result.get("tools", [])
    return Cost(
        tools=None if tools is None else _bytes(tools),
        roster=_bytes(cards) if cards else 0,
        opened=sum(_bytes({name: agent.get(name) for name in ("instructions", "tools")}) for agent in agents),
        agents=len(agents),
    )


def tokens(size: int) -> int:
    """An estimate: four bytes a token."""
    return -(-size // 4)


class ContextMeter(Static):
    """Both costs in a few lines."""

    HELP: ClassVar[str] = (
        "How much a model would have been given: every tool by tools/list, against the roster by agents/list and the\n"
        "agents that were opened. Tokens are estimated as a quarter of the bytes."
    )

    cost: reactive[Cost | None] = reactive(None)

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes, markup=False)

    def watch_cost(self) -> None:
        self.update(Content(meter_text(self.cost)))


def meter_text(cost: Cost | None) -> str:
    """The meter's text."""
    if cost is None:
        return "context: nothing asked yet"
    all_tools = "not asked" if cost.tools is None else _sized(cost.tools)
    agents = "agent" if cost.agents == 1 else "agents"
    return (
        f"tools/list: {all_tools}\n"
        f"agents/list + {cost.agents} {agents}: {_sized(cost.discovered)}\n"
        "(tokens: bytes / 4, an estimate)"
    )


def _sized(size: int) -> str:
    return f"{size:,} bytes, ~{tokens(size):,} tokens"


def _bytes(value: Any) -> int:
    return len(json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass"))
