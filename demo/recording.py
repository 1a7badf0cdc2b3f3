"""What travelled when the script was played, as data that is the same every time.

Owns the shapes of a recording, its JSON text, the way back to frames, and the comparison with the script. How a
recording is made from a walk is in `demo.recorder`.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from pydantic import TypeAdapter, ValidationError

from agent_discovery.host import AnswerFrame, Frame, NotificationFrame, RequestFrame
from demo.arrows import scripted, seen
from demo.cast import DEFAULT_ORIGIN
from demo.scene import Exchange, Ref, Scene, Step, Wire

__all__ = [
    "ReceivedAnswer",
    "RecordedExchange",
    "RecordedScene",
    "RecordedStep",
    "Recording",
    "SentRequest",
    "UnusableRecording",
    "frames_of",
    "require_scripted",
]


class UnusableRecording(Exception):
    """A recording that cannot be read, or that tells another story than the script."""


@dataclass(frozen=True)
class SentRequest:
    """A request: who sent it, the HTTP side of it, and its JSON-RPC message (None for GET and DELETE)."""

    caller: str
    http_method: str
    path: str
    headers: Mapping[str, str]
    message: Mapping[str, Any] | None


@dataclass(frozen=True)
class ReceivedAnswer:
    """An answer: the body is JSON, else text; None where it is empty or a stream."""

    status: int
    headers: Mapping[str, str]
    body: Any


@dataclass(frozen=True)
class RecordedExchange:
    request: SentRequest
    answer: ReceivedAnswer


@dataclass(frozen=True)
class RecordedStep:
    """What one step of the script caused; `decided` is what the host made of it by itself."""

    key: str
    exchanges: tuple[RecordedExchange, ...] = ()
    notifications: tuple[Mapping[str, Any], ...] = ()
    decided: str | None = None

    @property
    def requests(self) -> tuple[SentRequest, ...]:
        return tuple(exchange.request for exchange in self.exchanges)


@dataclass(frozen=True)
class RecordedScene:
    number: int
    steps: tuple[RecordedStep, ...]

    def step(self, key: str) -> RecordedStep:
        """The step with this key; raises `UnusableRecording` where it is missing."""
        return _step(self.steps, key, f"scene {self.number}")


@dataclass(frozen=True)
class Recording:
    """One walk on one wire. `closing` is what followed the last scene."""

    wire: Wire
    scenes: tuple[RecordedScene, ...]
    closing: tuple[RecordedStep, ...] = ()

    def scene(self, number: int) -> RecordedScene:
        """The scene with this number; raises `UnusableRecording` where it is missing."""
        for scene in self.scenes:
            if scene.number == number:
                return scene
        raise UnusableRecording(f"the {self.wire} wire's recording has no scene {number}; run `just readme`")

    def farewell(self, key: str) -> RecordedStep:
        """The step of the closing with this key; raises `UnusableRecording` where it is missing."""
        return _step(self.closing, key, "the closing")

    def to_json(self) -> str:
        """The recording as JSON text: indented, with a line break at the end."""
        return json.dumps(_SHAPE.dump_python(self, mode="json"), indent=2, ensure_ascii=False) + "\n"

    @classmethod
    def from_json(cls, text: str) -> "Recording":
        """The recording that `to_json` wrote; raises `UnusableRecording` for any other text."""
        try:
            return _SHAPE.validate_json(text)
        except ValidationError as problem:
            first = problem.errors(include_url=False)[0]
            where = ".".join(str(part) for part in first["loc"]) or "its beginning"
            raise UnusableRecording(f"not a recording at {where}: {first['msg']}; run `just readme`") from problem


_SHAPE: Final = TypeAdapter(Recording)


def _step(steps: Iterable[RecordedStep], key: str, where: str) -> RecordedStep:
    for step in steps:
        if step.key == key:
            return step
    raise UnusableRecording(f"the recording of {where} has no step {key!r}; run `just readme`")


# Back to frames, and to the script


def frames_of(step: RecordedStep) -> tuple[Frame, ...]:
    """The frames that the step recorded, in order; their times are 0."""
    frames: list[Frame] = []
    for exchange in step.exchanges:
        sent, answer = exchange.request, exchange.answer
        url = DEFAULT_ORIGIN + sent.path
        request = RequestFrame(0, sent.caller, sent.http_method, url, sent.headers, sent.message, 0.0)
        message = answer.body if isinstance(answer.body, Mapping) and "jsonrpc" in answer.body else None
        frames += [request, AnswerFrame(request, answer.status, answer.headers, message, answer.body, 0.0, 0.0)]
    spoken = [frame for frame in frames if isinstance(frame, RequestFrame)]
    about = spoken[-1] if spoken else RequestFrame(0, "", "GET", DEFAULT_ORIGIN, {}, None, 0.0)
    return (*frames, *(NotificationFrame(about, message, 0.0, 0.0) for message in step.notifications))


def require_scripted(recording: Recording, scenes: Sequence[Scene], closing: Sequence[Step]) -> None:
    """Raises `UnusableRecording` unless each step was recorded as the script now has it: its arrows and its params."""
    for scene in scenes:
        recorded = recording.scene(scene.number)
        for step in (*scene.steps, *scene.cleanup):
            if scripted(step, recording.wire):
                _require_step(step, recorded.step(_key(step)), recorded, recording.wire)
    for step in closing:
        if scripted(step, recording.wire):
            _require_step(step, recording.farewell(_key(step)), None, recording.wire)


def _key(step: Step) -> str:
    return str(getattr(step, "key", ""))


def _require_step(step: Step, recorded: RecordedStep, scene: RecordedScene | None, wire: Wire) -> None:
    told, travelled = scripted(step, wire), tuple(seen(frame) for frame in frames_of(recorded))
    if told != travelled:
        raise UnusableRecording(
            f"step {recorded.key!r} of the {wire} wire's recording is not the script's: "
            f"expected {[arrow.label for arrow in told]}, got {[arrow.label for arrow in travelled]}; run `just readme`"
        )
    if isinstance(step, Exchange) and scene is not None:
        sent = dict((recorded.requests[0].message or {}).get("params") or {})
        sent.pop("_meta", None)
        wanted = _resolved(dict(step.params or {}), scene)
        if sent != wanted:
            raise UnusableRecording(
                f"step {recorded.key!r} of the {wire} wire's recording sent {sent}, "
                f"the script says {wanted}; run `just readme`"
            )


def _resolved(value: Any, scene: RecordedScene) -> Any:
    match value:
        case Ref(key=key, path=path):
            found = scene.step(key).exchanges[-1].answer.body["result"]
            for part in path:
                found = found[part]
            return found
        case Mapping():
            return {name: _resolved(item, scene) for name, item in value.items()}
        case list() | tuple():
            return [_resolved(item, scene) for item in value]
        case _:
            return value
