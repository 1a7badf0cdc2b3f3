"""Whether the program can run here at all. Asked before Textual is loaded, and without it."""

import os
import sys
from collections.abc import Mapping
from typing import TextIO

__all__ = ["why_not"]


def why_not(
    streams: tuple[TextIO | None, ...] = (),
    environ: Mapping[str, str] = os.environ,
) -> str | None:
    """What keeps the program from taking the terminal, in one line that says what happens instead; None if nothing.

    Args:
        streams: standard input, output and error; the process's own unless given. All three are needed: keys come
            from the first, and frames would end up wherever the others lead.
        environ: the process's environment.
    """
    chosen = streams or (sys.stdin, sys.stdout, sys.stderr)
    for name, stream in zip(("input", "output", "error"), chosen, strict=True):
        if stream is None or not stream.isatty():
            return f"Standard {name} is no terminal, so here is the walk as plain text."
    if environ.get("TERM", "") in ("dumb", ""):
        return "This terminal cannot place text (TERM is dumb or not set), so here is the walk as plain text."
    return None
