"""What every screen has: sizes, keys, help, search, filter, copies, pictures, tokens, mouse, themes."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from textual.binding import Binding
from textual.command import CommandPalette
from textual.widgets import Input

from demo.tui.app import TuiSettings, WalkthroughApp
from demo.tui.base import TuiScreen, size_class
from demo.tui.exchange_view import ExchangeView
from demo.tui.help import HelpScreen
from demo.tui.key_bar import KeyBar, shown_keys
from demo.tui.lines_view import LinesView
from demo.tui.traffic import TrafficList, TrafficPanel
from tests.demo.tui.conftest import TuiFactory, Until
from tests.demo.tui.frames import TRAPS, URL, answer, challenged, fill, request
from tests.demo.tui.shell_screen import SharedScreen, build_shell

ScreenText = Callable[[WalkthroughApp], str]
SIZES = [(120, 40), (80, 24), (40, 15), (200, 60)]


def _notices(app: WalkthroughApp) -> list[str]:
    return [notification.message for notification in app._notifications]


def _files(tmp_path: Path) -> list[Path]:
    return sorted((tmp_path / "state" / "mcp-agent-discovery").glob("*"))


@pytest.mark.parametrize(
    ("width", "height", "expected"),
    [
        *[(120, 40, "-wide"), (110, 36, "-wide"), (109, 36, "-medium"), (200, 35, "-medium"), (80, 24, "-medium")],
        *[(59, 40, "-small"), (120, 19, "-small"), (40, 15, "-small")],
    ],
)
def test_the_layout_follows_from_the_size(width: int, height: int, expected: str) -> None:
    assert size_class(width, height) == expected


@pytest.mark.parametrize("size", SIZES)
async def test_the_pinned_keys_are_shown_at_every_size(
    size: tuple[int, int], tui_app: TuiFactory, until: Until, screen_text: ScreenText
) -> None:
    async with tui_app(size, build=build_shell) as (app, pilot):
        await until(pilot, lambda: "q Quit" in screen_text(app))
        assert screen_text(app).splitlines()[-1].lstrip().startswith("q Quit  ? Help")
        assert app.screen.has_class(size_class(*size))


async def test_the_layout_changes_while_the_terminal_is_resized(
    tui_app: TuiFactory, until: Until, screen_text: ScreenText
) -> None:
    async with tui_app((120, 40), build=build_shell) as (app, pilot):
        fill(app.traffic, 10)
        for size in [(80, 24), (40, 15), (30, 10), (120, 40), (20, 5), (200, 60)]:
            await pilot.resize_terminal(*size)
            await until(pilot, partial(app.screen.has_class, size_class(*size)))
            assert sum(app.screen.has_class(name) for name in ("-wide", "-medium", "-small")) == 1
            assert "q Quit" in screen_text(app).splitlines()[-1]


def test_a_key_is_shown_once_for_each_action_and_pinned_ones_first() -> None:
    keys = [
        Binding("enter", "on", "On", id="a"),
        Binding("space", "on", "On", id="a"),
        Binding("z", "hidden", "Hidden", id="b", show=False),
        Binding("q", "quit", "Quit", id="q"),
    ]
    assert [binding.id for binding in shown_keys(keys, ["q"])] == ["q", "a"]
    assert [binding.id for binding in shown_keys(keys, ["b"])] == ["b", "a", "q"]


async def test_a_click_on_a_key_is_as_good_as_the_key(tui_app: TuiFactory, until: Until) -> None:
    async with tui_app(build=build_shell) as (app, pilot):
        await until(pilot, lambda: "Help" in str(app.screen.query_one(KeyBar).render_line(0).text))
        await pilot.click(KeyBar, offset=(10, 0))
        await until(pilot, lambda: isinstance(app.screen, HelpScreen))


@pytest.mark.parametrize("key", ["question_mark", "f1"])
async def test_help_is_about_the_focused_panel_and_lists_its_keys(key: str, tui_app: TuiFactory, until: Until) -> None:
    async with tui_app(build=build_shell) as (app, pilot):
        fill(app.traffic, 2)
        app.screen.query_one(TrafficList).focus()
        await pilot.press(key)
        await until(pilot, lambda: isinstance(app.screen, HelpScreen))
        text = app.screen.query_one(LinesView).text
        assert "Every exchange since the program started" in text
        assert "One exchange as it went over the wire" not in text
        assert "Shift" in text
        for wanted in ("[traffic.up]", "[app.search]", "[app.quit]"):
            assert wanted in text
        await pilot.press("escape")
        await until(pilot, lambda: isinstance(app.screen, TuiScreen))


async def test_every_action_is_in_the_command_palette_and_runs_from_there(
    tui_app: TuiFactory, until: Until, screen_text: ScreenText
) -> None:
    async with tui_app(build=build_shell) as (app, pilot):
        await pilot.press("colon")
        await until(pilot, lambda: isinstance(app.screen, CommandPalette))
        await until(pilot, lambda: "Search in what is shown" in screen_text(app))
        for character in "mask":
            await pilot.press(character)
        await until(pilot, lambda: "Show or mask the tokens" in screen_text(app))
        await until(pilot, lambda: "Filter the exchange log" not in screen_text(app))
        await pilot.press("enter")
        await until(pilot, lambda: app.show_tokens)


async def test_every_binding_has_an_id_a_description_and_is_not_only_on_ctrl_alt_or_function_keys(
    tui_app: TuiFactory,
) -> None:
    async with tui_app(build=build_shell) as (app, pilot):
        fill(app.traffic, 2)
        plain: dict[str, bool] = {}
        for widget in (app.screen.query_one(TrafficList), app.screen.query_one("#exchange-answer")):
            widget.focus()
            await pilot.pause()
            for active in app.screen.active_bindings.values():
                binding = active.binding
                if binding.id is None:
                    continue  # Textual's own: scrolling, moving the focus
                assert binding.description
                odd = binding.key.startswith(("ctrl+", "alt+", "super+", "f1"))
                plain[binding.action] = plain.get(binding.action, False) or not odd
        # Both are twins of q.
        assert {action for action, usable in plain.items() if not usable} == {"quit", "interrupt"}


async def test_a_search_is_typed_and_goes_through_what_is_found(tui_app: TuiFactory, until: Until) -> None:
    async with tui_app(build=build_shell) as (app, pilot):
        fill(app.traffic, 1)
        view = app.screen.query_one(ExchangeView)
        view.record = app.traffic.records[0]
        await pilot.pause()
        view.answer.focus()
        await pilot.press("slash", *"agent", "enter")
        await until(pilot, lambda: view.answer.hits == 2)
        assert app.focused is view.answer
        await pilot.press("right_square_bracket")
        assert view.answer.current_hit == 1
        await pilot.press("slash", *"[/nowhere", "enter")
        await until(pilot, lambda: any("'[/nowhere' is not in this text" in text for text in _notices(app)))
        await pilot.press("slash", "q", "escape")
        assert app.focused is view.answer
        assert app.is_running


async def test_the_filter_narrows_the_log_as_it_is_typed(tui_app: TuiFactory, until: Until) -> None:
    async with tui_app(build=build_shell) as (app, pilot):
        fill(app.traffic, 10)
        log = app.screen.query_one(TrafficPanel).list
        await until(pilot, lambda: len(log.records) == 10)
        await pilot.press("f", *"bob")
        await until(pilot, lambda: len(log.records) == 5)
        fill(app.traffic, 2)
        await until(pilot, lambda: len(log.records) == 6)
        await pilot.press("enter")
        assert app.focused is log


async def test_q_is_a_letter_in_an_input_and_quits_elsewhere(tui_app: TuiFactory, until: Until) -> None:
    async with tui_app(build=build_shell) as (app, pilot):
        await pilot.press("f", "q")
        assert isinstance(app.focused, Input)
        assert app.focused.value == "q"
        await pilot.press("escape", "q")
        await until(pilot, lambda: not app.is_running)
        assert app.return_code == 0


async def test_choosing_a_row_shows_the_exchange_which_is_redrawn_when_its_answer_comes(
    tui_app: TuiFactory, until: Until, screen_text: ScreenText
) -> None:
    async with tui_app(build=build_shell) as (app, pilot):
        observe = app.traffic.observer(lambda: "session", URL)
        earlier, later = request("tools/list"), request()
        for frame in (earlier, answer(earlier), later):
            observe(frame)
        log = app.screen.query_one(TrafficPanel).list
        await until(pilot, lambda: len(log.records) == 2)
        log.focus()
        await pilot.press("up", "down")
        await until(pilot, lambda: "under way" in screen_text(app).splitlines()[1])
        observe(challenged(later))
        await until(pilot, lambda: "HTTP 403" in screen_text(app).splitlines()[1])
        # The line that says why appears with the layout after that.
        await until(pilot, lambda: "403, missing scope: step up" in screen_text(app))


async def test_the_exchange_is_side_by_side_when_wide_and_one_side_when_narrow(
    tui_app: TuiFactory, until: Until, screen_text: ScreenText
) -> None:
    async with tui_app(build=build_shell) as (app, pilot):
        fill(app.traffic, 1)
        view = app.screen.query_one(ExchangeView)
        view.record = app.traffic.records[0]
        await until(pilot, lambda: "POST /mcp" in screen_text(app) and "HTTP 200 after" in screen_text(app))
        await pilot.resize_terminal(60, 30)
        await until(pilot, lambda: "POST /mcp" not in screen_text(app) and "HTTP 200 after" in screen_text(app))
        view.focus()
        await pilot.press("g")
        await until(pilot, lambda: "POST /mcp" in screen_text(app) and "HTTP 200 after" not in screen_text(app))


async def test_a_curl_command_goes_into_a_file_without_the_token_until_tokens_are_shown(
    tui_app: TuiFactory, until: Until, tmp_path: Path, screen_text: ScreenText
) -> None:
    async with tui_app(build=build_shell) as (app, pilot):
        fill(app.traffic, 1)
        view = app.screen.query_one(ExchangeView)
        view.record = app.traffic.records[0]
        view.focus()
        await pilot.press("c")
        await until(pilot, lambda: len(_files(tmp_path)) == 1 and _notices(app))
        [file] = _files(tmp_path)
        assert file.name.startswith("curl-command-")
        assert file.stat().st_mode & 0o777 == 0o600
        assert "alice-read" not in file.read_text(encoding="utf-8")
        assert "may not arrive" in _notices(app)[0]
        assert str(file) in _notices(app)[0]
        assert "alice-read" not in screen_text(app)
        await pilot.press("v", "c")
        await until(pilot, lambda: len(_files(tmp_path)) == 2)
        assert sum("alice-read" in file.read_text(encoding="utf-8") for file in _files(tmp_path)) == 1
        await until(pilot, lambda: "alice-read" in screen_text(app))
        await pilot.press("v")
        await until(pilot, lambda: "alice-read" not in screen_text(app))


async def test_the_exchange_shown_is_copied_and_paged_wherever_the_focus_is(
    tui_app: TuiFactory, until: Until, tmp_path: Path
) -> None:
    async with tui_app(build=build_shell) as (app, pilot):
        await pilot.press("c")
        await until(pilot, lambda: any("no exchange to copy" in told for told in _notices(app)))
        fill(app.traffic, 1)
        app.screen.query_one(ExchangeView).record = app.traffic.records[0]
        app.screen.query_one(TrafficList).focus()
        await pilot.press("c", "y", "o")
        await until(pilot, lambda: len(_files(tmp_path)) == 2)
        assert {file.name.split("-")[0] for file in _files(tmp_path)} == {"curl", "answer"}
        await until(pilot, lambda: any("cannot give up the terminal" in told for told in _notices(app)))


async def test_the_side_that_is_read_is_what_y_copies(tui_app: TuiFactory, until: Until, tmp_path: Path) -> None:
    async with tui_app(build=build_shell) as (app, pilot):
        fill(app.traffic, 1)
        view = app.screen.query_one(ExchangeView)
        view.record = app.traffic.records[0]
        await pilot.pause()
        view.request.focus()
        await pilot.press("y")
        await until(pilot, lambda: len(_files(tmp_path)) == 1)
        assert _files(tmp_path)[0].read_text(encoding="utf-8") == view.request.text
        view.answer.focus()
        await pilot.press("y")
        await until(pilot, lambda: len(_files(tmp_path)) == 2)
        assert {file.name.split("-")[0] for file in _files(tmp_path)} == {"request", "answer"}


async def test_a_picture_of_the_screen_is_saved_as_svg(tui_app: TuiFactory, until: Until, tmp_path: Path) -> None:
    async with tui_app(build=build_shell) as (_, pilot):
        await pilot.press("s")
        await until(pilot, lambda: _files(tmp_path))
        assert _files(tmp_path)[0].read_text(encoding="utf-8").startswith("<svg")


async def test_the_mouse_is_switched_off_and_on_again(tui_app: TuiFactory, until: Until) -> None:
    async with tui_app(build=build_shell) as (app, pilot):
        await pilot.press("m")
        assert not app.mouse_on
        await pilot.press("m")
        assert app.mouse_on


async def test_without_a_pager_here_it_says_so(
    tui_app: TuiFactory, until: Until, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with tui_app(build=build_shell) as (app, pilot):
        fill(app.traffic, 1)
        app.screen.query_one(ExchangeView).focus()
        await pilot.press("o")
        await until(pilot, lambda: any("cannot give up the terminal" in text for text in _notices(app)))
        monkeypatch.setenv("PATH", "")
        await pilot.press("o")
        await until(pilot, lambda: any("There is no pager here" in text for text in _notices(app)))


def _told(log: TrafficPanel, records: int, text: str, screen_text: ScreenText, app: WalkthroughApp) -> bool:
    return len(log.list.records) == records and text in screen_text(app)


async def test_data_that_looks_like_markup_is_shown_as_it_is_in_every_pane_and_notice(
    until: Until, screen_text: ScreenText
) -> None:
    app = build_shell(TuiSettings(URL))
    async with app.run_test(size=(200, 60), notifications=True) as pilot:
        observe = app.traffic.observer(lambda: "session", URL)
        screen = app.screen
        assert isinstance(screen, SharedScreen)
        log = screen.query_one(TrafficPanel)
        for number, trap in enumerate(TRAPS, 1):
            safe = trap.replace("\x1b", "\\x1b")
            sent = request("agents/get", {"name": trap}, caller=trap)
            observe(sent)
            observe(answer(sent, status=400, error={"code": 1, "message": trap}))
            screen.query_one(ExchangeView).record = app.traffic.records[-1]
            screen.tell_title(acting=trap, wire=trap)
            app.notice = safe
            app.clear_notifications()
            app.say(f"told {trap}")
            await until(pilot, partial(_told, log, number, f"told {safe}", screen_text, app))
            rows = screen_text(app).splitlines()
            assert safe in rows[0]
            assert f"as {safe}" in rows[1]
            assert f"refused, 1: {safe}" in rows[2]
            assert sum(safe in row for row in rows) >= 5


async def test_x_goes_to_the_other_side_and_back(tui_app: TuiFactory, until: Until) -> None:
    async with tui_app(build=build_shell) as (app, pilot):
        await pilot.press("x")
        await until(pilot, lambda: app.current_mode == "explore")
        await pilot.press("x")
        await until(pilot, lambda: app.current_mode == "walk")


async def test_keys_are_those_of_the_readers_own_file(tui_app: TuiFactory, until: Until, tmp_path: Path) -> None:
    file = tmp_path / "config" / "mcp-agent-discovery" / "keys.toml"
    file.parent.mkdir(parents=True)
    file.write_text('[keys]\n"app.tokens" = "z"\n', encoding="utf-8")
    async with tui_app(build=build_shell) as (app, pilot):
        await pilot.press("v")
        assert not app.show_tokens
        await pilot.press("z")
        assert app.show_tokens


@pytest.mark.parametrize("text", ["[keys", "keys = 3", "[keys]\nx = 1"])
async def test_a_file_of_keys_that_cannot_be_used_is_told_and_changes_nothing(
    text: str, tui_app: TuiFactory, until: Until, tmp_path: Path
) -> None:
    file = tmp_path / "config" / "mcp-agent-discovery" / "keys.toml"
    file.parent.mkdir(parents=True)
    file.write_text(text, encoding="utf-8")
    async with tui_app(build=build_shell) as (app, pilot):
        await until(pilot, lambda: any("every key is as it was" in told for told in _notices(app)))
        await pilot.press("v")
        assert app.show_tokens


async def test_without_colours_no_theme_is_offered_that_leaves_colours_to_the_terminal(
    tui_app: TuiFactory, monkeypatch: pytest.MonkeyPatch, screen_text: ScreenText, until: Until
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    async with tui_app(build=build_shell) as (app, pilot):
        assert app.available_themes
        assert not any(theme.ansi for theme in app.available_themes.values())
        fill(app.traffic, 2)
        await until(pilot, lambda: "403" in screen_text(app))
        assert "▶" in screen_text(app)


async def test_the_theme_is_chosen_from_a_list(tui_app: TuiFactory, until: Until, screen_text: ScreenText) -> None:
    async with tui_app(build=build_shell) as (app, pilot):
        await pilot.press("t")
        await until(pilot, lambda: "nord" in screen_text(app))
        await pilot.press(*"nord", "enter")
        await until(pilot, lambda: app.theme == "nord")


async def test_a_large_answer_is_laid_out_beside_the_program_which_goes_on_meanwhile(
    tui_app: TuiFactory, until: Until, screen_text: ScreenText
) -> None:
    async with tui_app(build=build_shell) as (app, pilot):
        fill(app.traffic, 1, size=400_000)
        fill(app.traffic, 1)
        view = app.screen.query_one(ExchangeView)
        large, small = app.traffic.records
        view.record = large
        assert "characters are being laid out" in view.answer.text
        view.record = small
        assert "HTTP 200 after" in view.answer.text
        view.record = large
        await until(pilot, lambda: "x" * 400_000 in view.answer.text)
        view.record = small
        view.record = large
        assert "x" * 400_000 in view.answer.text
        await until(pilot, lambda: "xxxxxxxx" in screen_text(app))


async def test_the_help_is_as_pinned(until: Until, screen_text: ScreenText) -> None:
    """Looked over once by hand; without a server, so nothing in it moves."""
    app = build_shell(TuiSettings("http://127.0.0.1:9/mcp"))
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("question_mark")
        await until(pilot, lambda: isinstance(app.screen, HelpScreen))
        pinned = Path(__file__).parent / "snapshots" / "help_80x24.txt"
        await until(pilot, lambda: "Help (escape" in screen_text(app))
        assert screen_text(app) + "\n" == pinned.read_text(encoding="utf-8")
