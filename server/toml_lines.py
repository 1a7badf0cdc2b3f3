"""Where in a TOML text each key is.

Owns the index from key paths to lines, which `tomllib` does not give. It leaves reading values to `tomllib`: the index
is made of texts that `tomllib` has accepted, so it looks for the ends of things and checks nothing.
"""

import re
from typing import Final

__all__ = ["LineIndex", "TomlPath"]

TomlPath = tuple[str | int, ...]
"""A place in a document: keys, and positions in arrays counted from 0, such as `("agents", 1, "tools")`."""

_BLANK: Final = re.compile(r"(?:[ \t\r\n]|#[^\n]*)*")
_SPACE: Final = re.compile(r"[ \t]*")
_BARE_KEY: Final = re.compile(r"[A-Za-z0-9_-]+")
_BARE_VALUE: Final = re.compile(r"[^,\]}#\n]*")
_STRING: Final = re.compile(
    r'"""(?:[^\\]|\\.)*?"{3,5}(?!")' r"|'''.*?'{3,5}(?!')" r'|"(?:[^"\\\n]|\\.)*"' r"|'[^'\n]*'", re.DOTALL
)
_ESCAPE: Final = re.compile(r'\\(?:u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|(["\\bfnrte]))')
_SHORT_ESCAPES: Final = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "e": "\x1b"}


class LineIndex:
    """The lines of one text's tables, keys and array items, counted from 1.

    Args:
        text: a document that `tomllib` accepts; of any other the index holds what could be found.
    """

    def __init__(self, text: str) -> None:
        self._lines: dict[TomlPath, int] = _Scanner(text.replace("\r\n", "\n")).scan() if text else {}

    def line(self, path: TomlPath) -> int:
        """The line of `path`, or of the nearest thing around it that is in the text."""
        while path and path not in self._lines:
            path = path[:-1]
        return self._lines.get(path, 1)

    def __contains__(self, path: object) -> bool:
        """Whether the very path is in the text."""
        return path in self._lines


class _Scanner:
    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._counted_to = 0
        self._line = 1
        self._lines: dict[TomlPath, int] = {}
        self._arrays: dict[TomlPath, int] = {}
        """The arrays of tables, with the position of the last table in each."""

    def scan(self) -> dict[TomlPath, int]:
        table: TomlPath = ()
        while self._skip(_BLANK) and self._at < len(self._text):
            before = self._at
            if self._peek() == "[":
                table = self._header()
            else:
                self._pair(table)
            if self._at == before:
                break
        return self._lines

    def _header(self) -> TomlPath:
        in_array = self._text.startswith("[[", self._at)
        line = self._here()
        self._at += 2 if in_array else 1
        path: TomlPath = ()
        keys = self._keys()
        for number, key in enumerate(keys, 1):
            path = (*path, key)
            self._lines.setdefault(path, line)
            if number == len(keys) and in_array:
                self._arrays[path] = self._arrays.get(path, -1) + 1
            if path in self._arrays:
                path = (*path, self._arrays[path])
                self._lines.setdefault(path, line)
        self._at += 2 if in_array else 1
        return path

    def _pair(self, table: TomlPath) -> None:
        line = self._here()
        path = table
        for key in self._keys():
            path = (*path, key)
            self._lines.setdefault(path, line)
        self._at += 1  # the equals sign
        self._value(path)

    def _value(self, path: TomlPath) -> None:
        self._skip(_SPACE)
        match self._peek():
            case "[":
                self._items(path, "]")
            case "{":
                self._items(path, "}")
            case '"' | "'":
                self._skip(_STRING)
            case _:
                self._skip(_BARE_VALUE)

    def _items(self, path: TomlPath, end: str) -> None:
        self._at += 1
        number = 0
        while self._skip(_BLANK) and self._peek() not in (end, ""):
            before = self._at
            if end == "]":
                self._lines.setdefault((*path, number), self._here())
                self._value((*path, number))
                number += 1
            else:
                self._pair(path)
            self._skip(_BLANK)
            if self._peek() == ",":
                self._at += 1
            if self._at == before:
                break
        self._at += 1

    def _keys(self) -> list[str]:
        keys = []
        while True:
            self._skip(_SPACE)
            start = self._at
            if self._peek() in ('"', "'"):
                self._skip(_STRING)
                keys.append(_unquoted(self._text[start : self._at]))
            else:
                self._skip(_BARE_KEY)
                keys.append(self._text[start : self._at])
            self._skip(_SPACE)
            if self._peek() != ".":
                return keys
            self._at += 1

    def _peek(self) -> str:
        return self._text[self._at : self._at + 1]

    def _skip(self, pattern: re.Pattern[str]) -> bool:
        if found := pattern.match(self._text, self._at):
            self._at = found.end()
        return True

    def _here(self) -> int:
        self._line += self._text.count("\n", self._counted_to, self._at)
        self._counted_to = self._at
        return self._line


def _unquoted(key: str) -> str:
    if key.startswith("'"):
        return key[1:-1]
    return _ESCAPE.sub(_escaped, key[1:-1])


def _escaped(found: re.Match[str]) -> str:
    code = found[1] or found[2]
    return chr(int(code, 16)) if code else _SHORT_ESCAPES.get(found[3], found[3])
