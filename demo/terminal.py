"""Tells a walk in the terminal: the notes, the arrows as they happen, what travelled, and the checks.

The same text with pauses and without. It is told from events alone, and never builds markup from data.
"""

import textwrap
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from rich.console import Console
from rich.highlighter import JSONHighlighter
from rich.text import Text

from agent_discovery.host import (
    AnswerFrame,
    ExtensionMissing,
    FailureFrame,
    Frame,
    HostError,
    NotAuthenticated,
    NotificationFrame,
    RequestFrame,
    StreamLost,
    TimedOut,
    UnsupportedProtocolVersion,
)
from agent_discovery.wire import EXTENSION_ID
from demo.events import (
    CacheMoved,
    Checked,
    Connected,
    Decided,
    Event,
    SceneDisturbed,
    SceneEnded,
    SceneStarted,
    Travelled,
    WalkEnded,
    WalkStarted,
)
from demo.plain import json_lines, one_line, printable
from demo.scene import Scene
from demo.script import INTRODUCTION, TITLE

if TYPE_CHECKING:
    from agent_discovery.host import CacheEvent

__all__ = ["Terminal", "why"]

_TOLD_HEADERS: Final = frozenset(
    {
        "authorization",
        "mcp-session-id",
        "mcp-protocol-version",
        "mcp-method",
        "mcp-name",
        "www-authenticate",
        "content-type",
    }
)
"""The headers that the walkthrough is about; the others are every HTTP client's."""
_INDENT: Final = "   "
_NARROWEST: Final = 20
"""Columns: where a terminal has fewer, or says that it has none, it wraps the lines itself."""


class Terminal:
    """Prints one event at a time to a rich console."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._json = JSONHighlighter()

    def tell(self, event: Event) -> None:
        match event:
            case WalkStarted(url=url):
                self._line(TITLE, style="bold")
                self._paragraphs(INTRODUCTION, indent="")
                self._line(f"Server: {url}")
            case Connected(wire=wire, opening=opening):
                self._line(
                    f"{_INDENT}connected on the {wire} wire, protocol {opening.protocol_version}",
                    style="dim",
                )
            case SceneStarted(scene=scene, attempt=attempt):
                self._scene(scene, attempt)
            case Travelled(frame=frame, arrow=arrow):
                self._arrow(frame, f"{arrow.direction} {arrow.label}")
            case CacheMoved(caller=caller, event=moved):
                self._line(f"{_INDENT}     {_cache_text(caller, moved)}", style="cyan")
            case Decided(title=title, text=text):
                self._line(f"{_INDENT}     {title}: {text}", style="cyan")
            case Checked():
                self._check(event)
            case SceneDisturbed(reason=reason):
                self._line(
                    f"{_INDENT}somebody else is at work here: {reason}. The scene starts again.",
                    style="yellow",
                )
            case SceneEnded():
                pass
            case WalkEnded():
                self._end(event)
            case _:
                pass
        self._console.file.flush()

    def _scene(self, scene: Scene, attempt: int) -> None:
        self._line("")
        self._line(f"{scene.number}. {scene.title}" + ("" if attempt == 1 else f" (attempt {attempt})"), style="bold")
        if attempt == 1:
            self._paragraphs(scene.note, indent=_INDENT)

    def _arrow(self, frame: Frame, label: str) -> None:
        self._line("")
        match frame:
            case RequestFrame():
                self._line(_INDENT + label, style="bold green")
                self._line(f"{_INDENT}     {frame.http_method} {urlsplit(frame.url).path}")
                self._headers(frame.headers)
                self._body(frame.message)
            case AnswerFrame():
                self._line(_INDENT + label, style="bold magenta")
                self._line(f"{_INDENT}     HTTP {frame.status} after {frame.elapsed_ms:.0f} ms")
                self._headers(frame.headers)
                self._body(frame.body if frame.message is None else frame.message)
            case NotificationFrame():
                self._line(_INDENT + label, style="bold magenta")
                self._body(frame.message)
            case FailureFrame(error=error):
                self._line(_INDENT + label, style="bold red")
                self._line(f"{_INDENT}     {error}")

    def _headers(self, headers: Mapping[str, str]) -> None:
        for name, value in headers.items():
            if name in _TOLD_HEADERS:
                self._line(f"{_INDENT}     {name}: {value}", style="dim")

    def _body(self, body: Any) -> None:
        if body is None:
            return
        text = printable(body) if isinstance(body, str) else json_lines(body)
        shown = Text(textwrap.indent(text, f"{_INDENT}     "))
        if self._console.color_system is not None:
            self._json.highlight(shown)
        self._print(shown)

    def _check(self, event: Checked) -> None:
        finding = event.finding
        self._line("")
        mark, style = ("held  ", "bold green") if finding.held else ("FAILED", "bold red")
        self._line(f"{_INDENT}{mark} {event.title}", style=style)
        self._line(f"{_INDENT}       expected {finding.expected}")
        self._line(f"{_INDENT}       got      {finding.got}")

    def _end(self, event: WalkEnded) -> None:
        self._line("")
        for failed in event.failed:
            self._line(
                f"Failed in scene {failed.scene.number} ({failed.scene.title}): {failed.title}: "
                f"expected {one_line(failed.finding.expected, 300)}, got {one_line(failed.finding.got, 300)}",
                style="bold red",
            )
        total = event.held + len(event.failed)
        style = "bold green" if not event.failed and event.stopped is None else "bold red"
        self._line(f"{event.held} of {total} checks held.", style=style)
        if event.stopped is not None:
            scene, reason = event.stopped.scene, one_line(why(event.stopped.error), 600)
            self._line(f"The walkthrough stops in scene {scene.number} ({scene.title}): {reason}", style="bold red")

    def _paragraphs(self, text: str, indent: str) -> None:
        width = min(max(self._console.width, _NARROWEST), 100)
        for paragraph in text.split("\n\n"):
            self._line("")
            self._print(Text(textwrap.fill(paragraph, width, initial_indent=indent, subsequent_indent=indent)))

    def _line(self, text: str, style: str = "") -> None:
        self._print(Text(one_line(text), style=style))

    def _print(self, text: Text) -> None:
        if self._console.color_system is None:
            # Rich lays each line out for a terminal, which costs more than the whole walk where there is none.
            self._console.file.write(f"{text.plain}\n")
        else:
            self._console.print(text, soft_wrap=True)


def why(error: HostError) -> str:
    """The error, with its next move in the words of this command line where the library's are those of an API."""
    match error:
        case ExtensionMissing(server=server):
            return f"{server} does not advertise {EXTENSION_ID}; give a server that does, e.g. python -m server"
        case TimedOut(method=method, seconds=seconds):
            return f"no answer to {method} within {seconds:g} s; check the address, or allow more time with --timeout"
        case UnsupportedProtocolVersion(message=message):
            return f"the server refused: {message}; choose the wire that it speaks, or --wire auto"
        case NotAuthenticated(message=message):
            move = "give a demo server, e.g. python -m server, or a token of this one with --token"
            return f"the server refused the walkthrough's token: {message}; {move}"
        case StreamLost(detail=detail):
            return f"the connection broke: {detail}; check that the server runs, then start the walk again"
        case _:
            return str(error)


def _cache_text(caller: str, event: "CacheEvent") -> str:
    left = f", {event.remaining_ms / 1000:.0f} s of its time left" if event.remaining_ms else ""
    because = f" ({event.reason})" if event.reason else ""
    return f"{caller}'s cache: {event.what} {event.kind.replace('_', ' ')}{left}{because}"
