"""The pane of lines: folding, searching, scrolling, colours, and that size costs nothing until it is seen."""

from collections.abc import Iterable

import pytest
from textual.app import App, ComposeResult

from demo.tui import lines_view
from demo.tui.colouring import Kind, Span, colour_spans
from demo.tui.lines_view import LinesView
from demo.tui.rows import Hit, Row, Rows
from tests.demo.tui.conftest import Until
from tests.demo.tui.frames import TRAPS, TWO_LINES


class OnePane(App[None]):
    """A pane and nothing else."""

    def __init__(self, view: LinesView) -> None:
        super().__init__()
        self.animation_level = "none"
        self.view = view

    def compose(self) -> ComposeResult:
        yield self.view


def _shown(view: LinesView) -> list[str]:
    return [view.render_line(y).text.rstrip() for y in range(view.size.height)]


# Rows, without a screen


def test_lines_that_fit_are_not_folded() -> None:
    rows = Rows(["one", "three"])
    rows.fold(10)
    assert [rows.row(at) for at in range(len(rows))] == [Row(0, 0, 3), Row(1, 0, 5)]


def test_long_lines_are_folded_at_the_width_and_found_again_by_their_place() -> None:
    rows = Rows(["short", "abcdefghij", "end"])
    rows.fold(4)
    parts = [rows.lines[row.line][row.start : row.end] for row in map(rows.row, range(len(rows)))]
    assert parts == ["shor", "t", "abcd", "efgh", "ij", "end"]
    assert [rows.row_of(1, at) for at in (0, 3, 4, 9)] == [2, 2, 3, 4]
    assert rows.row_of(2) == 5


def test_wide_characters_are_folded_by_the_cells_they_take() -> None:
    rows = Rows(["日本語日本語"])
    rows.fold(5)
    assert [rows.lines[0][row.start : row.end] for row in map(rows.row, range(len(rows)))] == ["日本", "語日", "本語"]


def test_a_search_finds_every_place_without_regard_to_case() -> None:
    rows = Rows(["Agent agent", "no", "AGENT"])
    assert list(rows.find("agent")) == [Hit(0, 0, 5), Hit(0, 6, 11), Hit(2, 0, 5)]
    assert list(rows.find("")) == []
    assert len(rows.find("a", most=2)) == 2


# Colours


@pytest.mark.parametrize(
    ("kind", "text", "expected"),
    [
        (
            "json",
            '  "a": "b: 1", 2.5, true',
            [('"a"', "key"), ('"b: 1"', "string"), ("2.5", "number"), ("true", "word")],
        ),
        ("http", "POST /mcp HTTP/1.1", [("POST /mcp HTTP/1.1", "start")]),
        ("http", "mcp-method: x", [("mcp-method", "header")]),
        ("http", "  scope = ops:read", [("  scope = ops:read", "challenge")]),
        ("http", '  "a": 1', [('"a"', "key"), ("1", "number")]),
        ("plain", '"a": 1', []),
    ],
)
def test_each_kind_of_line_is_coloured_by_its_parts(kind: Kind, text: str, expected: list[tuple[str, str]]) -> None:
    assert [(text[start:end], name) for start, end, name in colour_spans(text, kind)] == expected


# On the screen


async def test_lines_are_shown_from_the_top_and_scrolled_by_keys() -> None:
    view = LinesView([f"line {number}" for number in range(100)])
    async with OnePane(view).run_test(size=(40, 10)) as pilot:
        view.focus()
        await pilot.pause()
        assert _shown(view)[0] == "line 0"
        await pilot.press("end")
        assert _shown(view)[-1] == "line 99"
        await pilot.press("up")
        assert _shown(view)[-1] == "line 98"
        await pilot.press("pageup", "home", "down")
        assert _shown(view)[0] == "line 1"


async def test_unfolded_lines_scroll_sideways() -> None:
    view = LinesView(["0123456789" * 6], wrap=False)
    async with OnePane(view).run_test(size=(20, 5)) as pilot:
        view.focus()
        await pilot.press("right", "right")
        assert view.scroll_offset.x > 0
        assert _shown(view)[0].startswith("0123456789"[view.scroll_offset.x :])
        await pilot.press("w")
        await pilot.pause()
        assert view.scroll_offset.x == 0
        assert "".join(_shown(view)) == "0123456789" * 6


async def test_a_search_goes_to_its_places_in_turn() -> None:
    view = LinesView([f"{'needle' if number % 40 == 0 else 'hay'} {number}" for number in range(100)])
    async with OnePane(view).run_test(size=(40, 10)) as pilot:
        assert view.search("needle") == 3
        await pilot.pause()
        assert view.current_hit == 0
        view.next_hit()
        await pilot.pause()
        assert "needle 40" in _shown(view)
        view.focus()
        await pilot.press("right_square_bracket", "right_square_bracket")
        assert view.current_hit == 0
        await pilot.press("left_square_bracket")
        assert view.current_hit == 2
        assert "needle 80" in _shown(view)
        assert view.search("nowhere") == 0


