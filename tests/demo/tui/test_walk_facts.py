"""One script, two tellers: whatever the walk shows on the screen, the plain teller says too."""

import io
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from rich.console import Console

from demo.events import Event
from demo.scene import Wire
from demo.script import SCENES
from demo.terminal import Terminal
from demo.tui.app import WalkthroughApp
from demo.tui.checks_panel import check_texts
from demo.tui.lifelines import draw, rows_of
from demo.tui.lines_view import LinesView
from demo.tui.player import Outcome, Player
from demo.tui.records import ExchangeRecord
from tests.demo.tui.conftest import TuiFactory
from tests.demo.tui.test_player import Walk
from tests.demo.tui.walking import Reader

SNAPSHOTS = Path(__file__).parent / "snapshots"
HEADERS = ("authorization", "content-type", "www-authenticate")
"""The headers that the walk is about besides the `mcp-` ones; the others are every HTTP client's."""


def plain(events: Sequence[Event]) -> str:
    """What the plain teller says of these events, packed."""
    page = io.StringIO()
    teller = Terminal(Console(file=page, color_system=None, width=200))
    for event in events:
        teller.tell(event)
    return packed(page.getvalue())


def packed(text: str) -> str:
    """Without spaces and line breaks: the two tellers fold their lines at different places, also within words."""
    return "".join(text.split())


def facts_of(record: ExchangeRecord) -> list[str]:
    """What the exchange says: start lines, statuses and times, headers, JSON, a failure's text."""
    facts: list[str] = []
    for lines in (record.lines_request(), record.lines_answer()):
        head, body = (lines[: lines.index("")], lines[lines.index("") + 1 :]) if "" in lines else (lines, [])
        facts += [head[0].removesuffix(" HTTP/1.1")]
        facts += [line for line in head[1:] if line.startswith(("mcp-", *(f"{name}:" for name in HEADERS)))]
        facts += [
            line for line in body if line and not line.startswith(("challenge: ", "arrived after ", "  scope = "))
        ]
    return [packed(fact) for fact in facts if " = " not in fact]


@pytest.mark.parametrize("wire", ["session", pytest.param("stateless", marks=pytest.mark.slow)])
async def test_every_fact_on_the_screen_stands_in_the_plain_text(tui_app: TuiFactory, wire: Wire) -> None:
    async with tui_app((120, 40), wire) as (app, pilot):
        reader = await Reader(app, pilot).arrive()
        await reader.press("a")
        for scene in SCENES:
            await reader.press(str(scene.number))
            told = plain(reader.run.events)
            *note, _ = reader.text("note").partition("Code:")
            assert packed(note[0]) in told
            assert {line.strip() for line in note[2:]} <= set(scene.code)
            assert len(reader.diagram.arrows) >= 2
            for row in reader.diagram.arrows:
                assert packed(row.label) in told
                if row.request is not None:
                    record = app.traffic.record_of(row.request)
                    assert record is not None
                    assert [fact for fact in facts_of(record) if fact not in told] == []
            shown = reader.text("checks").replace("✓", "").replace("✗", "")
            assert packed(shown) in told
            assert len(reader.run.checks) == len(scene.checks) + 1


async def test_the_exchange_on_the_screen_is_the_record(tui_app: TuiFactory) -> None:
    async with tui_app() as (app, pilot):
        reader = await Reader(app, pilot).arrive()
        await reader.press("6", "enter", "enter")
        record = reader.exchange.record
        assert record is not None
        request, answer = reader.exchange.query(LinesView)
        assert list(request.lines) == record.lines_request()
        assert list(answer.lines) == record.lines_answer()


async def test_a_failed_check_comes_first_with_what_was_expected_and_got(demo_server: str) -> None:
    walk = Walk(demo_server, "stateless", SCENES[:1])
    await walk.to_the_end_of_the_scene()
    checked = walk.player.current.checks
    texts = check_texts(SCENES[0], checked)
    assert texts[0] == "✓ held   The server advertises the extension"
    assert texts[1].startswith("    expected ")
    assert texts[2].startswith("    got ")
    assert len(texts) == 3 * len(checked)
    await walk.player.aclose()


@pytest.mark.parametrize("width", [38, 84])
async def test_the_diagram_of_the_step_up_is_as_pinned(demo_server: str, width: int) -> None:
    """Made by hand-checking a run once; no time, port or id is in it."""
    walk = Walk(demo_server, "stateless", SCENES[5:6])
    await _to_the_end(walk.player)
    drawn = "\n".join(line.rstrip() for line in draw(rows_of(walk.player.current.events), width, chosen=4).lines) + "\n"
    pinned = SNAPSHOTS / f"step_up_{width}.txt"
    assert drawn == pinned.read_text(encoding="utf-8")
    await walk.player.aclose()


async def test_the_smallest_screen_is_as_pinned(
    tui_app: TuiFactory, screen_text: Callable[[WalkthroughApp], str]
) -> None:
    async with tui_app((40, 15), "stateless") as (app, pilot):
        reader = await Reader(app, pilot).arrive()
        await reader.press("6", "enter", "enter")
        pinned = SNAPSHOTS / "step_up_screen_40x15.txt"
        assert screen_text(app) + "\n" == pinned.read_text(encoding="utf-8")


async def _to_the_end(player: Player) -> None:
    while await player.next() is not Outcome.OVER:
        pass
