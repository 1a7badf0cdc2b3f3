"""What happens unasked: streams, notifications, what the cache dropped for them, how the rosters changed."""

from typing import TYPE_CHECKING, ClassVar, Final

from agent_discovery.wire import LIST_CHANGED
from demo.plain import printable
from demo.tui.lines_view import LinesView
from demo.tui.outcomes import CacheTold, ExplorerEvent, Heard, RosterMissed, RosterRead, StreamMoved

if TYPE_CHECKING:
    from agent_discovery.host import CacheEvent

__all__ = ["ChangesPanel", "change_lines"]

_MOST: Final = 4_000
"""Lines that are kept; beyond them the older half goes."""


def change_lines(event: ExplorerEvent) -> list[str]:
    """An event in words, an indented line for each detail."""
    match event:
        case StreamMoved(caller=caller, state="open"):
            return [f"stream open: {caller.name} hears of changes; what was cached before counts as stale"]
        case StreamMoved(caller=caller, why=why):
            return [f"stream closed for {caller.name}: {printable(why)}"]
        case Heard(caller=caller, dropped=dropped):
            return [f"{LIST_CHANGED} arrives for {caller.name}", *(f"  {_cache(drop)}" for drop in dropped)]
        case RosterRead(caller=caller, roster=roster, difference=difference, from_cache=from_cache):
            source = "from the cache" if from_cache else "from the server"
            changed = [f"  {printable(line)}" for line in difference.lines()] if difference else []
            return [f"roster of {caller.name} {source}: {len(roster.agents)} agents", *changed]
        case RosterMissed(caller=caller, error=error):
            return [f"roster of {caller.name} could not be read: {printable(str(error))}"]
        case CacheTold(event=told):
            return [_cache(told)]


def _cache(event: "CacheEvent") -> str:
    kind = event.kind.replace("_", " ")
    left = f", {event.remaining_ms / 1000:.0f} s left" if event.remaining_ms else ""
    return printable(f"cache: {event.what} {kind}{left} ({event.reason})")


class ChangesPanel(LinesView):
    """The events, newest last."""

    HELP: ClassVar[str] = (
        "What happened without being asked for. p publishes release-agent and r retires it: the server then tells\n"
        "everyone whose roster changed, the notification alone drops the cached roster, the host asks again, and the\n"
        "difference is shown (+ new, - gone, ~ changed)."
    )

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes, follow_end=True)

    def add(self, event: ExplorerEvent) -> None:
        """Add an event at the end."""
        if len(self.lines) > _MOST:
            self.set_lines(self.lines[-_MOST // 2 :])
        self.append_lines(change_lines(event))
