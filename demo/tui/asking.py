"""How a screen asks the explorer without waiting for it: workers, streams beside them, a server that comes and goes.

Owns the worker groups: "explore" for what the reader asks (a new question ends the one before), "explore-rosters",
"explore-watch" for the streams, "explore-begin". What is shown is the screen's business.
"""

import asyncio
from abc import abstractmethod
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from textual import on

from agent_discovery.host import Frame, HostError, Observer, SessionEnded, StreamLost, Unreachable
from agent_discovery.wire import AGENTS_LIST
from demo.cast import ALICE, CAST, Caller
from demo.scene import Wire
from demo.tui.fronts import FrontScreen
from demo.tui.outcomes import ExplorerEvent, Outcome, Question, RosterMissed, StepUp, StreamMoved, wire_of
from demo.tui.presence import ServerBack
from demo.tui.records import ExchangeRecord

if TYPE_CHECKING:
    from agent_discovery.host import Roster
    from demo.tui.explorer import Explorer

__all__ = ["AskingScreen"]

ASKING, ROSTERS, WATCHING, BEGINNING = "explore", "explore-rosters", "explore-watch", "explore-begin"
_FRAME: Final = 1 / 60
_GONE: Final = (Unreachable, StreamLost, SessionEnded)
"""What means that the server is not there, or not the one that it was."""

Ask = Callable[["Explorer"], Awaitable[Outcome]]


