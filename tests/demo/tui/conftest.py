"""The program against a running server, at any size, with nothing of the developer's own surroundings in it."""

import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any, Literal, Protocol

import pytest
from textual.pilot import Pilot

from demo.scene import Scene, Wire
from demo.script import SCENES
from demo.tui.app import TuiSettings, WalkthroughApp, build_app

Size = tuple[int, int]
Running = tuple[WalkthroughApp, Pilot[int]]


class TuiFactory(Protocol):
    """`async with tui_app((80, 24), wire="session") as (app, pilot):`"""

    def __call__(
        self,
        size: Size = (120, 40),
        wire: Literal["auto"] | Wire = "auto",
        *,
        explore: bool = False,
        url: str | None = None,
        timeout: float = 10.0,
        scenes: Sequence[Scene] = SCENES,
        build: Callable[[TuiSettings], WalkthroughApp] = build_app,
    ) -> AbstractAsyncContextManager[Running]: ...


@pytest.fixture(autouse=True)
def own_surroundings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files go where the test can look at them; no clipboard, no colours of the developer's choice, no own keys."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "NO_COLOR", "PAGER", "TEXTUAL_THEME"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def tui_app(demo_server: str) -> TuiFactory:
    """Starts the program as the command line does, against the shared demo server unless another `url` is given."""

    @asynccontextmanager
    async def start(
        size: Size = (120, 40),
        wire: Literal["auto"] | Wire = "auto",
        *,
        explore: bool = False,
        url: str | None = None,
        timeout: float = 10.0,
        scenes: Sequence[Scene] = SCENES,
        build: Callable[[TuiSettings], WalkthroughApp] = build_app,
    ) -> AsyncIterator[Running]:
        settings = TuiSettings(url or f"{demo_server}/mcp", wire, timeout, explore, tuple(scenes))
        app = build(settings)
        async with app.run_test(size=size) as pilot:
            yield app, pilot

    return start


class Until(Protocol):
    """`await until(pilot, lambda: app.url is not None)`: waits for a state, within a bound."""

    async def __call__(self, pilot: Pilot[Any], condition: Callable[[], object], seconds: float = 30.0) -> None: ...


@pytest.fixture
def until() -> Until:
    return _until


async def _until(pilot: Pilot[Any], condition: Callable[[], object], seconds: float = 30.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, f"not within {seconds} s: {condition}"
        await pilot.pause(0.01)


@pytest.fixture
def screen_text() -> Callable[[WalkthroughApp], str]:
    """What stands on the screen, row by row, without colours."""
    return _screen_text


def _screen_text(app: WalkthroughApp) -> str:
    # The compositor is how Textual itself takes pictures; there is no public way to the plain text.
    strips = app.screen._compositor.render_strips()
    return "\n".join("".join(segment.text for segment in strip).rstrip() for strip in strips)
