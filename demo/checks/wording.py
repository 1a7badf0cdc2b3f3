"""How findings are worded: values as a reader sees them, cut down to where a line can hold them."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from demo.memory import Memory
from demo.scene import Finding

__all__ = [
    "equal",
    "names_of",
    "some",
    "words",
]

_LONGEST = 300
_MOST = 8


def words(value: Any) -> str:
    """A value as a reader sees it: JSON, shortened."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _LONGEST else text[: _LONGEST - 3] + "..."


def some(names: Sequence[str]) -> str:
    """The first few names, and how many there are besides."""
    return words(list(names[:_MOST])) + (f" and {len(names) - _MOST} more" if len(names) > _MOST else "")


def equal(expected: Any, got: Any) -> Finding:
    """Held where the two are equal."""
    return Finding(expected == got, words(expected), words(got))


def names_of(memory: Memory, key: str) -> list[str]:
    """The agents' names in the roster that this step was answered with; raises `NotReached` without one."""
    return [str(card.get("name")) if isinstance(card, Mapping) else "?" for card in memory.pages(key, "agents")]
