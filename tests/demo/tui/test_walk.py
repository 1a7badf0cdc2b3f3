"""The walk, driven by its keys against a real server, at three sizes and on both wires."""

from collections.abc import Callable

import pytest

from demo.scene import Wire
from demo.script import SCENES
from demo.tui.app import WalkthroughApp
from demo.tui.host_state import HostPanel
from demo.tui.lines_view import LinesView
from demo.tui.panel_tabs import PanelTabs
from demo.tui.player import SceneState
from demo.tui.traffic import TrafficPanel
from tests.demo.tui.conftest import Size, TuiFactory
from tests.demo.tui.walking import Reader

HELD, TO_COME, RUNNING = SceneState.HELD, SceneState.TO_COME, SceneState.RUNNING
WIDE, MEDIUM, SMALL = (120, 40), (80, 24), (40, 15)
CASES = [pytest.param(WIDE, "session", marks=pytest.mark.slow), (SMALL, "stateless")]

SIZES_AND_WIRES = [
    pytest.param(WIDE, "stateless", marks=pytest.mark.slow),
    pytest.param(MEDIUM, "session", marks=pytest.mark.slow),
    (SMALL, "session"),
]
FOLDED = [pytest.param(MEDIUM, marks=pytest.mark.slow), SMALL]


def held(app: WalkthroughApp) -> int:
    return app.held_checks


@pytest.mark.parametrize(("size", "wire"), CASES)
async def test_enter_alone_leads_through_every_scene(tui_app: TuiFactory, size: Size, wire: Wire) -> None:
    async with tui_app(size, wire) as (app, pilot):
        reader = await Reader(app, pilot).arrive()
        for scene in SCENES:
            assert reader.run.scene is scene
            while reader.state() is not HELD:
                await reader.press("enter")
                assert reader.state() in (RUNNING, HELD)
            await reader.press("enter")
        assert reader.states == [HELD] * 7
        assert reader.screen.player.failed == []
        assert held(app) == reader.screen.player.held >= 7
        assert app.failed_checks == 0
        assert {record.wire for record in app.traffic.records} == {wire}
        assert {record.scene for record in app.traffic.records} == {scene.number for scene in SCENES}


async def test_an_enter_typed_before_the_program_had_the_terminal_plays_too(tui_app: TuiFactory) -> None:
    async with tui_app() as (app, pilot):
        reader = await Reader(app, pilot).arrive()
        await reader.press("ctrl+j")  # a terminal that nobody has taken yet turns Enter into a line feed
        assert app.traffic.records


@pytest.mark.parametrize(("size", "wire"), SIZES_AND_WIRES)
async def test_a_plays_everything_to_the_end(tui_app: TuiFactory, size: Size, wire: Wire) -> None:
    async with tui_app(size, wire) as (app, pilot):
        reader = await Reader(app, pilot).arrive()
        await reader.press("a")
        assert reader.states == [HELD] * 7
        assert reader.run.scene is SCENES[-1]


async def test_everything_stands_on_the_wide_screen_at_once(tui_app: TuiFactory) -> None:
    async with tui_app(WIDE, "session") as (app, pilot):
        reader = await Reader(app, pilot).arrive()
        await reader.press("6", "enter", "enter")
        assert [panel.id for panel in reader.screen.query(".panel") if panel.display] == [
            *("note", "host", "diagram", "exchange", "checks")
        ]
        assert reader.scenes.lines[5] == "▶6 ► Step up"
        assert reader.scenes.lines[6] == " 7 · The roster changes"
        assert reader.text("note").startswith("6. Step up deploy-agent is listed for everyone")
        assert "WWW-Authenticate" in reader.text("diagram")
        assert "HTTP 403 after" in reader.text("exchange")
        assert [view.display for view in reader.exchange.query(LinesView)] == [True, True]
        assert "scope = ops:deploy" in reader.text("exchange")
        assert reader.text("host").startswith("acting: Alice, scopes ops:read connected: alice: session wire")
        assert "· to come The refusal was not cached" in reader.text("checks")
        await reader.press("enter")
        assert "acting: Alice stepped up, scopes ops:read ops:deploy" in reader.text("host")
        assert "✓ held The refusal was not cached expected " in reader.text("checks")


async def test_the_titles_of_the_scenes_stand_in_full_on_a_wide_screen(
    tui_app: TuiFactory, screen_text: Callable[[WalkthroughApp], str]
) -> None:
    async with tui_app(WIDE) as (app, pilot):
        reader = await Reader(app, pilot).arrive()
        rows = [row[1:33].rstrip() for row in screen_text(app).splitlines()[2:10]]
        assert rows[:2] == ["▶1 · Connect and look for the", "     extension"]
        assert rows[2:] == [f" {scene.number} · {scene.title}" for scene in SCENES[1:]]
        assert reader.scenes.border_subtitle == "1 to come"


