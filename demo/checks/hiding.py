"""Scene 5: that each caller has a roster of its own, and that what is hidden answers as what never was."""

import json
from collections.abc import Mapping
from typing import Any

from agent_discovery.wire import AGENT_NOT_FOUND, INVALID_PARAMS
from demo.cast import RELEASE_AGENT
from demo.checks.wording import names_of, some, words
from demo.likeness import comparable
from demo.memory import Memory
from demo.scene import Disturbance, Finding

__all__ = [
    "bob_sees_billing_agent",
    "bob_was_asked_for",
    "hidden_equals_unknown",
    "hidden_is_not_found",
    "someone_published_meanwhile",
]


def bob_sees_billing_agent(memory: Memory) -> Finding:
    names = names_of(memory, "list-bob")
    return Finding("billing-agent" in names, "billing-agent among them", some(names))


def bob_was_asked_for(memory: Memory) -> Finding:
    sent = len(memory.trace("list-bob").requests)
    return Finding(sent >= 1, "a request of Bob's own", f"{sent} sent")


def hidden_is_not_found(memory: Memory) -> Finding:
    answer = memory.answer("get-hidden")
    error = (answer.message or {}).get("error")
    expected = f"{INVALID_PARAMS} with data.reason {AGENT_NOT_FOUND}"
    if not isinstance(error, Mapping):
        return Finding(False, expected, f"HTTP {answer.status}, {words(answer.body)}")
    data = error.get("data")
    reason = data.get("reason") if isinstance(data, Mapping) else None
    held = (error.get("code"), reason) == (INVALID_PARAMS, AGENT_NOT_FOUND)
    return Finding(held, expected, f"{error.get('code')}, {reason}")


def hidden_equals_unknown(memory: Memory) -> Finding:
    hidden = comparable(memory.answer("get-hidden"), _asked(memory, "get-hidden"))
    unknown = comparable(memory.answer("get-unknown"), _asked(memory, "get-unknown"))
    differing = sorted(part for part in hidden if hidden[part] != unknown[part])
    got = "; ".join(f"{part}: {' against '.join(_apart(hidden[part], unknown[part]))}" for part in differing)
    return Finding(not differing, "one answer for both, but for the id and the echoed name", got or "the same answer")


def _apart(one: Any, other: Any) -> tuple[str, str]:
    """Two values that differ, each in words and cut down to where they do."""
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        fields = sorted(name for name in {*one, *other} if one.get(name) != other.get(name))
        return words({name: one.get(name) for name in fields}), words({name: other.get(name) for name in fields})
    if not isinstance(one, str) or not isinstance(other, str):
        return words(one), words(other)
    pairs = enumerate(zip(one, other, strict=False))
    same = next((at for at, (left, right) in pairs if left != right), min(len(one), len(other)))
    start = max(0, same - 40)
    lead = "..." if start else ""
    return lead + words(one[start : same + 80]), lead + words(other[start : same + 80])


def _asked(memory: Memory, key: str) -> str:
    message = memory.trace(key).requests[-1].message or {}
    return str(message["params"]["name"])


async def someone_published_meanwhile(memory: Memory) -> Disturbance | None:
    """Whether the two refusals name rosters that differ by the release agent: somebody published or retired it."""
    rosters = []
    for key in ("get-hidden", "get-unknown"):
        trace = memory.traces.get(key)
        text = json.dumps(trace.answers[-1].body) if trace and trace.answers else ""
        rosters.append(RELEASE_AGENT in text)
    if rosters[0] != rosters[1]:
        return Disturbance(f"{RELEASE_AGENT} came or went between the two requests")
    return None
