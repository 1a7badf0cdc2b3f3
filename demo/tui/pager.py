"""Text in the reader's own pager, which has the terminal for as long as it runs."""

import os
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path

from textual.app import App, SuspendNotSupported

__all__ = ["open_in_pager", "pager_command"]


def pager_command(environ: Mapping[str, str]) -> tuple[str, ...] | None:
    """`$PAGER`, else less, else more; None where there is none of them."""
    path = environ.get("PATH", "")
    try:
        chosen = tuple(shlex.split(environ.get("PAGER", "")))
    except ValueError:
        chosen = ()
    candidates = [*([chosen] if chosen else []), ("less",), ("more",)]
    return next((command for command in candidates if shutil.which(command[0], path=path)), None)


def open_in_pager(app: App[object], text: str, environ: Mapping[str, str] = os.environ) -> str | None:
    """Show `text` in the pager and come back when the reader leaves it; returns why not, where it could not be."""
    command = pager_command(environ)
    if command is None:
        return "There is no pager here: set PAGER, or install less. Press y to copy the text into a file."
    handle, name = tempfile.mkstemp(prefix="agent-discovery-", suffix=".txt")
    try:
        with os.fdopen(handle, "w", encoding="utf-8", errors="backslashreplace") as file:
            file.write(text + "\n")
        with app.suspend():
            subprocess.run([*command, name], check=False)
    except SuspendNotSupported:
        return "The program cannot give up the terminal here. Press y to copy the text into a file."
    except OSError as error:
        return f"The pager could not be started: {error}. Press y to copy the text into a file."
    finally:
        Path(name).unlink(missing_ok=True)
    return None
