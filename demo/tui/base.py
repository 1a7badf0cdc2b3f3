"""What every screen of the program has: the title line, the notice, the keys along the bottom, and the common actions.

A screen gives its own part in `compose_body`. Copying, searching, help and sizes are here; what is shown is the
screens' own business.
"""

import asyncio
from functools import partial
from typing import TYPE_CHECKING, ClassVar, Final, cast

from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container
from textual.events import DescendantFocus, Resize
from textual.geometry import Size
from textual.screen import Screen
from textual.widget import Widget
from textual.widgets import Input

from demo.plain import printable
from demo.tui.copying import CopyOutcome, copy_text
from demo.tui.exchange_view import ExchangeView
from demo.tui.help import HelpScreen, help_lines
from demo.tui.key_bar import KeyBar
from demo.tui.lines_view import LinesView
from demo.tui.notice import NoticeBar
from demo.tui.pager import open_in_pager
from demo.tui.plain_text import PlainText
from demo.tui.records import ExchangeRecord
from demo.tui.traffic import TrafficPanel

if TYPE_CHECKING:
    from demo.tui.app import WalkthroughApp

__all__ = ["SIZES", "TuiScreen", "size_class"]

SIZES: Final = ("-wide", "-medium", "-small")
_PAUSE: Final = 0.1
"""Seconds for which changes of the exchange shown are gathered."""


def size_class(width: int, height: int) -> str:
    """Which of the three layouts fits: one of `SIZES`."""
    if width < 60 or height < 20:
        return "-small"
    return "-wide" if width >= 110 and height >= 36 else "-medium"


