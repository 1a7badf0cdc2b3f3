"""What comes of exploring, as values: an outcome of one request, a step-up, a difference of rosters, what streams tell.

Owns these shapes and what can be read off them without asking anybody. Making them is `explorer`'s business.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Literal

from agent_discovery.host import (
    AnswerFrame,
    Frame,
    HostError,
    InsufficientScope,
    RequestFrame,
    ServerFault,
    step_up_scopes,
)
from demo.cast import CAST, Caller
from demo.scene import Wire

if TYPE_CHECKING:
    from agent_discovery.host import CacheEvent, Roster
    from agent_discovery.shapes import AgentCard, AgentDetails

__all__ = [
    "PUBLISH",
    "RETIRE",
    "CacheTold",
    "Difference",
    "ExplorerEvent",
    "Heard",
    "Outcome",
    "Question",
    "RosterMissed",
    "RosterRead",
    "StepUp",
    "StreamMoved",
    "wire_of",
]


@dataclass(frozen=True)
class Question:
    """One request, apart from who sends it and on which wire."""

    method: str
    params: Mapping[str, Any] = field(default_factory=dict)


PUBLISH: Final = Question("tools/call", {"name": "publish_release_agent", "arguments": {}})
RETIRE: Final = Question("tools/call", {"name": "retire_release_agent", "arguments": {}})


@dataclass(frozen=True)
class Outcome:
    """What came of one question: a result, or an error.

    `request` and `answer` are the frames that really travelled; both are None where the cache answered or nothing
    could be sent. `details` is there after a successful `agents/get`.
    """

    question: Question
    caller: Caller
    wire: Wire
    request: RequestFrame | None = None
    answer: AnswerFrame | None = None
    result: Mapping[str, Any] | None = None
    error: HostError | None = None
    details: "AgentDetails | None" = None

    @property
    def from_cache(self) -> bool:
        """Whether it was answered without a request."""
        return self.error is None and self.request is None

    @property
    def tool_failed(self) -> bool:
        """Whether a tool ran and says that it failed (MCP, `isError`)."""
        return self.result is not None and self.result.get("isError") is True


@dataclass(frozen=True)
class StepUp:
    """A refusal that asks for more scope, and what a host can do about it.

    `wanted` is the union of the scopes held and those asked for; `after` is who has them all, None where nobody in the
    cast does; `problem` says why stepping up is no use.
    """

    refused: Outcome
    refusal: InsufficientScope
    wanted: tuple[str, ...]
    after: Caller | None
    problem: str | None = None

    @classmethod
    def after_refusal(cls, outcome: Outcome) -> "StepUp | None":
        """The step-up that an outcome calls for; None where it is no such refusal."""
        refusal = outcome.error
        if not isinstance(refusal, InsufficientScope):
            return None
        held = outcome.caller.scopes
        try:
            wanted = step_up_scopes(refusal, held)
        except ServerFault as fault:
            return cls(outcome, refusal, held, None, str(fault))
        if set(wanted) <= set(held):
            return cls(outcome, refusal, wanted, None, "the challenge asks for nothing that this caller does not have")
        after = next((c for c in CAST if c.user == outcome.caller.user and set(wanted) <= set(c.scopes)), None)
        problem = None if after else "no token of this user has all these scopes"
        return cls(outcome, refusal, wanted, after, problem)

    @property
    def before(self) -> Caller:
        """Who was refused."""
        return self.refused.caller


@dataclass(frozen=True)
class Difference:
    """What tells two rosters of the same caller apart, in the order of the rosters."""

    added: "tuple[AgentCard, ...]" = ()
    removed: "tuple[AgentCard, ...]" = ()
    changed: "tuple[tuple[AgentCard, AgentCard], ...]" = ()
    """Before and after."""

    @classmethod
    def between(cls, before: "Roster | None", after: "Roster") -> "Difference":
        """What changed; nothing where there was no roster before."""
        if before is None:
            return cls()
        return cls(
            added=tuple(card for card in after.agents if card.name not in before),
            removed=tuple(card for card in before.agents if card.name not in after),
            changed=tuple(_changed(before, after.agents)),
        )

    def __bool__(self) -> bool:
        return bool(self.added or self.removed or self.changed)

    def lines(self) -> list[str]:
        """The difference in words, a line a card."""
        lines = [f"+ {card.name}: {card.description or 'no description'}" for card in self.added]
        lines += [f"- {card.name}" for card in self.removed]
        for before, after in self.changed:
            old, new = before.to_wire(), after.to_wire()
            members = [name for name in sorted({*old, *new}) if old.get(name) != new.get(name)]
            lines.append(f"~ {after.name}: {', '.join(members)} changed")
        return lines or ["no difference"]


def _changed(before: "Roster", cards: "Iterable[AgentCard]") -> "Iterable[tuple[AgentCard, AgentCard]]":
    for card in cards:
        old = before.get(card.name)
        if old is not None and old != card:
            yield old, card


@dataclass(frozen=True)
class StreamMoved:
    """The stream on which a caller hears of changes opened, ended, or cannot be had; `why` says more."""

    caller: Caller
    state: Literal["open", "closed"]
    why: str = ""


@dataclass(frozen=True)
class Heard:
    """A `list_changed` arrived for this caller, and this is what it made the cache drop."""

    caller: Caller
    dropped: "tuple[CacheEvent, ...]"


@dataclass(frozen=True)
class RosterRead:
    """A caller's roster as it now is, and how it differs from the one known before."""

    caller: Caller
    roster: "Roster"
    difference: Difference
    from_cache: bool


@dataclass(frozen=True)
class RosterMissed:
    """A caller's roster could not be read; what was known of it before still stands."""

    caller: Caller
    error: HostError


@dataclass(frozen=True)
class CacheTold:
    """The cache did something."""

    event: "CacheEvent"


ExplorerEvent = StreamMoved | Heard | RosterRead | RosterMissed | CacheTold


def wire_of(frame: Frame) -> Wire:
    """The wire that a frame belongs to, read off its request: only the stateless one names the method in a header."""
    request = frame if isinstance(frame, RequestFrame) else frame.request
    return "stateless" if "mcp-method" in request.headers else "session"
