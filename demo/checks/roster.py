"""Scenes 1 and 2: whether the server offers agents, and what its roster holds and leaves out."""

from collections.abc import Mapping
from typing import Any

from agent_discovery.wire import EXTENSION_ID, extension_settings
from demo.checks.wording import equal, names_of, some, words
from demo.memory import Memory, NotReached
from demo.scene import Finding

__all__ = [
    "alice_keeps_no_billing_agent",
    "answer_is_private",
    "cards_carry_routing_fields_only",
    "extension_is_advertised",
    "list_changed_is_promised",
    "names_are_unique",
    "roster_has",
]


_CARD_FIELDS = frozenset({"name", "description", "capabilities"})


def _settings(memory: Memory) -> Mapping[str, Any] | None:
    # A host that leaves the choice of the wire open may have been refused on the other wire before.
    results = [(answer.message or {}).get("result") for answer in memory.trace("open-alice").answers]
    opened = [result for result in results if result is not None]
    if not opened:
        raise NotReached("the server did not answer the opening request")
    return extension_settings(opened[0].get("capabilities"))


def extension_is_advertised(memory: Memory) -> Finding:
    settings = _settings(memory)
    got = "not there" if settings is None else f"there, with {words(dict(settings))}"
    return Finding(settings is not None, f'capabilities.extensions["{EXTENSION_ID}"] is there', got)


def list_changed_is_promised(memory: Memory) -> Finding:
    return equal({"listChanged": True}, dict(_settings(memory) or {}))


def cards_carry_routing_fields_only(memory: Memory) -> Finding:
    extra = sorted({field for card in memory.pages("list-alice", "agents") for field in card} - _CARD_FIELDS)
    return Finding(
        not extra, "name, description and capabilities at most", f"also {extra}" if extra else "nothing else"
    )


def names_are_unique(memory: Memory) -> Finding:
    names = names_of(memory, "list-alice")
    twice = sorted({name for name in names if names.count(name) > 1})
    return Finding(not twice, "each name once", f"{twice} more than once" if twice else "each once")


def roster_has(memory: Memory) -> Finding:
    wanted = ["pipeline-agent", "deploy-agent"]
    names = names_of(memory, "list-alice")
    return Finding(set(wanted) <= set(names), f"{words(wanted)} among them", some(names))


def alice_keeps_no_billing_agent(memory: Memory) -> Finding:
    names = names_of(memory, "list-alice")
    return Finding("billing-agent" not in names, "no billing-agent", some(names))


def answer_is_private(memory: Memory) -> Finding:
    scopes = [
        ((answer.message or {}).get("result") or {}).get("cacheScope") for answer in memory.trace("list-alice").answers
    ]
    memory.result("list-alice")
    return Finding(
        set(scopes) == {"private"}, 'cacheScope "private" on every page', words(sorted(set(map(str, scopes))))
    )
