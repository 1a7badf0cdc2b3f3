"""Nothing that a terminal could take for a command gets through, and nothing is lost."""

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from demo.plain import json_lines, one_line, printable

ANY_TEXT = st.text(st.characters(), max_size=60)
"""Surrogates too: JSON can hold half of a pair."""
ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | ANY_TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(ANY_TEXT, inner, max_size=4),
    max_leaves=12,
)


@given(ANY_TEXT)
def test_printable_text_is_all_printable_but_for_line_breaks(text: str) -> None:
    assert all(c.isprintable() or c == "\n" for c in printable(text))


@given(ANY_TEXT)
def test_what_can_be_printed_stays_as_it_is(text: str) -> None:
    harmless = "".join(c for c in text if c.isprintable() or c == "\n")
    assert printable(harmless) == harmless
    assert printable(printable(text)) == printable(text)


@given(ANY_TEXT)
def test_one_line_is_one_line(text: str) -> None:
    assert one_line(text).isprintable()
    assert len(one_line(text).splitlines()) <= 1


@given(ANY_TEXT, st.integers(3, 20))
def test_one_line_is_no_longer_than_its_limit(text: str, limit: int) -> None:
    shown = one_line(text, limit)
    assert len(shown) <= limit
    assert shown == one_line(text) or shown == one_line(text)[: limit - 3] + "..."


@given(ANY_JSON)
def test_json_can_be_read_back_as_far_as_it_was_printable(value: Any) -> None:
    shown = json_lines(value)
    assert all(c.isprintable() or c == "\n" for c in shown)
    if printable(json.dumps(value, ensure_ascii=False)) == json.dumps(value, ensure_ascii=False):
        assert json.loads(shown) == value


def test_escape_sequences_are_written_out() -> None:
    assert printable("\x1b[31m\x07\x9b\u202e\r\ud800") == "\\x1b[31m\\x07\\x9b\\u202e\\r\\ud800"
    assert one_line("a\nb") == "a\\nb"
