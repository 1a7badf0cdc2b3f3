"""The exchanges of a whole program run: each request with what came of it, and the log that keeps them.

Pure data and text, without Textual. It owns what an exchange says about itself: title, outcome, why it failed, its
lines for reading. Arrow labels are worded in `demo.arrows`, shell commands in `demo.tui.as_curl`.
"""

import json
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import urlsplit

from agent_discovery.host import AnswerFrame, FailureFrame, Frame, NotificationFrame, RequestFrame, parse_challenges
from agent_discovery.host.frames import Observer
from demo.arrows import seen
from demo.cast import CAST
from demo.plain import one_line, printable
from demo.scene import Wire
from demo.tui.reasons import why_failed

__all__ = ["ExchangeRecord", "TrafficLog"]

KEPT: Final = 20_000
"""How many exchanges the log holds; the oldest go first."""
_TOKENS: Final = {caller.name: caller.token for caller in CAST}


@dataclass(eq=False)
class ExchangeRecord:
    """One request and everything that came back for it.

    `number` counts from 1 over the whole program; `scene` is the walk's scene, None for what the explorer sent. The
    frames hold no token (they come masked), and neither does the record.
    """

    number: int
    request: RequestFrame
    wire: Wire
    url: str
    scene: int | None = None
    answer: AnswerFrame | None = None
    failure: FailureFrame | None = None
    notifications: list[NotificationFrame] = field(default_factory=list)
    _haystack: str | None = field(default=None, repr=False)

    @property
    def method(self) -> str:
        """The JSON-RPC method, else the HTTP method."""
        message = self.request.message
        return self.request.http_method if message is None else one_line(str(message.get("method")))

    @property
    def title(self) -> str:
        """What the request's arrow says."""
        return one_line(seen(self.request).label)

    @property
    def outcome(self) -> str:
        """What the answer's arrow says; "under way" before there is one."""
        frame = self.failure if self.failure is not None and self.answer is None else self.answer
        return "under way" if frame is None else one_line(seen(frame).label)

    @property
    def status(self) -> int | None:
        """The HTTP status; None while there is none."""
        return None if self.answer is None else self.answer.status

    @property
    def elapsed_ms(self) -> float | None:
        """Milliseconds from the request to its answer, or to its failure; None while it is under way."""
        frame = self.answer or self.failure
        return None if frame is None else frame.elapsed_ms

    @property
    def under_way(self) -> bool:
        return self.answer is None and self.failure is None

    def why_failed(self) -> str | None:
        """Why this did not give what was asked for, in one line with the next move; None where nothing failed."""
        return why_failed(self.answer, self.failure)

    def lines_request(self, show_token: bool = False) -> list[str]:
        """The request as it was sent: start line, headers, an empty line, the JSON.

        The token is masked; `show_token` writes it where it is one of the walkthrough's own.
        """
        request = self.request
        path = urlsplit(request.url).path or "/"
        token = _TOKENS.get(request.caller) if show_token else None
        return [
            f"{request.http_method} {one_line(path)} HTTP/1.1",
            *_header_lines(request.headers, token),
            *_body_lines(request.message),
        ]

    def lines_answer(self) -> list[str]:
        """What came back: status line, headers, a challenge field by field, the JSON, what arrived on the stream."""
        lines: list[str] = []
        if self.answer is not None:
            answer = self.answer
            lines += [f"HTTP {answer.status} after {answer.elapsed_ms:.0f} ms", *_header_lines(answer.headers)]
            lines += _challenge_lines(answer.headers.get("www-authenticate", ""))
            lines += _body_lines(answer.body if answer.message is None else answer.message)
        for notification in self.notifications:
            lines += ["", f"arrived after {notification.elapsed_ms:.0f} ms:"]
            lines += _pretty(notification.message)
        if self.failure is not None:
            lines += [""] if lines else []
            lines += ["no answer" if self.answer is None else "then the stream broke"]
            lines += printable(str(self.failure.error)).split("\n")
        return lines or ["under way: no answer yet"]

    def curl(self, wire: Wire | None = None, token_variable: bool = True) -> str:
        """The request as shell commands that can be pasted; see `curl_command`.

        Args:
            wire: the wire that it was sent on; this record's own unless given.
            token_variable: leave the token to a shell variable. False writes it, where it is the walkthrough's own.
        """
        token = None if token_variable else _TOKENS.get(self.request.caller)
        from demo.tui.as_curl import curl_command  # with what it needs it is not loaded before it is asked for

        return curl_command(self.request, wire or self.wire, token=token)

    @property
    def size(self) -> int:
        """How many characters of text it holds, about."""
        return len(self.haystack)

    @property
    def haystack(self) -> str:
        """All text in it, in lower case, made once for as long as nothing new arrives."""
        if self._haystack is None:
            self._haystack = self._searchable().lower()
        return self._haystack

    def _searchable(self) -> str:
        parts: list[str] = [f"#{self.number}", self.title, self.outcome, self.wire]
        parts += [f"scene {self.scene}"] if self.scene is not None else []
        parts += [_compact(self.request.headers), _compact(self.request.message)]
        if self.answer is not None:
            body = self.answer.body if self.answer.message is None else self.answer.message
            parts += [f"HTTP {self.answer.status}", _compact(self.answer.headers), _compact(body)]
        parts += [_compact(notification.message) for notification in self.notifications]
        parts += [str(self.failure.error)] if self.failure is not None else []
        return "\n".join(parts)

    def _take(self, frame: Frame) -> None:
        match frame:
            case AnswerFrame():
                self.answer = frame
            case NotificationFrame():
                self.notifications.append(frame)
            case FailureFrame():
                self.failure = frame
            case _:
                pass
        self._haystack = None


