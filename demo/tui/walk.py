"""The walk: the scenes, stepped through one exchange at a time, with everything that travels on the screen.

It wires the panels to the player and owns the keys. What is played and recorded is in `player`, which panel is in
front in `fronts`, what a panel shows in the panel. Nothing is awaited in a handler: what sends runs in the worker
group "walk".
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from typing import TYPE_CHECKING, ClassVar, Final

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.events import Unmount
from textual.widget import Widget

from agent_discovery.host import FailureFrame, StreamLost, Unreachable
from demo.events import Checked, Event, SceneEnded, Travelled
from demo.scene import Wire
from demo.tui.checks_panel import ChecksPanel
from demo.tui.diagram import Diagram
from demo.tui.exchange_view import ExchangeView
from demo.tui.fronts import FrontScreen
from demo.tui.host_state import HostPanel, cost_of, gather
from demo.tui.lifelines import rows_of
from demo.tui.note_panel import NotePanel
from demo.tui.panel_tabs import PanelTabs
from demo.tui.player import Outcome, Player
from demo.tui.presence import ServerBack
from demo.tui.scene_list import SceneList
from demo.tui.traffic import TrafficPanel

if TYPE_CHECKING:
    from demo.stage import Stage

__all__ = ["WalkScreen"]

FRAME_SECONDS: Final = 1 / 60
"""For how long news is gathered before it is shown."""
TO_THE_END: Final = 10_000
"""More steps than any script has."""


class WalkScreen(FrontScreen):
    """The seven scenes. Looking around sends nothing; Enter, a and r do."""

    NAME = "walk"
    PINNED = (
        *("walk.next", "walk.back", "app.quit", "app.help"),
        *("walk.next_scene", "walk.previous_scene", "walk.replay", "walk.play_on", "panels.next"),
    )
    PANELS: ClassVar[dict[str, str]] = {
        "note": "Note",
        "diagram": "Diagram",
        "exchange": "Exchange",
        "checks": "Checks",
        "host": "Host",
        "log": "Log",
    }
    HELP: ClassVar[str] = (
        "The walk. Enter or space plays the next exchange, b looks back at the one before; n and p go to the next and\n"
        "the previous scene, a digit to that scene. Looking around sends nothing. r plays the scene again from its\n"
        "start, a plays on to the end, escape stops that. Comma and full stop go through the panels, l is the log."
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        # ctrl+j is what Enter comes as where it was typed before the program had the terminal.
        Binding(
            "enter,space,ctrl+j", "next", "Next", id="walk.next", key_display="Enter", tooltip="Play the next exchange"
        ),
        Binding("b,backspace", "back", "Back", id="walk.back", key_display="b", tooltip="Look at the exchange before"),
        Binding("n", "turn(1)", "Next scene", id="walk.next_scene", tooltip="Look at the next scene"),
        Binding("p", "turn(-1)", "Scene before", id="walk.previous_scene", tooltip="Look at the previous scene"),
        Binding("r", "replay", "Replay", id="walk.replay", tooltip="Play this scene again from its start"),
        Binding("a", "play_on", "Play all", id="walk.play_on", tooltip="Play on to the end"),
        Binding(
            "escape", "stop", "Stop", id="walk.stop", show=False, tooltip="Stop playing; again: break the call off"
        ),
        Binding("l", "log", "Log", id="walk.log", tooltip="Show the exchange log, or the diagram again"),
        *(
            Binding(str(n), f"jump({n})", f"Scene {n}", id=f"walk.jump_{n}", show=False, tooltip=f"Look at scene {n}")
            for n in range(1, 10)
        ),
    ]

    def __init__(self) -> None:
        super().__init__()
        self._wanted = 0
        """How many steps are still to be played."""
        self._walking = False

    def compose_body(self) -> ComposeResult:
        yield PanelTabs(self.PANELS, id="walk-tabs")
        with Horizontal(id="walk"):
            with Vertical(id="walk-left"):
                yield SceneList(id="scenes")
                yield NotePanel(id="note", classes="panel")
                yield HostPanel(id="host", classes="panel")
            with Vertical(id="walk-right"):
                yield Diagram(id="diagram", classes="panel")
                yield TrafficPanel(self.program.traffic, id="log", classes="panel")
                yield ExchangeView(id="exchange", classes="panel")
                yield ChecksPanel(id="checks", classes="panel")

    def on_mount(self) -> None:
        self.player = Player(self.program.settings.scenes, self._new_stage, tell=self._happened)
        self._news = False
        self._follow = True
        self._told = ("", "")
        self.query_one(ExchangeView).border_title = "Exchange"
        self.query_one("#log").border_title = "Log"
        self.set_interval(1.0, self._show_host)
        self.call_after_refresh(self._begin)

    def _begin(self) -> None:
        self._show()
        self.bring_up("diagram" if self.size_class == "-wide" else "note")

    @on(Unmount)
    async def _say_goodbye(self) -> None:
        self.workers.cancel_node(self)
        await self.player.aclose()

    def _new_stage(self) -> "Stage":
        from demo.stage import Stage  # loaded by now, see `server_url`

        settings, url = self.program.settings, self.program.url or ""
        observer = self.program.traffic.observer(self._wire, url, self._live_scene)
        return Stage(url, wire=settings.wire, timeout=settings.timeout, observer=observer)

    def _wire(self) -> Wire:
        stage = self.player.stage
        asked = self.program.settings.wire if stage is None else stage.wire
        return "session" if asked == "auto" else asked

    def _live_scene(self) -> int | None:
        live = self.player.live or self.player.current
        return live.scene.number

    # Playing

    def action_next(self) -> None:
        """Show or play the next exchange."""
        elsewhere = self.player.live is not None and self.player.live is not self.player.current
        if self._walking and not elsewhere:
            self._wanted += 1
        else:
            self._walk(self._play, wanted=1)

    def action_play_on(self) -> None:
        """Play on to the end."""
        self._walk(self._play, wanted=TO_THE_END)

    def action_replay(self) -> None:
        """Play this scene again."""
        self._walk(self._replay, wanted=0)

    def action_stop(self) -> None:
        """Stop at the next rest. Where only one step is under way, break it off."""
        if self._wanted:
            self._wanted = 0
        elif self._walking:
            self.workers.cancel_group(self, "walk")
            self._walking = False

    @property
    def walking(self) -> bool:
        """Whether something is being played."""
        return self._walking

    @property
    def at_rest(self) -> bool:
        """Whether nothing is under way, and everything that happened is shown."""
        return not self._walking and not self._news

    def _walk(self, work: Callable[[], Awaitable[None]], wanted: int) -> None:
        if self._walking and work == self._play and self.player.live is self.player.current:
            self._wanted = wanted
            return
        self._wanted, self._walking, self._follow = wanted, True, True
        if self.front == "note" and self.size_class != "-wide":
            self.bring_up("diagram")
        self.run_worker(work, name="walk", group="walk", exclusive=True)

    async def _play(self) -> None:
        await self.program.server_url()
        while self._wanted > 0:
            self._wanted -= 1
            self._follow = True
            outcome = await self.player.next()
            self._changed()
            if outcome is Outcome.TURNED and not self._wanted:
                self._turned()
            if outcome is Outcome.OVER:
                self._wanted = 0
                self._say_the_end()
            if self.player.current.stopped is not None:
                self._wanted = 0
        self._walking = False

    async def _replay(self) -> None:
        await self.program.server_url()
        await self.player.replay()
        self._changed()
        await self._play()

    async def _renew(self) -> None:
        await self.player.renew()
        self._walking = False
        self._changed()

    @on(ServerBack)
    def _server_back(self) -> None:
        self._walk(self._renew, wanted=0)

    def _say_the_end(self) -> None:
        held, failed = self.player.held, len(self.player.failed)
        self.program.say(f"This is the end: {held} of {held + failed} checks held. r replays, a digit goes to a scene.")

    # Looking around

    def action_back(self) -> None:
        """Look at the exchange before, without sending anything."""
        scene = self.player.current
        if self.player.back():
            self._follow = True
            if self.player.current is not scene:
                self._turned()
            self._changed()

    def action_turn(self, by: int) -> None:
        """Look at the next scene, or at the one before."""
        self._look_at(self.player.turn(by))

    def action_jump(self, number: int) -> None:
        """Look at the scene with this number."""
        numbers = [run.scene.number for run in self.player.runs]
        if number in numbers:
            self._look_at(self.player.jump(numbers.index(number)))

    def action_log(self) -> None:
        """Show the exchange log, or what was there before it."""
        self.bring_up("diagram" if self.front == "log" else "log")

    def marks(self, panel: str) -> Iterator[tuple[Widget, str, bool]]:
        if panel in ("log", "diagram"):  # they share one place on a wide screen
            yield self.query_one("#log"), "-instead", panel == "log"
            yield self.query_one("#diagram"), "-replaced", panel == "log"
        yield from super().marks(panel)

    @on(SceneList.Chosen)
    def _scene_chosen(self, event: SceneList.Chosen) -> None:
        self._look_at(self.player.jump(event.index))

    def _look_at(self, moved: bool) -> None:
        if moved:
            self._wanted = 0
            self._follow = True
            self._turned()
            self._changed()

    def _turned(self) -> None:
        if self.size_class != "-wide" and self.front in ("diagram", "checks", "exchange"):
            self.bring_up("note")

    @on(Diagram.Chosen)
    def _arrow_chosen(self, event: Diagram.Chosen) -> None:
        traffic = self.program.traffic
        self.query_one(ExchangeView).record = None if event.request is None else traffic.record_of(event.request)

    @on(TrafficPanel.Chosen)
    def _logged_chosen(self, event: TrafficPanel.Chosen) -> None:
        self.query_one(ExchangeView).record = event.record

    # Showing

    def _happened(self, event: Event) -> None:
        match event:
            case Travelled(frame=FailureFrame(error=Unreachable() | StreamLost() as error)):
                self.program.presence.lost(error)
            case SceneEnded(scene=scene, held=held, failed=failed):
                self.program.count_checks(scene.number, held, failed)
            case _:
                pass
        self._changed()

    def _changed(self) -> None:
        """Something is to be shown anew; what changes within one frame is shown at once."""
        if not self._news:
            self._news = True
            # Not `set_timer`: Textual skips a tick that comes late, and a timer that has only one never comes then.
            asyncio.get_running_loop().call_later(FRAME_SECONDS, self.call_later, self._show)

    def _show(self) -> None:
        self._news = False
        run, events = self.player.current, self.player.current.events
        self.query_one(SceneList).show(self.player.runs, self.player.runs.index(run))
        self.query_one(NotePanel).show(run.scene)
        self.query_one(Diagram).show(rows_of(events), follow=self._follow)
        self.query_one(ChecksPanel).show(run.scene, [event for event in events if isinstance(event, Checked)])
        self._follow = False
        self.query_one(HostPanel).show_cost(cost_of(event for run in self.player.runs for event in run.events))
        self._show_host()

    def _show_host(self) -> None:
        state = gather(self.player)
        self.query_one(HostPanel).show(state)
        scopes = "" if state.acting is None else f"{state.acting.name} ({' '.join(state.acting.scopes)})"
        title = (self._wire() if state.connections else "", scopes)
        if title != self._told:
            self._told = title  # telling the same again would lay out the whole screen again
            self.tell_title(wire=title[0], acting=title[1])
