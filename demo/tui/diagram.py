"""The sequence diagram of a scene, growing arrow by arrow; the chosen arrow's exchange is shown next to it.

The drawing itself is in `lifelines`.
"""

from collections.abc import Sequence
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.events import Click, Resize
from textual.message import Message

from agent_discovery.host import RequestFrame
from demo.tui.lifelines import Drawing, LifelineRow, draw
from demo.tui.lines_view import LinesView

__all__ = ["Diagram"]


class Diagram(LinesView):
    """Two lifelines with an arrow for each frame. It follows the newest arrow until the reader chooses another."""

    HELP: ClassVar[str] = (
        "What travelled between the host and the server, newest last. Up and Down (or k and j) choose an arrow,\n"
        "whose exchange is shown in full; Home chooses the first one, End follows the newest again. A dot marks what\n"
        "the host does by itself."
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "choose(-1)", "Arrow before", id="diagram.up", show=False, tooltip="Choose the arrow before"),
        Binding("down,j", "choose(1)", "Arrow after", id="diagram.down", show=False, tooltip="Choose the arrow after"),
        Binding(
            "home", "choose_first", "First arrow", id="diagram.first", show=False, tooltip="Choose the first arrow"
        ),
        Binding("end", "choose_last", "Newest", id="diagram.last", show=False, tooltip="Follow the newest arrow again"),
    ]

    class Chosen(Message):
        """The reader, or the growing diagram, chose an arrow; `request` is the exchange that it belongs to."""

        def __init__(self, request: RequestFrame | None) -> None:
            self.request = request
            super().__init__()

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(kind="diagram", wrap=False, id=id, classes=classes)
        self._shown: tuple[LifelineRow, ...] = ()
        self._picked: int | None = None
        self._drawing = Drawing((), ())
        self._told: RequestFrame | None = None

    def on_mount(self) -> None:
        self.border_title = "Diagram"

    @property
    def arrows(self) -> Sequence[LifelineRow]:
        """The rows that are drawn, notes included."""
        return self._shown

    @property
    def chosen(self) -> int | None:
        """The index of the chosen row: the reader's choice, else the newest arrow; None where there is none."""
        if self._picked is not None and self._picked < len(self._shown):
            return self._picked
        return next((at for at in reversed(range(len(self._shown))) if self._shown[at].frame is not None), None)

    def show(self, rows: Sequence[LifelineRow], *, follow: bool = False) -> None:
        """Draw these rows. `follow` forgets which arrow the reader had chosen."""
        if follow:
            self._picked = None
        if tuple(rows) != self._shown or follow:
            self._shown = tuple(rows)
            self._draw()

    def on_resize(self, _: Resize) -> None:
        self._draw()

    def on_click(self, event: Click) -> None:
        place = event.get_content_offset(self)
        line = -1 if place is None else place.y + self.scroll_offset.y
        if 0 <= line < len(self._drawing.rows) and (row := self._drawing.rows[line]) is not None:
            self._pick(row)

    def action_choose(self, by: int) -> None:
        """Choose the next arrow, or the one before."""
        at = self.chosen
        while at is not None and 0 <= at + by < len(self._shown):
            at += by
            if self._shown[at].frame is not None:
                self._pick(at)
                return

    def action_choose_first(self) -> None:
        """Choose the first arrow."""
        first = next((at for at, row in enumerate(self._shown) if row.frame is not None), None)
        if first is not None:
            self._pick(first)

    def action_choose_last(self) -> None:
        """Follow the newest arrow again."""
        self._picked = None
        self._draw()

    def _pick(self, row: int) -> None:
        self._picked = row
        self._draw()

    def _draw(self) -> None:
        chosen = self.chosen
        self._drawing = draw(self._shown, self.scrollable_content_region.width, chosen)
        top = self.scroll_offset.y
        self.set_lines(self._drawing.lines, "diagram")
        self.scroll_to(0, top, animate=False, immediate=True)
        self._scroll_to_chosen()
        self.call_after_refresh(self._scroll_to_chosen)  # how far one can scroll is known once it is laid out
        self._tell(None if chosen is None else self._shown[chosen].request)

    def _scroll_to_chosen(self) -> None:
        if self._picked is None:
            self.scroll_end(animate=False, immediate=True, x_axis=False)
        elif (chosen := self.chosen) is not None:
            self.scroll_to_line(self._drawing.line_of(chosen))

    def _tell(self, request: RequestFrame | None) -> None:
        if request is not self._told:
            self._told = request
            self.post_message(self.Chosen(request))
