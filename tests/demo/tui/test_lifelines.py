"""The diagram as text: every line is as wide as asked, every word is there, and the chosen arrow is marked."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from agent_discovery.host import AnswerFrame, CacheEvent, NotificationFrame, RequestFrame
from demo.arrows import seen
from demo.events import CacheMoved, Decided, Event, Travelled
from demo.plain import printable
from demo.tui.lifelines import CHOSEN, LifelineRow, draw, folded, rows_of

REQUEST = RequestFrame(1, "Alice", "POST", "http://server/mcp", {}, {"method": "agents/list"}, 0.0)
ANSWER = AnswerFrame(REQUEST, 200, {}, {"result": {"agents": [], "ttlMs": 1, "cacheScope": "private"}}, None, 3.0, 0.0)


def travelled(frame: RequestFrame | AnswerFrame | NotificationFrame) -> Travelled:
    return Travelled(frame, seen(frame))


def test_a_request_points_to_the_server_and_its_answer_back() -> None:
    drawing = draw(rows_of([travelled(REQUEST), travelled(ANSWER)]), 60)
    heads, there, back = drawing.lines
    assert heads.split() == ["Host", "Server"]
    assert there.startswith(" │─ agents/list, as Alice ─")
    assert there.endswith("─▶│")
    assert back.startswith(" │◀┄ {agents, ttlMs, cacheScope} ┄")
    assert back.endswith("┄│")


def test_the_chosen_arrow_is_marked_without_colour() -> None:
    rows = rows_of([travelled(REQUEST), travelled(ANSWER)])
    assert [line[0] == CHOSEN for line in draw(rows, 60, chosen=1).lines] == [False, False, True]
    assert [line[0] == CHOSEN for line in draw(rows, 60).lines] == [False, False, False]


def test_a_label_that_does_not_fit_stands_above_its_arrow() -> None:
    drawing = draw([LifelineRow("there", "tools/call get_pipeline_log {id}, as Alice")], 30, chosen=0)
    assert [line.strip("▶│ ") for line in drawing.lines[1:4]] == ["tools/call", "get_pipeline_log {id}, as", "Alice"]
    assert drawing.lines[4] == "▶│" + "─" * 26 + "▶│"
    assert [line[0] for line in drawing.lines[1:]] == [CHOSEN] * 4
    assert drawing.rows == (None, 0, 0, 0, 0)
    assert drawing.line_of(0) == 4


def test_what_the_host_does_by_itself_is_a_note_in_the_plain_tellers_words() -> None:
    events: list[Event] = [
        CacheMoved("Alice", CacheEvent("hit", "roster", 59_000, "private")),
        Decided("RoleTable maps the hint", "house-model: for this role"),
    ]
    assert [row.label for row in rows_of(events)] == [
        "Alice's cache: roster hit, 59 s of its time left (private)",
        "RoleTable maps the hint: house-model: for this role",
    ]
    assert {row.kind for row in rows_of(events)} == {"note"}


def test_an_arrow_knows_the_request_that_it_belongs_to() -> None:
    told = NotificationFrame(REQUEST, {"method": "notifications/agents/list_changed"}, 1.0, 0.0)
    rows = rows_of([travelled(REQUEST), travelled(ANSWER), travelled(told)])
    assert [row.request is REQUEST for row in rows] == [True, True, True]


@pytest.mark.parametrize(
    "trap", ["[/", "[0]", "[b +", "[true, false]", "\x1b[31mred", "two\nlines", "宽宽宽宽宽宽宽宽宽宽宽宽"]
)
def test_whatever_a_server_calls_itself_every_line_keeps_its_width(trap: str) -> None:
    strange = RequestFrame(1, trap, "POST", "http://server/mcp", {}, {"method": trap}, 0.0)
    for width in (24, 31, 80):
        drawing = draw(rows_of([travelled(strange)]), width, chosen=0)
        assert {cell_len(line) for line in drawing.lines} == {width}
        assert all(line.isprintable() for line in drawing.lines)


@given(st.text(max_size=60).map(printable), st.integers(min_value=4, max_value=40))
def test_folding_loses_nothing_and_never_runs_over(text: str, width: int) -> None:
    lines = folded(text, width)
    assert "".join(lines).replace(" ", "") == text.replace(" ", "").replace("\n", "")
    assert all(line.isprintable() and cell_len(line) <= width for line in lines)
