"""A screen of panels: all at once where there is room, one in front with tabs where there is not.

It owns which panel is in front and how a reader goes from one to the other. How much room is enough is in `base`, what
is displayed then in the stylesheet.
"""

from collections.abc import Iterator
from typing import ClassVar

from textual import on
from textual.binding import Binding, BindingType
from textual.events import DescendantFocus
from textual.widget import Widget

from demo.tui.base import TuiScreen
from demo.tui.exchange_view import ExchangeView
from demo.tui.panel_tabs import PanelTabs
from demo.tui.traffic import TrafficPanel

__all__ = ["FrontScreen"]


class FrontScreen(TuiScreen):
    """A screen whose panels have the ids in `PANELS` and the class "panel"; the one in front has "-front" too.

    What holds the panel in front has the class "-has-front".
    """

    PANELS: ClassVar[dict[str, str]] = {}
    """The panels' ids and names, in the order of the tabs."""
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("full_stop", "panel(1)", "Panel", id="panels.next", key_display=".", tooltip="Go to the next panel"),
        Binding("comma", "panel(-1)", "Panel back", id="panels.previous", show=False, tooltip="Go to the panel before"),
    ]

    front = ""
    """The id of the panel in front."""

    def bring_up(self, panel: str) -> None:
        """Put this panel in front and go to it."""
        self._put_in_front(panel)
        # Only what is displayed can have the focus, and it is displayed with the next refresh. By then another panel
        # may be in front, where keys are typed fast.
        self.call_after_refresh(self._go_to_front)

    def _go_to_front(self) -> None:
        widget = self.query_one(f"#{self.front}")
        if widget.has_focus_within or widget.has_focus:
            return
        match widget:
            case TrafficPanel():
                widget.list.focus()
            case ExchangeView():
                widget.focus()
            case _:
                target = next(
                    (child for child in widget.walk_children(Widget, with_self=True) if child.can_focus), None
                )
                if target is not None:
                    target.focus()

    def bring_into_view(self, panel: Widget) -> None:
        if panel.id in self.PANELS:
            self._put_in_front(panel.id)

    def action_panel(self, by: int) -> None:
        """Go to the next panel, or to the one before; after the last one comes the first."""
        panels = list(self.PANELS)
        self.bring_up(panels[(panels.index(self.front) + by) % len(panels)] if self.front in panels else panels[0])

    @on(PanelTabs.Chosen)
    def _tab_chosen(self, event: PanelTabs.Chosen) -> None:
        self.bring_up(event.key)

    def on_descendant_focus(self, event: DescendantFocus) -> None:
        """Where all panels are on the screen, the one that the focus came to is in front.

        Elsewhere only the one in front can be gone to, and what is told of the focus may be older than that.
        """
        if self.size_class != "-wide":
            return
        for node in event.widget.ancestors_with_self:
            if isinstance(node, Widget) and node.id in self.PANELS:
                self._put_in_front(node.id)
                return

    def _put_in_front(self, panel: str) -> None:
        if panel == self.front:
            return
        self.front = panel
        self.query_one(PanelTabs).front = panel
        changed = [widget for widget, name, wanted in self.marks(panel) if _marked(widget, name, wanted)]
        # Styling a class anew would go on to everything inside, and no panel's inside depends on the panel's place.
        self.app.stylesheet.update_nodes(dict.fromkeys(changed))

    def marks(self, panel: str) -> Iterator[tuple[Widget, str, bool]]:
        """What has which class while this panel is in front: widget, class, whether it has it."""
        holders = set(self.query_one(f"#{panel}").ancestors)
        for widget in self.query(".panel"):
            yield widget, "-front", widget.id == panel
        for widget in {panel.parent: None for panel in self.query(".panel")} | dict.fromkeys(self.query(".column")):
            if isinstance(widget, Widget):
                yield widget, "-has-front", widget in holders


def _marked(widget: Widget, name: str, wanted: bool) -> bool:
    """Whether the widget's class had to be changed for it to be as wanted."""
    if widget.has_class(name) == wanted:
        return False
    widget.set_class(wanted, name, update=False)
    return True
