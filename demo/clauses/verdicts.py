"""What came of each clause: observations in, one verdict a clause out.

Owns the values and the rule by which several observations become one verdict. It leaves the looking to `probes` and the
telling to `demo.report` and `telling`.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from demo.clauses.catalogue import CLAUSES, Clause
from demo.clauses.line import Seen

__all__ = ["Fault", "Observation", "Outcome", "Verdict", "broken", "held", "judge", "unexercised"]

Outcome = Literal["held", "broken", "not exercised", "own"]
"""`own`: a run cannot show it; a test of this project does."""

_MOST_SHOWN: Final = 4
"""Exchanges that a verdict cites."""
_MOST_TEXTS: Final = 4


@dataclass(frozen=True)
class Observation:
    """One look at one clause."""

    clause: str
    outcome: Outcome
    text: str
    shown: tuple[Seen, ...] = ()


@dataclass(frozen=True)
class Fault:
    """Something that is wrong whatever clause one looks at: no answer, or one that cannot be read."""

    text: str
    shown: tuple[Seen, ...] = ()


@dataclass(frozen=True)
class Verdict:
    """What became of a clause, in words, and the exchanges that show it."""

    clause: Clause
    outcome: Outcome
    text: str
    shown: tuple[Seen, ...] = ()

    @property
    def fails(self) -> bool:
        """Whether the server fails by it; a broken SHOULD is a warning."""
        return self.outcome == "broken" and self.clause.demands

    @property
    def warns(self) -> bool:
        return self.outcome == "broken" and not self.clause.demands


def held(clause: str, text: str, *shown: Seen) -> Observation:
    return Observation(clause, "held", text, shown)


def broken(clause: str, text: str, *shown: Seen) -> Observation:
    return Observation(clause, "broken", text, shown)


def unexercised(clause: str, reason: str) -> Observation:
    return Observation(clause, "not exercised", reason)


def judge(observations: Iterable[Observation]) -> tuple[Verdict, ...]:
    """One verdict for each clause of the catalogue, in its order: broken wins, then held."""
    by_clause: dict[str, list[Observation]] = {entry.id: [] for entry in CLAUSES}
    for observation in observations:
        by_clause[observation.clause].append(observation)
    return tuple(_verdict(entry, by_clause[entry.id]) for entry in CLAUSES)


def _verdict(entry: Clause, observed: Sequence[Observation]) -> Verdict:
    if entry.proof is not None:
        return Verdict(entry, "own", f"shown by this project's tests: {entry.proof}")
    kinds: Mapping[Outcome, list[Observation]] = {
        outcome: [one for one in observed if one.outcome == outcome] for outcome in ("broken", "held")
    }
    for outcome, those in kinds.items():
        if those:
            shown = tuple(seen for one in those for seen in one.shown)
            return Verdict(entry, outcome, _joined(those), shown[:_MOST_SHOWN])
    return Verdict(entry, "not exercised", _joined(observed) or "nothing here looked at it")


def _joined(observed: Sequence[Observation]) -> str:
    texts = list(dict.fromkeys(one.text for one in observed))
    more = f"; and {len(texts) - _MOST_TEXTS} more" if len(texts) > _MOST_TEXTS else ""
    return "; ".join(texts[:_MOST_TEXTS]) + more