class SearchInput(Input):
    """The line in which a search is typed."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "close", "Close", id="search.close", show=False, tooltip="Leave the search"),
    ]

    def action_close(self) -> None:
        cast("TuiScreen", self.screen).close_search()


class TuiScreen(Screen[None]):
    """A screen with the common frame."""

    PINNED: ClassVar[tuple[str, ...]] = ("app.quit", "app.help")
    """Ids of the bindings whose keys are always shown, in order."""
    AUTO_FOCUS: ClassVar[str | None] = ""
    """Screens choose what has the focus first; whatever comes first is seldom it."""
    NAME: ClassVar[str] = ""
    """What the title line calls the screen."""
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("slash", "search", "Search", id="app.search", key_display="/", tooltip="Search in what is shown"),
        Binding("f", "filter", "Filter log", id="app.filter", tooltip="Filter the exchange log"),
        Binding("question_mark,f1", "help", "Help", id="app.help", key_display="?", tooltip="Help for this panel"),
        Binding(
            "c", "copy_curl", "curl", id="exchange.curl", show=False, tooltip="Copy this request as a curl command"
        ),
        Binding("y", "copy_shown", "Copy", id="exchange.copy", show=False, tooltip="Copy what came back"),
        Binding(
            "o", "page_shown", "Pager", id="exchange.pager", show=False, tooltip="Open what came back in the pager"
        ),
        Binding(
            "x", "app.switch_side", "Walk/explore", id="app.switch", tooltip="Go from walking to exploring or back"
        ),
        Binding("colon", "app.command_palette", "Commands", id="app.palette", key_display=":", tooltip="All commands"),
        Binding("t", "app.choose_theme", "Theme", id="app.theme", show=False, tooltip="Choose a theme"),
        Binding("m", "app.toggle_mouse", "Mouse", id="app.mouse", show=False, tooltip="Mouse on or off"),
        Binding("s", "app.take_picture", "Picture", id="app.picture", show=False, tooltip="Save this screen as SVG"),
        Binding("v", "app.toggle_tokens", "Tokens", id="app.tokens", show=False, tooltip="Show or mask the tokens"),
        Binding("ctrl+l,R", "redraw", "Redraw", id="app.redraw", show=False, tooltip="Draw the screen anew"),
        Binding("q", "app.quit", "Quit", id="app.quit", tooltip="Leave the program"),
    ]

    def __init__(self) -> None:
        super().__init__()
        self._reading: LinesView | None = None
        self._stale = False
        self._title = {"wire": "", "acting": ""}

    @property
    def program(self) -> "WalkthroughApp":
        """The app, as what it is."""
        return cast("WalkthroughApp", self.app)

    # The frame

    def compose(self) -> ComposeResult:
        self._fit(self.app.size)  # before anything is styled, as changing it styles the whole screen anew
        yield PlainText(id="title")
        with Container(id="body"):
            yield from self.compose_body()
        yield SearchInput(placeholder="search, then Enter", id="search", compact=True)
        yield NoticeBar()
        yield KeyBar(self.PINNED)

    def compose_body(self) -> ComposeResult:
        """The screen's own part."""
        yield from ()

    def on_mount(self) -> None:
        self.call_later(self._watch_the_app)

    def _watch_the_app(self) -> None:
        self.watch(self.app, "url", self._draw_title)
        self.watch(self.app, "show_tokens", self._show_tokens)
        self._unsubscribe = self.program.traffic.subscribe(self._record_changed)

    def on_unmount(self) -> None:
        if hasattr(self, "_unsubscribe"):
            self._unsubscribe()

    def tell_title(self, *, wire: str | None = None, acting: str | None = None) -> None:
        """What the title line says about the wire and who acts; None leaves it as it was."""
        self._title |= {name: text for name, text in (("wire", wire), ("acting", acting)) if text is not None}
        self._draw_title()

    def _draw_title(self) -> None:
        wire = f"{self._title['wire']} wire" if self._title["wire"] else ""
        parts = ["Agent discovery", self.NAME, self._title["acting"], wire, self.program.url or "starting a server..."]
        self.query_one("#title", PlainText).show(printable(" | ".join(part for part in parts if part)))

    @property
    def size_class(self) -> str:
        """Which layout the screen has now: one of `SIZES`."""
        return next((name for name in SIZES if self.has_class(name)), "-medium")

    def on_resize(self, event: Resize) -> None:
        if self._fit(event.size):
            self.update_node_styles(animate=False)

    def _fit(self, size: Size) -> bool:
        """Choose the layout for this size, without drawing it yet; returns whether it is another one."""
        chosen = size_class(size.width, size.height)
        if self.has_class(chosen):
            return False
        self.remove_class(*SIZES, update=False)
        self.add_class(chosen, update=False)
        return True

    # Reading

    def on_descendant_focus(self, event: DescendantFocus) -> None:
        if isinstance(event.widget, LinesView):
            self._reading = event.widget

    @property
    def reading(self) -> LinesView | None:
        """The text that the reader is at: the focused one, else the last one, else the first in view with a text."""
        if isinstance(self.focused, LinesView):
            return self.focused
        if self._reading is not None and self._reading.is_attached and _in_view(self._reading):
            return self._reading
        views = [view for view in self.query(LinesView) if _in_view(view)]
        return next((view for view in views if view.lines), views[0] if views else None)

    def action_search(self) -> None:
        """Search in the text that the reader is at."""
        box = self.query_one("#search", SearchInput)
        box.add_class("-open")
        box.value = ""
        box.focus()

    def close_search(self) -> None:
        """Put the search line away and go back to the text."""
        self.query_one("#search", SearchInput).remove_class("-open")
        if (view := self.reading) is not None:
            view.focus()

    @on(Input.Submitted, "#search")
    def _searched(self, event: Input.Submitted) -> None:
        event.stop()
        view = self.reading
        self.close_search()
        if view is None:
            return
        found = view.search(event.value)
        self.program.say(
            f"{found} found; ] and [ go through them." if found else f"{event.value!r} is not in this text."
        )

    def action_filter(self) -> None:
        """Go to the filter of the exchange log."""
        panels = list(self.query(TrafficPanel))
        if not panels:
            self.program.say("This screen has no exchange log.")
            return
        self.bring_into_view(panels[0])
        panels[0].focus_filter()

    def bring_into_view(self, panel: Widget) -> None:
        """Show this panel, for screens that keep some behind others."""

    def action_help(self) -> None:
        """Help for the focused panel."""
        active = self.active_bindings.values()
        self.app.push_screen(HelpScreen(help_lines(self.focused or self, active, self.app.get_key_display)))

    def action_redraw(self) -> None:
        self.refresh(repaint=True, layout=True)

    # The exchange shown

    @property
    def exchange(self) -> ExchangeView | None:
        """The exchange that keys are about while no part of one has the focus: the one in view, else any."""
        views = [view for view in self.query(ExchangeView) if view.record is not None]
        return next((view for view in views if _in_view(view)), views[0] if views else None)

    def action_copy_curl(self) -> None:
        """Copy the request of the exchange shown as a curl command."""
        if (view := self.exchange) is not None:
            view.action_copy_curl()
        else:
            self.program.say("There is no exchange to copy yet.")

    def action_copy_shown(self) -> None:
        """Copy what came back in the exchange shown."""
        if (view := self.exchange) is not None:
            view.action_copy_answer()
        else:
            self.program.say("There is nothing to copy yet.")

    def action_page_shown(self) -> None:
        """Open what came back in the exchange shown in the pager."""
        if (view := self.exchange) is not None:
            view.action_page_answer()
        else:
            self.program.say("There is nothing to read yet.")

    def _show_tokens(self, shown: bool) -> None:
        for view in self.query(ExchangeView):
            view.show_token = shown

    def _record_changed(self, record: ExchangeRecord) -> None:
        if not self._stale and any(view.record is record for view in self.query(ExchangeView)):
            self._stale = True
            # Not `set_timer`: Textual skips a tick that comes late, and a timer that has only one never comes then.
            asyncio.get_running_loop().call_later(_PAUSE, self.call_later, self._show_again)

    def _show_again(self) -> None:
        self._stale = False
        for view in self.query(ExchangeView):
            view.record = view.record

    # Copying

    @on(ExchangeView.CurlWanted)
    def _copy_curl(self, event: ExchangeView.CurlWanted) -> None:
        event.stop()
        self.copy(event.record.curl(token_variable=not self.program.show_tokens), "curl command")

    @on(LinesView.CopyWanted)
    def _copy_lines(self, event: LinesView.CopyWanted) -> None:
        event.stop()
        if isinstance(event, LinesView.PagerWanted):
            self.page(event.view.text)
        else:
            self.copy(event.view.text, _name_of(event.view))

    def copy(self, text: str, what: str) -> None:
        """Copy a text and say which way it went."""
        self._copy(text, what)

    @work(thread=True, group="copy", exclusive=True)
    def _copy(self, text: str, what: str) -> None:
        ask = partial(self.app.call_from_thread, self.app.copy_to_clipboard)
        outcome: CopyOutcome = copy_text(text, what, terminal=ask)
        self.app.call_from_thread(self.program.say, outcome.told)

    def page(self, text: str) -> None:
        """Open a text in the reader's pager."""
        problem = open_in_pager(self.app, text)
        if problem is not None:
            self.program.say(problem, severity="warning")


def _in_view(view: Widget) -> bool:
    return view.display and all(node.display for node in view.ancestors if isinstance(node, Widget))


def _name_of(view: LinesView) -> str:
    return (view.id or "text").replace("exchange-", "").replace("-", " ")