async def test_looking_around_sends_nothing(tui_app: TuiFactory) -> None:
    async with tui_app() as (app, pilot):
        reader = await Reader(app, pilot).arrive()
        await reader.press("n", "p", "7", "b", "full_stop", "comma", "l", "escape", "1")
        assert app.traffic.total == 0
        await reader.press("a")
        sent = app.traffic.total
        await reader.press("3", "b", "p", "5", "b", "enter")
        assert app.traffic.total == sent
        assert reader.states == [HELD] * 7


async def test_b_takes_back_an_arrow_and_enter_shows_it_again(tui_app: TuiFactory) -> None:
    async with tui_app() as (app, pilot):
        reader = await Reader(app, pilot).arrive()
        await reader.press("6", "enter", "enter")
        arrows, sent = list(reader.diagram.arrows), app.traffic.total
        await reader.press("b")
        assert reader.diagram.arrows == tuple(arrows[: len(reader.diagram.arrows)])
        assert len(reader.diagram.arrows) < len(arrows)
        await reader.press("enter")
        assert list(reader.diagram.arrows) == arrows
        assert app.traffic.total == sent


async def test_n_p_and_digits_turn_to_scenes(tui_app: TuiFactory) -> None:
    async with tui_app() as (app, pilot):
        reader = await Reader(app, pilot).arrive()
        seen = []
        for key in ("n", "n", "p", "7", "n", "8", "1", "p"):
            await reader.press(key)
            seen.append(reader.run.scene.number)
        assert seen == [2, 3, 2, 7, 7, 7, 1, 1]


async def test_jumping_ahead_leaves_the_scenes_before_to_come(tui_app: TuiFactory) -> None:
    async with tui_app() as (app, pilot):
        reader = await Reader(app, pilot).arrive()
        await reader.press("5")
        while reader.state() is not HELD:
            await reader.press("space")
        assert reader.states == [TO_COME] * 4 + [HELD] + [TO_COME] * 2


async def test_r_replays_the_scene_with_the_same_outcome(tui_app: TuiFactory) -> None:
    async with tui_app() as (app, pilot):
        reader = await Reader(app, pilot).arrive()
        await reader.press("7", "a")
        checks = [check.title for check in reader.run.checks]
        await reader.press("r")
        assert reader.state() is RUNNING
        await reader.press("a")
        assert reader.state() is HELD
        assert [check.title for check in reader.run.checks] == checks
        assert app.checks[7] == (len(checks), 0)


async def test_choosing_an_arrow_shows_its_exchange(tui_app: TuiFactory) -> None:
    async with tui_app(WIDE, "session") as (app, pilot):
        reader = await Reader(app, pilot).arrive()
        await reader.press("1", "enter")
        shown = reader.exchange.record
        assert shown is not None
        assert shown.method == "notifications/initialized"
        reader.diagram.focus()
        await reader.press("home")
        first = reader.exchange.record
        assert first is not None
        assert first.method == "initialize"
        assert reader.diagram.lines[1].startswith("▶")
        await reader.press("down", "down")
        assert reader.exchange.record is shown
        await reader.press("up", "up", "end")
        assert reader.exchange.record is shown


async def test_an_arrow_and_a_scene_can_be_clicked(tui_app: TuiFactory) -> None:
    async with tui_app(WIDE, "session") as (app, pilot):
        reader = await Reader(app, pilot).arrive()
        await pilot.click("#scenes", offset=(5, 5))
        await reader.rest()
        assert reader.run.scene.number == 4
        await reader.press("1", "enter")
        await pilot.click("#diagram", offset=(10, 2))
        await reader.rest()
        assert reader.exchange.record is not None
        assert reader.exchange.record.method == "initialize"


async def test_on_a_small_screen_one_line_names_the_scenes_and_a_click_goes_to_one(tui_app: TuiFactory) -> None:
    async with tui_app(SMALL) as (app, pilot):
        reader = await Reader(app, pilot).arrive()
        await reader.press("1", "enter")
        assert reader.scenes.summary == "[1✓ 2· 3· 4· 5· 6· 7· Connect and look for the extension: held"
        await pilot.click("#scenes", offset=(4, 0))
        await reader.rest()
        assert reader.run.scene.number == 2