class TrafficLog:
    """Every exchange of the program, in the order in which the requests were sent, `keep` of them at most."""

    def __init__(self, keep: int = KEPT) -> None:
        if keep < 1:
            raise ValueError(f"TrafficLog: keep must be at least 1, got {keep!r}; leave it out for {KEPT}")
        self._records: deque[ExchangeRecord] = deque()
        self._keep = keep
        self._count = 0
        self._by_request: dict[int, ExchangeRecord] = {}
        """By the identity of the request frame; the record keeps the frame alive, so an identity is not used twice."""
        self._subscribers: list[Callable[[ExchangeRecord], None]] = []

    @property
    def records(self) -> Sequence[ExchangeRecord]:
        return self._records

    @property
    def total(self) -> int:
        """How many exchanges there have been, the dropped ones included."""
        return self._count

    def observer(
        self,
        wire: Callable[[], Wire],
        url: str,
        scene: Callable[[], int | None] = lambda: None,
    ) -> Observer:
        """What to give to `connect(observer=…)`: each frame lands in its record; `wire` and `scene` say whose."""

        def take(frame: Frame) -> None:
            if isinstance(frame, RequestFrame):
                self._begin(frame, wire(), url, scene())
            elif (record := self._by_request.get(id(frame.request))) is not None:
                record._take(frame)
                self._tell(record)

        return take

    def record_of(self, request: RequestFrame) -> ExchangeRecord | None:
        """The record of this very request, while the log holds it."""
        return self._by_request.get(id(request))

    def subscribe(self, callback: Callable[[ExchangeRecord], None]) -> Callable[[], None]:
        """Have `callback` called with each record that is new or changed, at once; returns what undoes it."""
        self._subscribers.append(callback)

        def unsubscribe() -> None:
            if callback in self._subscribers:
                self._subscribers.remove(callback)

        return unsubscribe

    def filtered(self, text: str) -> list[ExchangeRecord]:
        """The records that hold every word of `text` somewhere: method, caller, status, headers, JSON."""
        words = text.lower().split()
        return [record for record in self._records if all(word in record.haystack for word in words)]

    def _begin(self, request: RequestFrame, wire: Wire, url: str, scene: int | None) -> None:
        self._count += 1
        record = ExchangeRecord(self._count, request, wire, url, scene)
        self._records.append(record)
        self._by_request[id(request)] = record
        while len(self._records) > self._keep:
            dropped = self._records.popleft()
            self._by_request.pop(id(dropped.request), None)
        self._tell(record)

    def _tell(self, record: ExchangeRecord) -> None:
        for callback in tuple(self._subscribers):
            callback(record)


def _header_lines(headers: Mapping[str, str], token: str | None = None) -> list[str]:
    shown = dict(headers)
    if token is not None and "authorization" in shown:
        shown["authorization"] = f"Bearer {token}"
    return [f"{one_line(name)}: {one_line(value)}" for name, value in shown.items()]


def _challenge_lines(header: str) -> list[str]:
    lines: list[str] = []
    for challenge in parse_challenges(header):
        lines += ["", f"challenge: {one_line(challenge.scheme)}"]
        lines += [f"  {one_line(name)} = {one_line(value)}" for name, value in challenge.parameters.items()]
    return lines


def _body_lines(body: Any) -> list[str]:
    if body is None:
        return []
    return ["", *(printable(body).split("\n") if isinstance(body, str) else _pretty(body))]


def _pretty(value: Any) -> list[str]:
    # Line by line: a text with line breaks in it never counts as printable, and is then looked at character by
    # character, which for megabytes takes a second.
    return [printable(line) for line in json.dumps(value, indent=2, ensure_ascii=False).split("\n")]


def _compact(value: Any) -> str:
    if value is None:
        return ""
    return json.dumps(dict(value) if isinstance(value, Mapping) else value, ensure_ascii=False)
