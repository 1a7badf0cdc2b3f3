"""The note: what the scene is about, and where to look in the code. The words are the script's."""

from typing import ClassVar

from demo.plain import printable
from demo.scene import Scene
from demo.tui.folded_view import FoldedView

__all__ = ["NotePanel"]


class NotePanel(FoldedView):
    """Shows one scene's note."""

    HELP: ClassVar[str] = (
        "What this scene is about, and the files in which it is done. Enter plays its next exchange; n and p go to\n"
        "the next and the previous scene, a digit goes to that scene."
    )

    def on_mount(self) -> None:
        self.border_title = "Note"

    def show(self, scene: Scene) -> None:
        """Show this scene's note."""
        paragraphs = [text for paragraph in scene.note.split("\n\n") for text in (paragraph, "")]
        self.set_texts([f"{scene.number}. {scene.title}", "", *map(printable, paragraphs), "Code:", *_code(scene)])


def _code(scene: Scene) -> list[str]:
    return [f"  {path}" for path in scene.code]