@pytest.mark.parametrize("size", FOLDED)
async def test_every_panel_can_be_brought_to_the_front(tui_app: TuiFactory, size: Size) -> None:
    async with tui_app(size) as (app, pilot):
        reader = await Reader(app, pilot).arrive()
        assert reader.screen.front == "note"
        seen = []
        for _ in reader.screen.PANELS:
            await reader.press("full_stop")
            seen.append(reader.screen.front)
            shown = [panel.id for panel in reader.screen.query(".panel") if panel.display]
            assert shown == [reader.screen.front]
            region = reader.screen.query_one(f"#{reader.screen.front}").region
            assert (region.x, region.y, region.right, region.bottom) == (0, 3, size[0], size[1] - 1)
            assert reader.screen.query_one(f"#{reader.screen.front}").has_focus_within or app.focused is (
                reader.screen.query_one(f"#{reader.screen.front}")
            )
        assert seen == ["diagram", "exchange", "checks", "host", "log", "note"]
        await reader.press("comma")
        assert reader.screen.front == "log"
        await pilot.click(PanelTabs, offset=(2, 0))
        await reader.rest()
        assert reader.screen.front == "note"


@pytest.mark.parametrize("size", FOLDED)
async def test_keys_typed_fast_leave_the_diagram_in_front(tui_app: TuiFactory, size: Size) -> None:
    async with tui_app(size) as (app, pilot):
        reader = await Reader(app, pilot).arrive()
        for _ in range(3):
            for key in ("2", "1", "6", "enter"):
                app.simulate_key(key)
            await reader.rest()
            assert reader.screen.front == "diagram"
            assert reader.shows("diagram")
            assert reader.diagram.has_focus


async def test_l_and_f_go_to_the_log_also_where_it_is_behind(tui_app: TuiFactory) -> None:
    async with tui_app(WIDE) as (app, pilot):
        reader = await Reader(app, pilot).arrive()
        await reader.press("1", "enter", "l")
        log = reader.screen.query_one(TrafficPanel)
        assert reader.shows("log")
        assert not reader.shows("diagram")
        await reader.press("l")
        assert reader.shows("diagram")
        await reader.press("f")
        assert reader.shows("log")
        assert log.has_focus_within


async def test_choosing_in_the_log_shows_that_exchange(tui_app: TuiFactory) -> None:
    async with tui_app(WIDE, "session") as (app, pilot):
        reader = await Reader(app, pilot).arrive()
        await reader.press("1", "enter", "l")
        await reader.until(lambda: len(reader.screen.query_one(TrafficPanel).list.records) == 2)
        await reader.press("home")
        assert reader.exchange.record is app.traffic.records[0]


async def test_what_is_cached_runs_down_second_by_second(tui_app: TuiFactory) -> None:
    async with tui_app() as (app, pilot):
        reader = await Reader(app, pilot).arrive()
        await reader.press("2", "enter", "enter")
        assert "cache: Alice: roster, " in reader.text("host")
        before = reader.text("host")
        await reader.until(lambda: reader.text("host") != before, 5.0)
        assert "s left" in reader.text("host")
        assert reader.screen.query_one(HostPanel).display


async def test_the_open_stream_is_named_while_it_is_open(tui_app: TuiFactory) -> None:
    async with tui_app() as (app, pilot):
        reader = await Reader(app, pilot).arrive()
        await reader.press("7", "enter", "enter", "enter")
        assert "streams: Alice listens for changes" in reader.text("host")
        await reader.press("a")
        assert "streams: none open" in reader.text("host")


async def test_the_layout_follows_the_size_while_the_walk_plays(tui_app: TuiFactory) -> None:
    async with tui_app(WIDE) as (app, pilot):
        reader = await Reader(app, pilot).arrive()
        await pilot.press("a")
        for width, height in [SMALL, (200, 60), MEDIUM, (30, 8), WIDE] * 2:
            await pilot.resize_terminal(width, height)
            await pilot.pause()
        await reader.rest()
        assert reader.states == [HELD] * 7
        assert reader.screen.size_class == "-wide"
        assert len({len(line) for line in reader.diagram.lines}) == 1


@pytest.mark.parametrize("size", [WIDE, *FOLDED, (30, 10)])
async def test_next_back_and_quit_are_always_on_the_screen(
    tui_app: TuiFactory, size: Size, screen_text: Callable[[WalkthroughApp], str]
) -> None:
    async with tui_app(size) as (app, pilot):
        await Reader(app, pilot).arrive()
        bottom = screen_text(app).split("\n")[-1]
        assert bottom.startswith(" Enter Next  b Back  q Quit")
