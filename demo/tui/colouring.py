"""Which parts of a line get which colour, found by pattern when the line is shown. Pure: text in, spans out."""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Final, Literal

__all__ = ["STYLES", "Kind", "Span", "colour_spans"]

Kind = Literal["json", "http", "plain", "diagram"]
Span = tuple[int, int, str]
"""From, to (in characters), and one of the names in `STYLES`."""

STYLES: Final[Mapping[str, str]] = {
    "key": "$text-primary",
    "string": "$text-success",
    "number": "$text-accent",
    "word": "$text-warning",
    "start": "bold",
    "header": "$text-primary",
    "challenge": "$text-error",
    "there": "$text-success",
    "back": "$text-accent",
    "line": "$text-muted",
    "chosen": "bold reverse",
}
"""Each name's style: bold and reverse aside they are the theme's own, and none carries meaning alone."""

_JSON: Final = re.compile(
    r'(?P<key>"(?:[^"\\]|\\.)*")(?=\s*:)'
    r'|(?P<string>"(?:[^"\\]|\\.)*"?)'
    r"|(?P<number>(?<![\w.])-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?(?![\w.]))"
    r"|(?P<word>\b(?:true|false|null)\b)"
)
_START: Final = re.compile(r"(?P<start>^(?:GET|POST|DELETE|HTTP)\s.*$)")
_HEADER: Final = re.compile(r"^(?P<header>[A-Za-z0-9-]+)(?=: )")
_CHALLENGE: Final = re.compile(r"(?P<challenge>^(?:challenge: |  [a-z_]+ = ).*$)")
_DIAGRAM: Final = re.compile(r"(?P<chosen>^▶.*$)|(?P<there>─+[>▶])|(?P<back>[<◀][─┄╌]+)|(?P<line>[│┆])")


def colour_spans(text: str, kind: Kind) -> Iterator[Span]:
    """The coloured parts of one line; they do not overlap."""
    return _FINDERS[kind](text)


def _matches(pattern: re.Pattern[str], text: str) -> Iterator[Span]:
    for match in pattern.finditer(text):
        if match.lastgroup is not None:
            yield match.start(), match.end(), match.lastgroup


def _json(text: str) -> Iterator[Span]:
    return _matches(_JSON, text)


def _http(text: str) -> Iterator[Span]:
    for pattern in (_START, _CHALLENGE, _HEADER):
        if pattern.match(text):
            return _matches(pattern, text)
    return _matches(_JSON, text)


def _diagram(text: str) -> Iterator[Span]:
    return _matches(_DIAGRAM, text)


def _plain(_: str) -> Iterator[Span]:
    return iter(())


_FINDERS: Final[Mapping[Kind, Callable[[str], Iterator[Span]]]] = {
    "json": _json,
    "http": _http,
    "diagram": _diagram,
    "plain": _plain,
}
