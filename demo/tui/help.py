"""Help for the panel that has the focus: what it is for, and every key that does something there."""

from collections.abc import Callable, Iterable
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import ActiveBinding, Binding, BindingType
from textual.containers import Vertical
from textual.dom import DOMNode
from textual.screen import ModalScreen
from textual.widgets import Static

from demo.tui.folded_view import FoldedView

__all__ = ["HelpScreen", "help_lines", "help_of"]

_GENERAL = (
    "The mouse: to select text with it as in any terminal, hold Shift while you drag, or switch it off with m.",
    "A copy always goes into a file, and into the clipboard where there is one; the notice says which way was used.",
    'Keys can be changed: write `"walk.next" = "j"` under `[keys]` into keys.toml; the ids are in brackets below.',
)


class HelpScreen(ModalScreen[None]):
    """Lines of help over the screen that they are about."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,question_mark,f1", "close", "Close", id="help.close", tooltip="Back to where you were"),
    ]

    def __init__(self, lines: list[str]) -> None:
        super().__init__()
        self._lines = lines

    def compose(self) -> ComposeResult:
        with Vertical(id="help"):
            yield Static("Help (escape closes it)", id="help-title", markup=False)
            yield FoldedView(id="help-lines")

    def on_mount(self) -> None:
        view = self.query_one(FoldedView)
        view.set_texts(self._lines)
        view.focus()

    def action_close(self) -> None:
        self.dismiss()


def help_of(focused: DOMNode | None) -> list[str]:
    """What the focused panel says about itself, and then what the panels around it say."""
    lines: list[str] = []
    node = focused
    while node is not None:
        text = getattr(node, "HELP", None)
        if isinstance(text, str) and text not in lines:
            # Written in lines of source; here the pane decides where a line ends.
            lines += [" ".join(text.split()), ""]
        node = node.parent
    return lines


def help_lines(focused: DOMNode | None, active: Iterable[ActiveBinding], key: Callable[[Binding], str]) -> list[str]:
    """All help for what is focused."""
    rows: dict[str, tuple[list[str], str]] = {}
    for entry in active:
        binding = entry.binding
        if not binding.description:
            continue
        name = binding.id or binding.action
        keys, _ = rows.setdefault(name, ([], binding.tooltip or binding.description))
        shown = key(binding)
        # Two keys of one binding have the same display, which is the first one's.
        keys.append(binding.key if shown in keys else shown)
    listed = [f"  {' or '.join(keys):<18} {text}  [{name}]" for name, (keys, text) in rows.items()]
    return [*help_of(focused), "Keys here", "", *listed, "", *_GENERAL]
