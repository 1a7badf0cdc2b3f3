"""What the walk's tests share: the walk's screen as a reader uses it, with keys that are waited for."""

import asyncio
import time
from collections.abc import Callable

from textual.message_pump import MessagePump
from textual.pilot import Pilot

from demo.tui.app import WalkthroughApp
from demo.tui.diagram import Diagram
from demo.tui.exchange_view import ExchangeView
from demo.tui.lines_view import LinesView
from demo.tui.player import SceneRun, SceneState
from demo.tui.scene_list import SceneList
from demo.tui.walk import WalkScreen

__all__ = ["Reader"]


class Reader:
    """Presses keys and looks."""

    def __init__(self, app: WalkthroughApp, pilot: Pilot[int]) -> None:
        self.app = app
        self.pilot = pilot

    @property
    def screen(self) -> WalkScreen:
        assert isinstance(self.app.screen, WalkScreen)
        return self.app.screen

    @property
    def run(self) -> SceneRun:
        return self.screen.player.current

    def state(self) -> SceneState:
        """The current scene's. A method, as it changes from one key to the next."""
        return self.run.state

    def shows(self, panel: str) -> bool:
        """Whether the panel is on the screen."""
        return bool(self.screen.query_one(f"#{panel}").display)

    @property
    def states(self) -> list[SceneState]:
        return [run.state for run in self.screen.player.runs]

    @property
    def diagram(self) -> Diagram:
        return self.screen.query_one(Diagram)

    @property
    def exchange(self) -> ExchangeView:
        return self.screen.query_one(ExchangeView)

    @property
    def scenes(self) -> SceneList:
        return self.screen.query_one(SceneList)

    def text(self, panel: str) -> str:
        """All that stands in a panel, scrolled out of view or not, with folded lines joined."""
        views = self.screen.query_one(f"#{panel}").walk_children(LinesView, with_self=True)
        return " ".join(" ".join(view.text.split()) for view in views)

    async def until(self, condition: Callable[[], object], seconds: float = 30.0) -> None:
        end = time.monotonic() + seconds
        while not condition():
            assert time.monotonic() < end, f"not within {seconds} s"
            await self.pilot.pause(0.01)

    async def arrive(self) -> "Reader":
        """Wait until the screen is there."""
        await self.until(lambda: isinstance(self.app.screen, WalkScreen) and self.screen.front)
        return self

    @staticmethod
    async def _answers(node: MessagePump) -> None:
        """A key goes from queue to queue, and on a busy machine `Pilot.press` does not wait for the last of them."""
        answered = asyncio.Event()
        if node.call_later(answered.set):
            await asyncio.wait_for(answered.wait(), 10.0)

    async def press(self, *keys: str) -> None:
        """Press keys, each only when what the one before did is done and shown."""
        for key in keys:
            await self.pilot.press(key)
            await self.rest()

    async def rest(self, seconds: float = 30.0) -> None:
        """Wait until the last key has arrived, nothing is under way and all is shown."""
        focused = [] if self.app.focused is None else self.app.focused.ancestors_with_self
        for node in (self.app, self.app.screen, *focused, self.app.screen, self.app):
            if isinstance(node, MessagePump):
                await self._answers(node)
        await self.until(lambda: self.screen.at_rest, seconds)
        await self.pilot.pause()
