"""The checks of a scene, each with what was expected and what came. The words are those of the plain teller."""

from collections.abc import Sequence
from typing import ClassVar

from demo.events import Checked
from demo.scene import Scene
from demo.tui.folded_view import FoldedView
from demo.tui.lifelines import told

__all__ = ["ChecksPanel", "check_texts"]


class ChecksPanel(FoldedView):
    """Shows the checks that were made, or names those to come."""

    HELP: ClassVar[str] = (
        "What must hold at the end of the scene, with what was expected and what came. The checks look at what really\n"
        "travelled. They are made when the scene's last exchange is done."
    )

    def on_mount(self) -> None:
        self.border_title = "Checks"

    def show(self, scene: Scene, checked: Sequence[Checked]) -> None:
        """Show what these checks found; without any, what the scene will check."""
        self.set_texts(check_texts(scene, checked))
        held = sum(check.finding.held for check in checked)
        self.border_title = f"Checks: {held} of {len(checked)} held" if checked else "Checks to come"
        self.set_class(held < len(checked), "-failed")


def check_texts(scene: Scene, checked: Sequence[Checked]) -> list[str]:
    """One text a line: the failed checks first, then the others, each with both sides."""
    if not checked:
        return [f"· to come  {check.title}" for check in scene.checks]
    texts: list[str] = []
    for check in sorted(checked, key=lambda check: check.finding.held):
        head, *sides = told(check).split("\n")
        texts += [f"{'✓' if check.finding.held else '✗'} {head}", *(f"    {side.strip()}" for side in sides)]
    return texts
