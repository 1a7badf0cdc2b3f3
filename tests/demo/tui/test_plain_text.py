"""A line of text: what it shows, and when the screen is laid out for it."""

import pytest
from textual.app import App, ComposeResult

from demo.plain import printable
from demo.tui.plain_text import PlainText
from tests.demo.tui.frames import TRAPS


class OneText(App[None]):
    """A text of ten columns and whatever height it needs."""

    CSS = "PlainText { width: 10; height: auto; }"

    def __init__(self, text: PlainText) -> None:
        super().__init__()
        self.text = text

    def compose(self) -> ComposeResult:
        yield self.text


@pytest.mark.parametrize(
    ("before", "after", "height"),
    [
        ("one", "two", 1),
        ("one", "one and then two", 2),
        ("a long text here", "short", 1),
        ("a\nb", "a", 1),
        ("", "x", 1),
    ],
)
async def test_a_text_takes_the_height_that_it_needs(before: str, after: str, height: int) -> None:
    text = PlainText(before)
    async with OneText(text).run_test(size=(20, 5)) as pilot:
        text.show(after)
        await pilot.pause()
        assert text.size.height == height
        assert text.render_line(0).text.strip() in after


async def test_what_fits_as_before_lays_out_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    text = PlainText("one")
    async with OneText(text).run_test(size=(20, 5)) as pilot:
        await pilot.pause()
        asked: list[bool] = []
        monkeypatch.setattr(text, "refresh", lambda *_, layout=False, **__: asked.append(layout))
        text.show("one")
        assert asked == []
        text.show("two")
        text.show("one and then two")
        assert asked == [False, True]


async def test_data_is_no_markup() -> None:
    text = PlainText()
    async with OneText(text).run_test(size=(40, 5)) as pilot:
        text.styles.width = 30
        for trap in TRAPS:
            safe = printable(trap)
            text.show(safe)
            await pilot.pause()
            assert text.render_line(0).text.rstrip() == safe
