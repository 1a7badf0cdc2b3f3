"""Makes a recording of a walk out of the stage's events.

What differs from one walk to the next is made even: JSON-RPC ids count 1, 2, 3 over the whole recording, a session id
becomes a placeholder that names the session, the server's address becomes the default one, and headers that the
walkthrough is not about (dates, lengths) are left out. Tokens are masked before a frame exists; none gets here.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import urlsplit

from agent_discovery.host import AnswerFrame, FailureFrame, Frame, NotificationFrame, RequestFrame
from agent_discovery.wire import SUBSCRIPTION_ID_META_KEY
from demo.arrows import seen
from demo.cast import DEFAULT_ORIGIN
from demo.events import Checked, Decided, Event, SceneEnded, SceneStarted, StepStarted, Stopped, Travelled
from demo.recording import (
    ReceivedAnswer,
    RecordedExchange,
    RecordedScene,
    RecordedStep,
    Recording,
    SentRequest,
)
from demo.scene import Wire

__all__ = ["Recorder", "UnusableWalk"]

_SENT: Final = (
    "authorization",
    "accept",
    "content-type",
    "mcp-session-id",
    "mcp-protocol-version",
    "mcp-method",
    "mcp-name",
)
_TOLD: Final = ("content-type", "mcp-session-id", "www-authenticate")
"""The headers that the walkthrough is about; the others are every HTTP client's and server's."""


class UnusableWalk(Exception):
    """A walk that no document may be made from: a check failed, or there was no answer."""


class Recorder:
    """Takes a walk's events and makes a recording of them.

    Args:
        wire: the wire that is played.
        url: the server's endpoint; its origin is replaced by the documented one.
    """

    def __init__(self, wire: Wire, url: str) -> None:
        parts = urlsplit(url)
        self._wire = wire
        self._even = _Evening(f"{parts.scheme}://{parts.netloc}")
        self._scenes: dict[int, list[_OpenStep]] = {}
        self._closing: list[_OpenStep] = []
        self._steps = self._closing

    def take(self, event: Event) -> None:
        """Notes one event; raises `UnusableWalk` where it shows that the walk cannot be documented."""
        match event:
            case SceneStarted(scene=scene):
                self._steps = self._scenes[scene.number] = []
            case SceneEnded():
                self._steps = self._closing
            case StepStarted(step=step) if (key := getattr(step, "key", None)) is not None:
                self._steps.append(_OpenStep(key))
            case Travelled(frame=frame):
                self._frame(self._steps[-1], frame)
            case Decided(text=text):
                self._steps[-1].decided = text
            case Checked(scene=scene, title=title, finding=finding) if not finding.held:
                raise UnusableWalk(
                    f"scene {scene.number}, {title}: expected {finding.expected}, got {finding.got}; "
                    "see it with `just demo --non-interactive`"
                )
            case Stopped(error=error):
                raise UnusableWalk(f"the walk stopped: {error}")
            case _:
                pass

    def recording(self) -> Recording:
        """The recording of what was taken so far."""
        scenes = tuple(RecordedScene(number, _closed(steps)) for number, steps in self._scenes.items())
        return Recording(self._wire, scenes, _closed(self._closing))

    def _frame(self, step: "_OpenStep", frame: Frame) -> None:
        match frame:
            case RequestFrame():
                step.asked.append((frame, self._even.request(frame)))
            case AnswerFrame():
                step.answered[id(frame.request)] = self._even.answer(frame)
            case NotificationFrame():
                step.notifications.append(self._even.notification(frame))
            case FailureFrame(error=error):
                raise UnusableWalk(f"no answer to {seen(frame.request).label}: {error}")


@dataclass
class _OpenStep:
    """A step under way. Answers find their request by its frame: several may be open at once."""

    key: str
    asked: list[tuple[RequestFrame, SentRequest]] = field(default_factory=list)
    answered: dict[int, ReceivedAnswer] = field(default_factory=dict)
    notifications: list[Mapping[str, Any]] = field(default_factory=list)
    decided: str | None = None


def _closed(steps: Iterable[_OpenStep]) -> tuple[RecordedStep, ...]:
    return tuple(
        RecordedStep(
            step.key,
            tuple(
                RecordedExchange(sent, step.answered[id(frame)])
                for frame, sent in step.asked
                if id(frame) in step.answered
            ),
            tuple(step.notifications),
            step.decided,
        )
        for step in steps
    )


class _Evening:
    """Makes even what differs from walk to walk. It keeps the request frames, so that their identities last."""

    def __init__(self, origin: str) -> None:
        self._texts = {origin: DEFAULT_ORIGIN}
        self._numbers: dict[int, int] = {}
        self._asked: list[RequestFrame] = []

    def request(self, frame: RequestFrame) -> SentRequest:
        self._asked.append(frame)
        if frame.message is not None and "id" in frame.message:
            self._numbers[id(frame)] = len(self._numbers) + 1
        message = None if frame.message is None else self._message(frame.message, frame)
        path = urlsplit(frame.url).path
        return SentRequest(frame.caller, frame.http_method, path, self._headers(frame.headers, _SENT), message)

    def answer(self, frame: AnswerFrame) -> ReceivedAnswer:
        if (session := frame.headers.get("mcp-session-id")) is not None:
            self._texts.setdefault(session, f"<{frame.request.caller}'s session>")
        body = frame.body if frame.message is None else self._message(frame.message, frame.request)
        return ReceivedAnswer(frame.status, self._headers(frame.headers, _TOLD), self._plain(body))

    def notification(self, frame: NotificationFrame) -> Mapping[str, Any]:
        return self._message(frame.message, frame.request)

    def _headers(self, headers: Mapping[str, str], wanted: Sequence[str]) -> dict[str, str]:
        return {name: str(self._plain(headers[name])) for name in wanted if name in headers}

    def _message(self, message: Mapping[str, Any], asked: RequestFrame) -> dict[str, Any]:
        """The message with the request's new number wherever its id stands: as `id`, and as a subscription's."""
        even = self._plain(message)
        number = self._numbers.get(id(asked))
        original = (asked.message or {}).get("id")
        if number is not None and even.get("id") == original:
            even["id"] = number
        for holder in (even.get("params"), even.get("result")):
            meta = holder.get("_meta") if isinstance(holder, dict) else None
            if isinstance(meta, dict) and number is not None and meta.get(SUBSCRIPTION_ID_META_KEY) == original:
                meta[SUBSCRIPTION_ID_META_KEY] = number
        return dict(even)

    def _plain(self, value: Any) -> Any:
        """The value, copied, with the addresses and session ids in its texts replaced."""
        match value:
            case str():
                for old, new in self._texts.items():
                    value = value.replace(old, new)
                return value
            case Mapping():
                return {name: self._plain(item) for name, item in value.items()}
            case list() | tuple():
                return [self._plain(item) for item in value]
            case _:
                return value
