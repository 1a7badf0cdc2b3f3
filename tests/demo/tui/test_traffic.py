"""The exchange log's panel: which row is chosen while exchanges come in, and how it moves."""

from collections.abc import Callable

from demo.tui.app import WalkthroughApp
from demo.tui.records import TrafficLog
from demo.tui.traffic import TrafficList, TrafficPanel
from tests.demo.tui.conftest import TuiFactory, Until
from tests.demo.tui.frames import fill
from tests.demo.tui.shell_screen import build_shell

ScreenText = Callable[[WalkthroughApp], str]


async def test_the_newest_row_is_followed_until_the_reader_moves_away_from_it(
    tui_app: TuiFactory, until: Until, screen_text: ScreenText
) -> None:
    async with tui_app(build=build_shell) as (app, pilot):
        log = app.screen.query_one(TrafficPanel).list
        for expected in (100, 200):
            fill(app.traffic, 100)
            await until(pilot, lambda expected=expected: log.chosen is not None and log.chosen.number == expected)  # type: ignore[misc]
            await until(pilot, lambda expected=expected: f"▶ {expected:>5}" in screen_text(app))  # type: ignore[misc]
        log.focus()
        await pilot.press("up", "up")
        fill(app.traffic, 100)
        await until(pilot, lambda: "300 exchanges" in screen_text(app))
        assert log.chosen is not None
        assert log.chosen.number == 198
        await pilot.press("end")
        assert log.chosen.number == 300
        fill(app.traffic, 1)
        await until(pilot, lambda: log.chosen is app.traffic.records[-1])


async def test_the_keys_move_the_choice_and_stop_at_both_ends(tui_app: TuiFactory, until: Until) -> None:
    async with tui_app(build=build_shell) as (app, pilot):
        fill(app.traffic, 100)
        log = app.screen.query_one(TrafficPanel).list
        await until(pilot, lambda: len(log.records) == 100 and log.chosen is not None)
        log.focus()
        for keys, number in (
            *(("home", 1), ("home down j", 3), ("home up", 1), ("end", 100), ("end k", 99)),
            *(("end down", 100), ("home pagedown", log.size.height)),
        ):
            await pilot.press(*keys.split())
            assert log.chosen is not None
            assert (keys, log.chosen.number) == (keys, number)


async def test_the_choice_stays_with_its_record_while_the_oldest_are_dropped(tui_app: TuiFactory, until: Until) -> None:
    async with tui_app(build=build_shell) as (app, pilot):
        app.traffic = TrafficLog(keep=50)
        panel = TrafficPanel(app.traffic, id="another")
        await app.screen.mount(panel)
        fill(app.traffic, 50)
        await until(pilot, lambda: panel.list.chosen is app.traffic.records[-1])
        kept = app.traffic.records[40]
        assert panel.choose(kept)
        fill(app.traffic, 30)
        await until(pilot, lambda: app.traffic.total == 80 and panel.list.records[0] is app.traffic.records[0])
        await until(pilot, lambda: panel.list.chosen is kept)
        assert kept is app.traffic.records[10]


async def test_a_click_chooses_the_row_under_it(tui_app: TuiFactory, until: Until) -> None:
    async with tui_app(build=build_shell) as (app, pilot):
        fill(app.traffic, 5)
        log = app.screen.query_one(TrafficPanel).list
        await until(pilot, lambda: len(log.records) == 5 and log.chosen is not None)
        await pilot.click(TrafficList, offset=(5, 1))
        assert log.chosen is app.traffic.records[1]


async def test_a_record_that_the_filter_hides_cannot_be_chosen(tui_app: TuiFactory, until: Until) -> None:
    async with tui_app(build=build_shell) as (app, pilot):
        fill(app.traffic, 6)
        panel = app.screen.query_one(TrafficPanel)
        await pilot.press("f", *"bob")
        await until(pilot, lambda: len(panel.list.records) == 3)
        assert not panel.choose(app.traffic.records[0])
        assert panel.choose(app.traffic.records[1])
