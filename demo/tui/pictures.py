"""Takes the README's pictures of the program from real runs: `python -m demo.tui.pictures` writes pictures/*.svg.

Each picture is of the program itself, without a terminal, against a demo server on the default port. What it owns is
which moments are shown and that a picture stands for itself: no remote address and no token in it.
"""

import asyncio
import re
import sys
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from textual.pilot import Pilot

from demo.cast import DEFAULT_ORIGIN
from demo.tui.agent_panel import AgentPanel
from demo.tui.app import TuiSettings, WalkthroughApp, build_app
from demo.tui.explore import ExploreScreen
from demo.tui.rosters import RosterList
from demo.tui.walk import WalkScreen

__all__ = ["PICTURES", "Picture", "main", "self_contained", "take"]

DIRECTORY: Final = Path(__file__).resolve().parents[2] / "pictures"
_PATIENCE: Final = 30.0
_FONT: Final = re.compile(r"@font-face\s*\{.*?\}", re.DOTALL)
_COMMENT: Final = re.compile(r"<!--.*?-->", re.DOTALL)


@dataclass(frozen=True)
class Picture:
    """One picture: its file, its caption, the terminal's columns and rows, and how to get there."""

    name: str
    caption: str
    size: tuple[int, int]
    explore: bool
    reach: Callable[[WalkthroughApp, Pilot[int]], Awaitable[None]]


async def _step_up(app: WalkthroughApp, pilot: Pilot[int]) -> None:
    await _until(pilot, lambda: isinstance(app.screen, WalkScreen) and app.screen.front)
    for key in ("6", "enter", "enter", "enter"):
        await pilot.press(key)
        await _until(pilot, lambda: isinstance(app.screen, WalkScreen) and app.screen.at_rest)


async def _an_agent(app: WalkthroughApp, pilot: Pilot[int]) -> None:
    await _until(pilot, lambda: isinstance(app.screen, ExploreScreen) and len(app.screen.streams) > 2)
    roster = app.screen.query_one("#roster-second", RosterList)
    await _until(pilot, lambda: "billing-agent" in roster.names)
    roster.focus()
    await _until(pilot, lambda: roster.has_focus)
    roster.highlighted = roster.names.index("billing-agent")
    await pilot.press("enter")
    await _until(pilot, lambda: "billing-agent" in app.screen.query_one(AgentPanel).text)


PICTURES: Final = (
    Picture("walk", "The walk at 120x40: scene 6, after the step-up", (120, 40), False, _step_up),
    Picture(
        "explore", "The explorer: both rosters side by side, and an agent opened as Bob", (120, 40), True, _an_agent
    ),
    Picture("walk-small", "The same walk in a terminal of 80x24, one panel at a time", (80, 24), False, _step_up),
)


async def take(picture: Picture, url: str) -> str:
    """The picture as SVG, from a run against the server at `url`. Raises TimeoutError where the moment never comes."""
    app = build_app(TuiSettings(url, "session", explore=picture.explore))
    async with app.run_test(size=picture.size, notifications=False) as pilot:
        await picture.reach(app, pilot)
        app.screen.set_focus(None)
        await pilot.pause()
        return self_contained(app.export_screenshot(simplify=True))


def self_contained(svg: str) -> str:
    """The same picture without the fonts that Textual's SVG fetches from elsewhere, and without its comment."""
    lines = _COMMENT.sub("", _FONT.sub("", svg)).replace("Fira Code, monospace", "monospace").splitlines()
    return "\n".join(line.rstrip() for line in lines if line.strip()) + "\n"


async def _until(pilot: Pilot[int], condition: Callable[[], object]) -> None:
    end = time.monotonic() + _PATIENCE
    while not condition():
        if time.monotonic() > end:
            raise TimeoutError(f"the moment to take the picture did not come within {_PATIENCE:.0f} s")
        await pilot.pause(0.02)
    await pilot.pause()


def main() -> int:
    """Write all pictures; 2 where the default port is taken."""
    from server.embedded import running_server
    from server.settings import Settings

    try:
        with running_server(Settings(port=urlsplit(DEFAULT_ORIGIN).port or 80)) as server:
            DIRECTORY.mkdir(exist_ok=True)
            for picture in PICTURES:
                path = DIRECTORY / f"{picture.name}.svg"
                path.write_text(asyncio.run(take(picture, server.url)), encoding="utf-8")
                print(f"{path.relative_to(DIRECTORY.parent)}: {picture.caption}")
    except OSError as problem:
        print(f"error: {problem}; the pictures show the default port, so stop what listens there", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
