"""What a script is made of: scenes, steps, expected answers and checks. Frozen data, no network, no output.

A step is the single fact from which the request that is sent, the arrows of the diagram, the curl line and the
comparison with what really travelled all derive. What an arrow says is worded in `demo.arrows`; what a check looks
at is gathered in `demo.memory`.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from demo.cast import Caller

if TYPE_CHECKING:
    from demo.memory import Memory

__all__ = [
    "Accepted",
    "Answer",
    "Challenged",
    "Check",
    "Decide",
    "Disturbance",
    "Exchange",
    "Finding",
    "Hear",
    "Leave",
    "Listen",
    "Open",
    "Opened",
    "Recall",
    "Ref",
    "Refused",
    "Result",
    "Scene",
    "Step",
    "StreamOpened",
    "Unlisten",
    "Wire",
]

Wire = Literal["session", "stateless"]


@dataclass(frozen=True)
class Result:
    """A JSON-RPC result with these members (`_meta` and `resultType`, which only one wire has, aside)."""

    members: tuple[str, ...]
    only_stateless: tuple[str, ...] = ()
    """Members that the stateless wire adds (the session wire's schema has no place for them)."""

    def on(self, wire: Wire) -> tuple[str, ...]:
        return self.members + (self.only_stateless if wire == "stateless" else ())


@dataclass(frozen=True)
class Opened:
    """The answer to the opening request: the server's capabilities, with the extension among them."""


@dataclass(frozen=True)
class Refused:
    """A JSON-RPC error."""

    code: int
    reason: str


@dataclass(frozen=True)
class Challenged:
    """HTTP 403 with a Bearer challenge that asks for more scopes (RFC 6750, section 3)."""

    scope: str


@dataclass(frozen=True)
class Accepted:
    """An HTTP status and no body."""

    status: int


@dataclass(frozen=True)
class StreamOpened:
    """HTTP 200 and a stream of events behind it."""


Answer = Result | Opened | Refused | Challenged | Accepted | StreamOpened


@dataclass(frozen=True)
class Ref:
    """A value that an earlier answer of the same scene holds: the exchange's key, then the path inside its result."""

    key: str
    path: tuple[str | int, ...]


@dataclass(frozen=True)
class Open:
    """The caller's host connects: `initialize` and `notifications/initialized`, or `server/discover`."""

    caller: Caller
    key: str


@dataclass(frozen=True)
class Exchange:
    """One request and its answer."""

    key: str
    caller: Caller
    method: str
    answer: Answer
    params: Mapping[str, Any] | None = None
    through_cache: bool = False
    """The host asks its `AgentCache`, which sends the request only where it holds no fresh answer."""
    pause: bool = True
    """Whether a reader may rest before this step. False where waiting would let a cached answer expire."""


@dataclass(frozen=True)
class Recall:
    """The host needs something that its cache should still hold; `name` is an agent, None the roster."""

    key: str
    caller: Caller
    name: str | None
    pause: bool = False


@dataclass(frozen=True)
class Listen:
    """The host opens the stream on which change notifications arrive, and watches it."""

    caller: Caller
    key: str
    pause: bool = True


@dataclass(frozen=True)
class Hear:
    """The notification that the last request caused arrives."""

    key: str
    caller: Caller
    method: str
    pause: bool = False


@dataclass(frozen=True)
class Unlisten:
    """The host closes the stream again."""


@dataclass(frozen=True)
class Leave:
    """The caller's host says goodbye: it ends its session, where there is one."""

    caller: Caller
    key: str


@dataclass(frozen=True)
class Decide:
    """Something the host works out by itself; nothing travels."""

    key: str
    title: str
    decide: Callable[["Memory"], str]


Step = Open | Exchange | Recall | Listen | Hear | Unlisten | Leave | Decide


@dataclass(frozen=True)
class Finding:
    """What a check found: held or not, with both sides in words."""

    held: bool
    expected: str
    got: str


@dataclass(frozen=True)
class Check:
    """Something that must hold at the end of a scene."""

    title: str
    probe: Callable[["Memory"], Finding]


@dataclass(frozen=True)
class Disturbance:
    """Somebody else changed the server's roster while a scene was played; `reason` says what shows it."""

    reason: str
    doubtful: bool = False
    """Whether a server at fault would look the same. Twice in a row, it is the server's fault."""


@dataclass(frozen=True)
class Scene:
    """One scene: why it is there, what is done, what must hold."""

    number: int
    title: str
    lesson: str
    """One line for "what you will learn"."""
    note: str
    """The paragraphs told before the scene; Markdown-free plain text, paragraphs split by an empty line."""
    steps: tuple[Step, ...]
    checks: tuple[Check, ...]
    code: tuple[str, ...]
    """Where to look in the code: files of this project."""
    cleanup: tuple[Exchange, ...] = ()
    """Exchanges that put the server back as it was; they are sent whatever happened before."""
    gate: bool = False
    """Without its checks the walkthrough cannot go on."""
    disturbed: Callable[["Memory"], Awaitable[Disturbance | None]] | None = None
    """Asked when a check failed: whether somebody else changed the server's roster meanwhile. Then the scene is played
    again instead of being reported as failed."""