class AskingScreen(FrontScreen):
    """A screen with an explorer behind it. What it knows is in attributes; `changed` has them shown."""

    def __init__(self) -> None:
        super().__init__()
        self.acting = ALICE
        self.step: StepUp | None = None
        """The challenge that is still to be answered."""
        self.last = Question(AGENTS_LIST)
        self.streams: dict[str, str] = {}
        self.tools: dict[Caller, Mapping[str, Any]] = {}
        self.opened: dict[str, dict[str, Mapping[str, Any]]] = {}
        self._answers: dict[str, str] = {}
        self._explorer: Explorer | None = None
        self._known = asyncio.Event()
        self._unshown = False
        self._asking = 0
        self._over = False

    # What it knows

    @property
    def connected(self) -> bool:
        """Whether anything was answered yet."""
        return bool(self.rosters) or bool(self.tools)

    @property
    def wire(self) -> Wire:
        """The wire in use."""
        return "session" if self._explorer is None else self._explorer.wire

    @property
    def rosters(self) -> "Mapping[Caller, Roster]":
        """The last roster of each caller."""
        return {} if self._explorer is None else self._explorer.rosters

    @property
    def asking(self) -> bool:
        """Whether a question of the reader's is under way."""
        return self._asking > 0

    def remaining(self, caller: Caller) -> float | None:
        """Seconds for which the caller's roster is still fresh."""
        return None if self._explorer is None else self._explorer.remaining(caller)

    def record_of(self, outcome: Outcome) -> ExchangeRecord | None:
        """The exchange behind an outcome, where one travelled."""
        return None if outcome.request is None else self.program.traffic.record_of(outcome.request)

    # Beginning and end

    def begin(self) -> None:
        """Connect, listen and read, beside the screen."""
        self.run_worker(self._begin(), name="begin", group=BEGINNING, exclusive=True)

    async def _begin(self) -> None:
        url = await self.program.server_url()
        if self._explorer is None:
            from demo.tui.explorer import Explorer  # loaded by now, see `server_url`

            settings = self.program.settings
            observer = self._observer(url)
            self._explorer = Explorer(
                url, wire=settings.wire, timeout=settings.timeout, observer=observer, tell=self.told
            )
            self._known.set()
        await self._learn(self._explorer)

    async def _learn(self, explorer: "Explorer") -> None:
        """The tools of who acts (which finds out the wire as well), then a stream and a roster for each caller."""
        outcome = await explorer.list_tools(self.acting)
        if outcome.result is not None:
            self.tools[self.acting] = outcome.result
        elif not self._missed(outcome.error):
            self.program.say(str(outcome.error), severity="error")
        for caller in explorer.listeners():
            self.run_worker(self._listen(explorer, caller), name=f"watch {caller.name}", group=WATCHING)
        self.changed()

    async def _listen(self, explorer: "Explorer", caller: Caller) -> None:
        try:
            await explorer.follow(caller)
        except _GONE as error:
            self._missed(error)
        except HostError:
            # Without a stream the roster is as true as its time to live says.
            await explorer.read_roster(caller)

    async def end(self) -> None:
        """Stop everything and close the connections."""
        self._over = True
        self.workers.cancel_node(self)
        if self._explorer is not None:
            await self._explorer.aclose()

    @on(ServerBack)
    def _server_back(self) -> None:
        self._stop_watching()
        self.run_worker(self._renew(), name="begin", group=BEGINNING, exclusive=True)

    async def _renew(self) -> None:
        if self._explorer is not None:
            await self._explorer.aclose()
            await self._learn(self._explorer)

    def _stop_watching(self) -> None:
        self.workers.cancel_group(self, WATCHING)
        self.streams.clear()

    # Asking

    def ask(self, work: Ask, then: Callable[[Outcome], None]) -> None:
        """Ask this and show what comes; a question that is still under way is broken off."""
        self.run_worker(self._ask(work, then), name="ask", group=ASKING, exclusive=True)

    async def _ask(self, work: Ask, then: Callable[[Outcome], None]) -> None:
        with self._under_way():
            await self._known.wait()
            if self._explorer is None:
                return
            outcome = await work(self._explorer)
        self._take(outcome)
        then(outcome)
        self.changed()

    def _take(self, outcome: Outcome) -> None:
        self.last = outcome.question
        if self._explorer is not None:
            self.acting = self._explorer.acting
        if outcome.details is not None and outcome.result is not None:
            self.opened.setdefault(outcome.caller.user, {})[outcome.details.agent.name] = outcome.result
        if outcome.question.method == "tools/list" and outcome.result is not None:
            self.tools[outcome.caller] = outcome.result
        self._missed(outcome.error)
        self.show_exchange(outcome)

    @contextmanager
    def _under_way(self) -> Iterator[None]:
        """While the block runs a question can be broken off, also where it only waits until it can be sent."""
        self._asking += 1
        try:
            yield
        finally:
            self._asking -= 1

    def stop(self) -> None:
        """Break off what the reader asked."""
        if self.asking:
            self.workers.cancel_group(self, ASKING)
            unsent = self._explorer is None
            self.program.say(
                f"Broken off; {'nothing was sent' if unsent else 'whether the server acted on it is unknown'}."
            )

    def act_as(self, caller: Caller) -> None:
        """From now on this caller asks."""
        self.acting = caller
        if self._explorer is not None:
            self._explorer.acting = caller
        self.changed()

    def read_rosters(self, callers: Sequence[Caller], *, fresh: bool = True) -> None:
        """These callers' rosters; `fresh` asks the server whatever the cache holds."""
        self.run_worker(self._read_rosters(callers, fresh), name="rosters", group=ROSTERS, exclusive=True)

    async def _read_rosters(self, callers: Sequence[Caller], fresh: bool) -> None:
        await self._known.wait()
        explorer = self._explorer
        if explorer is None:
            return
        for caller in callers:
            if fresh:
                explorer.forget_roster(caller)
            await explorer.read_roster(caller)
            if caller not in self.tools and (listed := (await explorer.list_tools(caller)).result) is not None:
                self.tools[caller] = listed
        self.changed()

    def compare(self, then: Callable[[Outcome, Outcome], None]) -> None:
        """The last question on both wires."""
        self.run_worker(self._compare(self.last, then), name="compare", group=ASKING, exclusive=True)

    async def _compare(self, question: Question, then: Callable[[Outcome, Outcome], None]) -> None:
        with self._under_way():
            await self._known.wait()
            if self._explorer is None:
                return
            session, stateless = await self._explorer.on_both_wires(question, self.acting)
        for outcome in (session, stateless):
            self._missed(outcome.error)
        then(session, stateless)

    def go_over(self) -> None:
        """To the other wire, streams and all; back again where the server does not have it."""
        self._stop_watching()
        self.run_worker(self._go_over(), name="wire", group=ASKING, exclusive=True)

    async def _go_over(self) -> None:
        with self._under_way():
            await self._known.wait()
        explorer = self._explorer
        if explorer is None:
            return
        before = explorer.wire
        explorer.use_wire(explorer.other_wire)
        try:
            await explorer.connection(self.acting)
        except HostError as error:
            explorer.use_wire(before)
            if not self._missed(error):
                self.program.say(f"The server does not have the other wire: {error}", severity="warning")
        await self._learn(explorer)

    # What comes unasked

    def told(self, event: ExplorerEvent) -> None:
        """The explorer tells of something."""
        if self._over:
            return
        if isinstance(event, StreamMoved):
            heard = "hears changes" if event.state == "open" else "no stream"
            self.streams[event.caller.name] = heard
            if self.wire == "session" and event.state == "open":
                shared = [c for c in CAST if c.user == event.caller.user and c != event.caller]
                self.streams |= {caller.name: f"{event.caller.name}'s stream" for caller in shared}
        if isinstance(event, RosterMissed) and not self._missed(event.error):
            self.program.say(f"{event.caller.name}'s roster could not be read: {event.error}", severity="error")
        self.show_event(event)
        self.changed()

    def changed(self, _: object = None) -> None:
        """Show what is known, once a frame at most."""
        if not self._unshown and self.is_mounted and not self._over:
            self._unshown = True
            # Not `set_timer`: Textual skips a tick that comes late, and a timer that has only one never comes then.
            asyncio.get_running_loop().call_later(_FRAME, self.call_later, self._show)

    def _show(self) -> None:
        self._unshown = False
        if not self._over:
            self.show()

    @abstractmethod
    def show(self) -> None:
        """Show what is known."""

    @abstractmethod
    def show_event(self, event: ExplorerEvent) -> None:
        """Show what happened unasked."""

    @abstractmethod
    def show_exchange(self, outcome: Outcome) -> None:
        """Show the exchange behind an outcome."""

    def _missed(self, error: HostError | None) -> bool:
        """Whether an error means that the server is gone; then the notice says so."""
        gone = isinstance(error, (Unreachable, StreamLost))
        if gone or isinstance(error, SessionEnded):
            self.program.presence.lost(error)
        return gone

    def _observer(self, url: str) -> Observer:
        """The log's observer; each frame says by itself which wire it went over."""
        seen: list[Wire] = ["session"]
        log = self.program.traffic.observer(lambda: seen[0], url)

        def take(frame: Frame) -> None:
            seen[0] = wire_of(frame)
            log(frame)

        return take
