"""Where the program leaves its files: copies, pictures and logs, readable by their owner alone."""

import os
import tempfile
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Final

__all__ = ["new_file", "state_directory", "write_private"]

_NAME: Final = "mcp-agent-discovery"


def state_directory(environ: Mapping[str, str] = os.environ) -> Path:
    """The user's own directory for this program's files, made where it is missing.

    `$XDG_STATE_HOME`, else `~/.local/state`; where neither can be written to, a fresh temporary one.
    """
    base = environ.get("XDG_STATE_HOME") or str(Path(environ.get("HOME", "~")).expanduser() / ".local" / "state")
    place = Path(base) / _NAME
    try:
        place.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError:
        return Path(tempfile.mkdtemp(prefix=f"{_NAME}-"))
    return place if os.access(place, os.W_OK) else Path(tempfile.mkdtemp(prefix=f"{_NAME}-"))


def new_file(directory: Path, what: str, suffix: str, now: datetime | None = None) -> Path:
    """A name in the directory that no file has yet, with the time in it: `curl-20260728-101500.sh`."""
    stamp = (now or datetime.now()).strftime("%Y%m%d-%H%M%S")
    stem = "".join(character if character.isalnum() else "-" for character in what).strip("-").lower() or "text"
    path = directory / f"{stem}-{stamp}{suffix}"
    number = 2
    while path.exists():
        path = directory / f"{stem}-{stamp}-{number}{suffix}"
        number += 1
    return path


def write_private(path: Path, text: str) -> None:
    """Write a file that only its owner can read; raises OSError where that cannot be done."""
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(handle, "w", encoding="utf-8", errors="backslashreplace") as file:
        file.write(text)
