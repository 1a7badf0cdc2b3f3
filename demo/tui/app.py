"""The program itself: settings in, exit code out. It wires the two screens to the log, the server and the terminal.

It owns what both screens share: the exchange log, the address, whether tokens are shown, the notice, the count of
checks. `build_app` is what the command line uses, and the tests.
"""

import asyncio
import gc
import traceback
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import ClassVar, Final, Literal, cast

from textual.app import App
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.notifications import SeverityLevel
from textual.reactive import reactive
from textual.screen import Screen
from textual.theme import Theme
from textual.widgets import Input

from demo.plain import printable
from demo.scene import Scene, Wire
from demo.script import SCENES
from demo.tui.base import TuiScreen
from demo.tui.guardian import resume_only_what_was_suspended
from demo.tui.keymap import read_keymap
from demo.tui.loading import Loading
from demo.tui.palette import ActionCommands
from demo.tui.places import new_file, state_directory, write_private
from demo.tui.presence import Presence
from demo.tui.records import TrafficLog
from demo.tui.serving import OwnServer

__all__ = ["TuiSettings", "WalkthroughApp", "build_app"]

_AGAIN_SECONDS: Final = 2.0
"""Within which a second ^c quits."""


@dataclass(frozen=True)
class TuiSettings:
    """What the program is started with.

    Args:
        url: the server's endpoint; None starts a demo server of the program's own.
        wire: which wire to speak; "auto" takes the session wire where the server has it.
        timeout: seconds that one answer may take.
        explore: begin with the explorer rather than the walk.
        scenes: the scenes to walk through.
    """

    url: str | None
    wire: Literal["auto"] | Wire = "auto"
    timeout: float = 10.0
    explore: bool = False
    scenes: tuple[Scene, ...] = SCENES

    def __post_init__(self) -> None:
        if self.timeout <= 0:
            raise ValueError(
                f"TuiSettings.timeout must be more than 0 seconds, got {self.timeout!r}; leave it out for 10"
            )
        if not self.scenes:
            raise ValueError("TuiSettings.scenes must hold at least one scene, got none; leave it out for all of them")


def _walk() -> Screen[None]:
    from demo.tui.walk import WalkScreen  # the first paint does not wait for the other screen

    return WalkScreen()


def _explore() -> Screen[None]:
    from demo.tui.explore import ExploreScreen

    return ExploreScreen()


