"""Text that is safe to print: data from a server, made into lines that a terminal cannot take for commands."""

import json
from typing import Any

__all__ = ["json_lines", "one_line", "printable"]


def printable(text: str) -> str:
    """The text with everything that a terminal could act on written out (`\\x1b`), line breaks aside.

    Instructions, labels and error texts come from a server that nobody vouches for (draft, security considerations).
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c == "\n" else c.encode("unicode_escape").decode("ascii") for c in text)


def one_line(text: str, limit: int | None = None) -> str:
    """`printable`, with line breaks written out too, so that no text can pass itself off as the next line.

    What is longer than `limit` characters is cut.
    """
    shown = printable(text).replace("\n", "\\n")
    return shown if limit is None or len(shown) <= limit else shown[: limit - 3] + "..."


def json_lines(value: Any) -> str:
    """A JSON value, indented, each member on its own line."""
    return printable(json.dumps(value, indent=2, ensure_ascii=False))
