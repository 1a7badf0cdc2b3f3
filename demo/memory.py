"""What the host remembers of a scene while it is played: the frames of each step, and the values read out of them.

Checks and the host's decisions look at nothing else.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from agent_discovery.host import AnswerFrame, HostError, NotificationFrame, RequestFrame
from demo.cast import Caller
from demo.scene import Ref, Wire

if TYPE_CHECKING:  # the script knows the memory, and is shown before anything has to be loaded that sends
    from agent_discovery.host import CacheEvent, Connection, Roster
    from agent_discovery.shapes import AgentDetails

__all__ = ["UNREADABLE", "Memory", "NotReached", "Trace"]

UNREADABLE: Final = (TypeError, LookupError, AttributeError, ValueError)
"""What reading an answer may raise: a server may send anything at all, and that is its fault and no crash of ours."""


class NotReached(LookupError):
    """A check or a step needs an answer that never came, or that is not of the kind it needs."""


@dataclass
class Trace:
    """What one step caused."""

    requests: list[RequestFrame] = field(default_factory=list)
    answers: list[AnswerFrame] = field(default_factory=list)
    notifications: list[NotificationFrame] = field(default_factory=list)
    cache: "list[CacheEvent]" = field(default_factory=list)
    error: HostError | None = None


@dataclass
class Memory:
    """The scene so far. `connections` outlive it: they are the host's, and belong to the whole walk."""

    wire: Wire
    connections: "Mapping[str, Connection]"
    """By user: callers of one user share a connection."""
    traces: dict[str, Trace] = field(default_factory=dict)
    heard: list[NotificationFrame] = field(default_factory=list)
    """Every change notification that arrived during the scene, in order."""
    decided: dict[str, str] = field(default_factory=dict)
    recalled: "dict[str, Roster | AgentDetails]" = field(default_factory=dict)
    """What the cache gave, by the key of the step that asked it."""

    def trace(self, key: str) -> Trace:
        """The frames of the step with this key.

        Raises:
            NotReached: the step was not played.
        """
        if key not in self.traces:
            errors = [trace.error for trace in self.traces.values() if trace.error is not None]
            raise NotReached(f"step {key!r} was not reached" + (f": {errors[-1]}" if errors else ""))
        return self.traces[key]

    def answer(self, key: str) -> AnswerFrame:
        """The last answer that the step received."""
        answers = self.trace(key).answers
        if not answers:
            raise NotReached(f"step {key!r} received no answer")
        return answers[-1]

    def result(self, key: str) -> Mapping[str, Any]:
        """The JSON-RPC result of the step's last answer."""
        result = (self.answer(key).message or {}).get("result")
        if not isinstance(result, Mapping):
            raise NotReached(f"step {key!r} was not answered with a result")
        return result

    def pages(self, key: str, member: str) -> list[Any]:
        """A list that may have come in several pages: the member of each answer's result, joined."""
        self.result(key)
        joined: list[Any] = []
        for answer in self.trace(key).answers:
            page = ((answer.message or {}).get("result") or {}).get(member)
            if not isinstance(page, list):
                raise NotReached(f"step {key!r} was answered without a list of {member}")
            joined.extend(page)
        return joined

    def resolve(self, value: Any) -> Any:
        """The value with each `Ref` in it replaced by what it refers to."""
        match value:
            case Ref(key=key, path=path):
                return self._look_up(key, path)
            case Mapping():
                return {name: self.resolve(item) for name, item in value.items()}
            case list() | tuple():
                return [self.resolve(item) for item in value]
            case _:
                return value

    def _look_up(self, key: str, path: tuple[str | int, ...]) -> Any:
        found: Any = self.result(key)
        for part in path:
            try:
                found = found[part]
            except (KeyError, IndexError, TypeError) as problem:
                where = ".".join(str(name) for name in path)
                raise NotReached(f"the answer of step {key!r} has no {where}") from problem
        return found

    def connection(self, caller: Caller) -> "Connection":
        """The caller's connection, speaking with the caller's token."""
        connection = self.connections.get(caller.user)
        if connection is None:
            raise NotReached(f"{caller.name} is not connected")
        return (
            connection
            if connection.authorization == caller.credential.context
            else connection.as_token(caller.credential)
        )
