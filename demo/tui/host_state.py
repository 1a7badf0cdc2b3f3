"""The host's state: who acts with which scopes, what is cached and for how much longer, which streams are open.

`gather` reads it off the player and its stage; `HostPanel` shows it, anew each second. What a context costs is
counted in `meter`.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from textual.app import ComposeResult
from textual.containers import Vertical

from agent_discovery.host import AnswerFrame
from demo.cast import ALICE, CAST, Caller
from demo.events import CacheMoved, Event, StepStarted, Travelled
from demo.memory import Memory
from demo.plain import printable
from demo.scene import Listen
from demo.tui.folded_view import FoldedView
from demo.tui.lifelines import request_of
from demo.tui.meter import ContextMeter, Cost, context_cost
from demo.tui.player import Player

if TYPE_CHECKING:
    from demo.stage import Stage

__all__ = ["HostPanel", "HostState", "Kept", "cost_of", "gather", "state_texts"]


@dataclass(frozen=True)
class Kept:
    """A fresh entry of the cache: whose, of what ("roster" or an agent's name), and seconds left."""

    caller: str
    what: str
    seconds: float


@dataclass(frozen=True)
class HostState:
    """The host at one moment."""

    acting: Caller | None
    """Who sent the last request that the reader sees."""
    connections: tuple[str, ...]
    kept: tuple[Kept, ...]
    listening: str | None
    """Who listens for changes, where a stream is open."""


class HostPanel(Vertical):
    """Shows the host's state and the context meter."""

    HELP: ClassVar[str] = (
        "Who acts and with which scopes, which connections and streams are open, and what the host's cache holds,\n"
        "with the seconds for which each entry is still fresh. Below: what a model would have been given as context."
    )

    def compose(self) -> ComposeResult:
        yield FoldedView(id="host-state")
        yield ContextMeter(id="host-context")

    def on_mount(self) -> None:
        self.border_title = "Host"

    def show(self, state: HostState) -> None:
        """Show this state."""
        self.query_one(FoldedView).set_texts(state_texts(state))

    def show_cost(self, cost: Cost | None) -> None:
        """Show what a model would have been given."""
        self.query_one(ContextMeter).cost = cost


def gather(player: Player) -> HostState:
    """The host's state now; who acts is read off what the reader sees."""
    stage = player.stage
    if stage is None:
        return HostState(None, (), (), None)
    opened = (
        f"{user}: {connection.wire} wire, protocol {printable(connection.opening.protocol_version)}"
        for user, connection in stage.connections.items()
        if connection.opening is not None
    )
    recorded = [event for run in player.runs for beat in run.beats for event in beat]
    listener = _listener(recorded) if stage.listening else None
    return HostState(_acting(player.current.events), tuple(opened), tuple(_kept(stage, recorded)), listener)


def state_texts(state: HostState) -> list[str]:
    """The state in words, a text a line."""
    acting = state.acting
    texts = ["acting: nobody yet" if acting is None else f"acting: {acting.name}, scopes {' '.join(acting.scopes)}"]
    texts += [f"connected: {line}" for line in state.connections] or ["connected: not yet"]
    texts += ["streams: none open" if state.listening is None else f"streams: {state.listening} listens for changes"]
    texts += ["cache:" if state.kept else "cache: empty"]
    texts += [f"  {kept.caller}: {printable(kept.what)}, {kept.seconds:.0f} s left" for kept in state.kept]
    return texts


def cost_of(events: Iterable[Event], user: str = ALICE.user) -> Cost | None:
    """What that user's model would have been given, from the last answers among these; None before there is any."""
    names = {caller.name for caller in CAST if caller.user == user}
    tools: Mapping[str, Any] | None = None
    cards: list[Mapping[str, Any]] = []
    opened: dict[str, Mapping[str, Any]] = {}
    for method, params, result in _answered(events, names):
        match method:
            case "tools/list":
                tools = result
            case "agents/list":
                page = result.get("agents")
                cards = [card for card in page if isinstance(card, Mapping)] if isinstance(page, list) else []
            case "agents/get":
                opened[str(params.get("name"))] = result
    return context_cost(tools, cards, opened.values()) if tools or cards or opened else None


def _answered(
    events: Iterable[Event], callers: Iterable[str]
) -> Iterator[tuple[str, Mapping[str, Any], Mapping[str, Any]]]:
    """Method, params and result of each exchange of these callers that was answered with a result."""
    for event in events:
        frame = event.frame if isinstance(event, Travelled) else None
        if not isinstance(frame, AnswerFrame) or frame.request.caller not in callers or frame.message is None:
            continue
        asked, result = frame.request.message or {}, frame.message.get("result")
        if isinstance(result, Mapping):
            yield str(asked.get("method")), asked.get("params") or {}, result


def _acting(events: Iterable[Event]) -> Caller | None:
    names = [request_of(event.frame).caller for event in events if isinstance(event, Travelled)]
    return next((caller for name in reversed(names) for caller in CAST if caller.name == name), None)


def _listener(events: Iterable[Event]) -> str:
    steps = [event.step for event in events if isinstance(event, StepStarted)]
    return next((step.caller.name for step in reversed(steps) if isinstance(step, Listen)), "the host")


def _kept(stage: "Stage", events: Iterable[Event]) -> Iterator[Kept]:
    """What is kept for those who have asked: the cache has no list of its entries, and these are all it can have."""
    moved = {(event.caller, event.event.what) for event in events if isinstance(event, CacheMoved)}
    names = [what for what in dict.fromkeys(what for _, what in sorted(moved)) if what != "roster"]
    memory = Memory("session", stage.connections)
    for caller in CAST:
        if caller.user not in stage.connections or not any(name == caller.name for name, _ in moved):
            continue
        connection = memory.connection(caller)
        for what in ("roster", *names):
            seconds = stage.cache.remaining(connection, None if what == "roster" else what)
            if seconds is not None:
                yield Kept(caller.name, what, seconds)
