"""Copying text out of the program: always into a file, and into the clipboard where there is a way to it.

It owns the choice of the way and the words that say which one was used. A terminal that is asked by escape sequence
(OSC 52) never says whether it did anything, so that is told as asking, not as having copied.
"""

import os
import shutil
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from demo.tui.places import new_file, state_directory, write_private

__all__ = ["CopyOutcome", "clipboard_command", "copy_text"]

_SECONDS: Final = 2.0
_MOST_FOR_A_TERMINAL: Final = 74_000
"""Bytes; terminals and multiplexers drop longer sequences without a word."""
_SUFFIXES: Final = {"curl": ".sh", "diagram": ".txt"}


@dataclass(frozen=True)
class CopyOutcome:
    """Where the text went. `clipboard` names the way that was used; None where there was none."""

    what: str
    file: Path | None
    clipboard: str | None
    sure: bool
    """Whether the clipboard is known to hold it."""
    problem: str | None = None

    @property
    def told(self) -> str:
        """The outcome as a sentence or two."""
        parts = [f"{self.what}: written to {self.file}." if self.file else f"{self.what}: no file ({self.problem})."]
        if self.clipboard is None:
            parts.append("There is no clipboard to reach from here.")
        elif self.sure:
            parts.append(f"In the clipboard by {self.clipboard}.")
        else:
            parts.append(f"Asked {self.clipboard} to put it into the clipboard; that may not arrive.")
        return " ".join(parts)


def copy_text(
    text: str,
    what: str,
    *,
    terminal: Callable[[str], None] | None = None,
    environ: Mapping[str, str] = os.environ,
    directory: Path | None = None,
) -> CopyOutcome:
    """Copy `text`. Takes up to two seconds; call it in a thread.

    Args:
        text: what is copied.
        what: what it is, in a word or two: it names the file and starts the notice.
        terminal: asks the terminal to copy (OSC 52), where no clipboard program is at hand.
        environ: the process's environment, which says whether there is a desktop and whether it is a remote one.
        directory: where the file goes; the user's state directory unless given.
    """
    file, problem = _written(text, what, directory or state_directory(environ))
    command = clipboard_command(environ)
    if command is not None and _handed_to(command, text, environ):
        return CopyOutcome(what, file, command[0], True, problem)
    if terminal is not None and len(text.encode("utf-8", "replace")) <= _MOST_FOR_A_TERMINAL:
        terminal(text)
        return CopyOutcome(what, file, "the terminal", False, problem)
    return CopyOutcome(what, file, None, False, problem)


def clipboard_command(environ: Mapping[str, str]) -> tuple[str, ...] | None:
    """The clipboard program of the desktop that the reader sits at; None over SSH, where it would be another one."""
    if environ.get("SSH_CONNECTION") or environ.get("SSH_TTY"):
        return None
    candidates: list[tuple[str, ...]] = []
    if environ.get("WAYLAND_DISPLAY"):
        candidates.append(("wl-copy",))
    if environ.get("DISPLAY"):
        candidates += [("xclip", "-selection", "clipboard"), ("xsel", "--clipboard", "--input")]
    candidates += [("pbcopy",), ("clip.exe",)]
    path = environ.get("PATH", "")
    return next((command for command in candidates if shutil.which(command[0], path=path)), None)


def _written(text: str, what: str, directory: Path) -> tuple[Path | None, str | None]:
    suffix = next((end for word, end in _SUFFIXES.items() if word in what.lower()), ".txt")
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        path = new_file(directory, what, suffix)
        write_private(path, text)
    except OSError as error:
        return None, str(error)
    return path, None


def _handed_to(command: tuple[str, ...], text: str, environ: Mapping[str, str]) -> bool:
    try:
        done = subprocess.run(
            command,
            executable=shutil.which(command[0], path=environ.get("PATH", "")),
            input=text.encode("utf-8", "replace"),
            # Some of them stay in the background to serve the clipboard; with a pipe they would be waited for.
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0
