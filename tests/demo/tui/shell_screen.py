"""A screen with the shared panels and nothing of the walk or the explorer, for tests of what all screens have."""

from collections.abc import Callable
from typing import ClassVar, cast

from textual import on
from textual.app import ComposeResult
from textual.screen import Screen

from demo.tui.app import TuiSettings, WalkthroughApp
from demo.tui.base import TuiScreen
from demo.tui.exchange_view import ExchangeView
from demo.tui.meter import ContextMeter
from demo.tui.presence import ServerBack
from demo.tui.traffic import TrafficPanel


class SharedScreen(TuiScreen):
    """Log, exchange and meter."""

    NAME = "walk"
    returns = 0
    """How often the server came back."""

    def compose_body(self) -> ComposeResult:
        yield ExchangeView()
        yield TrafficPanel(self.program.traffic)
        yield ContextMeter()

    @on(TrafficPanel.Chosen)
    def _chosen(self, event: TrafficPanel.Chosen) -> None:
        self.query_one(ExchangeView).record = event.record

    @on(ServerBack)
    def _back(self) -> None:
        self.returns += 1


class OtherScreen(SharedScreen):
    NAME = "explore"


class ShellApp(WalkthroughApp):
    """The program with those screens."""

    MODES: ClassVar[dict[str, str | Callable[[], Screen[object]]]] = {
        "walk": cast("Callable[[], Screen[object]]", SharedScreen),
        "explore": cast("Callable[[], Screen[object]]", OtherScreen),
    }


def build_shell(settings: TuiSettings) -> WalkthroughApp:
    return ShellApp(settings)