class WalkthroughApp(App[int]):
    """The walk and the explorer."""

    TITLE = "Agent discovery"
    CSS_PATH = Path(__file__).with_name("tui.tcss")  # wherever a class that derives from this one stands
    COMMANDS: ClassVar[set[type[ActionCommands]]] = {ActionCommands}  # type: ignore[assignment]  # App allows more
    MODES: ClassVar[dict[str, str | Callable[[], Screen[object]]]] = {
        "walk": cast("Callable[[], Screen[object]]", _walk),
        "explore": cast("Callable[[], Screen[object]]", _explore),
    }
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(
            "ctrl+q", "quit", "Quit", id="app.quit_at_once", show=False, priority=True, tooltip="Leave the program"
        ),
        Binding("ctrl+c", "interrupt", "Quit (twice)", id="app.interrupt", show=False, priority=True),
    ]

    url: reactive[str | None] = reactive(None)
    """Where the server is; None until the program's own server has started."""
    show_tokens: reactive[bool] = reactive(False)
    notice: reactive[str] = reactive("")

    def __init__(self, settings: TuiSettings) -> None:
        # The first screen is the one wanted, not an empty one of Textual's: that would be laid out and styled in vain.
        self.DEFAULT_MODE = "explore" if settings.explore else "walk"  # type: ignore[misc]  # the class has one for all
        super().__init__()
        self.settings = settings
        self.traffic = TrafficLog()
        self.presence = Presence(self)
        self.checks: dict[int, tuple[int, int]] = {}
        """How many checks held and failed, by scene, as last played."""
        self.crash_log: Path | None = None
        self.animation_level = "none"
        self._own_server: OwnServer | None = None
        self._server_known = asyncio.Event()
        self._loading = Loading()
        self._interrupted = 0.0
        self._mouse = True
        self.set_reactive(WalkthroughApp.url, settings.url)
        if self.no_color and self.theme not in self.available_themes:
            self.set_reactive(App.theme, "textual-dark")

    # Beginning and end

    def on_mount(self) -> None:
        self._use_own_keys()
        if not self.is_headless:
            resume_only_what_was_suspended()
        self.call_after_refresh(self._get_ready)

    def _use_own_keys(self) -> None:
        keymap, problem = read_keymap()
        self.set_keymap(keymap)
        if problem is not None:
            self.say(problem, severity="warning")

    async def server_url(self) -> str:
        """Where the server is, once that is known and what sends is loaded. For workers: it may take a second."""
        await self._server_known.wait()
        await self._loading.wait()
        return self.url or ""

    def _get_ready(self) -> None:
        """Begin with what takes a second, once there is something to look at."""
        gc.enable()  # the command line stops it
        self._loading.start()
        if self.url is None:
            self._start_server()
        else:
            self._server_known.set()

    def _start_server(self) -> None:
        self._own_server = server = OwnServer()
        server.start()
        work: Callable[[], Awaitable[None]] = partial(self._await_server, server)
        self.run_worker(work, name="server", group="server", exclusive=True)

    async def _await_server(self, server: OwnServer) -> None:
        try:
            self.url = await asyncio.to_thread(server.wait)
        except Exception as problem:  # noqa: BLE001 - whatever it is, the reader is told and may leave
            self.notice = printable(
                f"The demo server did not start: {problem}. Start one with ./run serve, then --url."
            )
            return
        self._server_known.set()

    def stop_server(self) -> None:
        """End the program's own server, if there is one. Blocks; not for the event loop."""
        if self._own_server is not None:
            self._own_server.stop()

    async def on_unmount(self) -> None:
        await asyncio.to_thread(self.stop_server)

    def count_checks(self, scene: int, held: int, failed: int) -> None:
        """The checks of a scene that was played to its end; playing it again replaces the count."""
        self.checks[scene] = (held, failed)

    @property
    def failed_checks(self) -> int:
        return sum(failed for _, failed in self.checks.values())

    @property
    def held_checks(self) -> int:
        return sum(held for held, _ in self.checks.values())

    async def action_quit(self) -> None:
        """Leave; the exit code is 1 where a check failed."""
        self.leave(1 if self.failed_checks else 0)

    def leave(self, code: int) -> None:
        """Leave with this exit code, whatever is under way."""
        self.exit(code, return_code=code)

    def action_interrupt(self) -> None:
        """^c: copies what is selected; twice within two seconds leaves."""
        selected = self.screen.get_selected_text()
        if selected:
            self.screen.clear_selection()
            if isinstance(self.screen, TuiScreen):
                self.screen.copy(selected, "selection")
            return
        if isinstance(self.focused, Input) and not self.focused.selection.is_empty:
            self.focused.action_copy()
            return
        now = asyncio.get_running_loop().time()
        if now - self._interrupted < _AGAIN_SECONDS:
            self.leave(1 if self.failed_checks else 0)
            return
        self._interrupted = now
        self.say("Press ^c again to leave.")

    def _fatal_error(self) -> None:
        # Textual has no public way to keep a crash's traceback (with the values of variables in it, tokens among
        # them) off the terminal. Here it goes into a file, and the command line names the file.
        text = traceback.format_exc()
        directory = state_directory()
        self.crash_log = new_file(directory, "crash", ".log")
        write_private(self.crash_log, text)
        self._close_messages_no_wait()

    # What both screens use

    def tell_screens(self, message: type[Message]) -> None:
        """Post a message to every screen of the program, shown or not."""
        for stack in self._screen_stacks.values():
            for screen in stack:
                if isinstance(screen, TuiScreen):
                    screen.post_message(message())

    def say(self, text: str, *, severity: SeverityLevel = "information") -> None:
        """Tell the reader something for a few seconds. Data is as welcome in it as anything."""
        self.notify(printable(text), severity=severity, markup=False)

    async def action_switch_side(self) -> None:
        """From walking to exploring, or back."""
        await self.switch_mode("walk" if self.current_mode == "explore" else "explore")

    def action_toggle_tokens(self) -> None:
        """Show or mask the tokens."""
        self.show_tokens = not self.show_tokens
        self.say("Tokens are shown." if self.show_tokens else "Tokens are masked.")

    def action_choose_theme(self) -> None:
        self.search_themes()

    @property
    def available_themes(self) -> dict[str, Theme]:
        """The themes; without colours those that leave colours to the terminal are left out, as they come out blank."""
        themes = super().available_themes
        if not getattr(self, "no_color", False):  # asked for before it is known, too
            return themes
        return {name: theme for name, theme in themes.items() if not theme.ansi}

    def action_toggle_mouse(self) -> None:
        """Mouse on or off; off, the terminal selects text as it always does."""
        # There is no public way to switch the mouse while a program runs; drivers without one have nothing to switch.
        name = "_disable_mouse_support" if self._mouse else "_enable_mouse_support"
        switch = getattr(self._driver, name, None)
        if switch is not None:
            switch()
        self._mouse = not self._mouse
        self.say("The mouse is on." if self._mouse else "The mouse is off: the terminal selects text. m turns it on.")

    @property
    def mouse_on(self) -> bool:
        return self._mouse

    def action_take_picture(self) -> None:
        """Save the screen as SVG."""
        try:
            path = new_file(state_directory(), "screen", ".svg")
            write_private(path, self.export_screenshot())
        except OSError as error:
            self.say(f"The picture could not be saved: {error}", severity="error")
            return
        self.say(f"Picture: written to {path}.")


def build_app(settings: TuiSettings) -> WalkthroughApp:
    """The program, ready to run."""
    return WalkthroughApp(settings)