async def test_a_found_text_is_marked_by_more_than_colour() -> None:
    view = LinesView(["find the needle here"])
    async with OnePane(view).run_test(size=(40, 5)) as pilot:
        view.search("needle")
        await pilot.pause()
        marked = [segment.text for segment in view.render_line(0) if segment.style and segment.style.underline]
        assert marked == ["needle"]


async def test_the_end_is_followed_until_the_reader_leaves_it() -> None:
    view = LinesView(follow_end=True)
    async with OnePane(view).run_test(size=(40, 5)) as pilot:
        await pilot.pause()
        view.append_lines(f"line {number}" for number in range(20))
        await pilot.pause()
        assert _shown(view)[-1] == "line 19"
        view.focus()
        await pilot.press("home")
        view.append_lines(["more"])
        await pilot.pause()
        assert _shown(view)[0] == "line 0"


async def test_the_same_text_again_leaves_the_reader_where_he_is() -> None:
    lines = ["two\nlines", "a\ttab", *(f"line {number}" for number in range(100))]
    view = LinesView(lines)
    async with OnePane(view).run_test(size=(40, 10)) as pilot:
        await pilot.pause()
        view.scroll_to(0, 50, animate=False, immediate=True)
        view.set_lines(lines)
        await pilot.pause()
        assert _shown(view)[0] == "line 47"
        view.set_lines([*lines, "more"])
        await pilot.pause()
        assert _shown(view)[:3] == ["two", "lines", "a   tab"]


@pytest.mark.parametrize("kind", ["json", "http", "plain", "diagram"])
async def test_data_is_shown_as_it_is_whatever_it_looks_like(kind: Kind) -> None:
    lines = [f'"{trap}": {trap}' for trap in (*TRAPS, TWO_LINES)]
    view = LinesView(lines, kind)
    safe = "\n".join(lines).replace("\x1b", "\\x1b").split("\n")
    async with OnePane(view).run_test(size=(80, len(safe))) as pilot:
        await pilot.pause()
        assert _shown(view) == safe


@pytest.fixture
def coloured(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The texts that colours were worked out for."""
    texts: list[str] = []

    def noting(text: str, kind: Kind) -> Iterable[Span]:
        texts.append(text)
        return colour_spans(text, kind)

    monkeypatch.setattr(lines_view, "colour_spans", noting)
    return texts


async def test_of_a_text_of_two_megabytes_only_what_is_seen_is_coloured(until: Until, coloured: list[str]) -> None:
    lines = [f'    "name": "agent-{number}", "n": {number},' for number in range(60_000)]
    view = LinesView()
    async with OnePane(view).run_test(size=(120, 40)) as pilot:
        view.focus()
        view.set_lines(lines, "json")
        await until(pilot, lambda: view.has_focus and view.allow_vertical_scroll)
        await pilot.press("end")
        await until(pilot, lambda: "agent-59999" in _shown(view)[-1])
        assert len(coloured) < 200


async def test_of_a_single_line_of_two_megabytes_only_what_is_seen_is_coloured(coloured: list[str]) -> None:
    for wrap in (True, False):
        view = LinesView(wrap=wrap)
        async with OnePane(view).run_test(size=(120, 40)) as pilot:
            view.set_lines(['"' + "x" * 2_000_000 + '"'], "json")
            await pilot.pause()
            assert _shown(view)[0].startswith('"xxx')
            assert sum(map(len, coloured)) < 100_000


async def test_its_text_can_be_taken_as_a_whole_and_wanted_as_a_copy() -> None:
    wanted: list[LinesView] = []

    class Listening(OnePane):
        def on_lines_view_copy_wanted(self, event: LinesView.CopyWanted) -> None:
            wanted.append(event.view)

    view = LinesView(["a", "b"])
    async with Listening(view).run_test(size=(40, 5)) as pilot:
        view.focus()
        await pilot.press("y")
        await pilot.pause()
        assert [view.text for view in wanted] == ["a\nb"]


async def test_a_new_text_begins_at_its_top_and_keeps_what_is_searched_for() -> None:
    view = LinesView(["x"] * 50)
    async with OnePane(view).run_test(size=(40, 5)) as pilot:
        view.search("beta")
        view.scroll_end(animate=False, immediate=True)
        view.set_lines(["alpha", "beta"])
        await pilot.pause()
        assert _shown(view)[0] == "alpha"
        assert view.hits == 1


async def test_no_character_is_lost_when_a_scrollbar_appears() -> None:
    lines = [f"{number:02d} " + "abcdefghijklmnopqrstuvwxyz" * 3 for number in range(30)]
    view = LinesView()
    async with OnePane(view).run_test(size=(40, 10)) as pilot:
        view.set_lines(["short"])
        await pilot.pause()
        view.set_lines(lines)
        await pilot.pause()
        assert view.max_scroll_x == 0
        assert "".join(_shown(view)).startswith("".join(lines[:3]))
