"""What a step amounts to in a document: a call with its command and its answer, or a sentence.

It joins a step of the script with what was recorded of it. The words on the calls are the diagram's; how it all looks
is the template's.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Final

from demo.arrows import seen
from demo.curl import shell_commands
from demo.recording import RecordedExchange, RecordedScene, RecordedStep, frames_of
from demo.scene import Decide, Hear, Listen, Recall, Scene, Step, Unlisten, Wire

__all__ = ["Part", "Told", "parts_of", "scene_parts"]

LONG: Final = 16
"""JSON of more lines is folded."""


@dataclass(frozen=True)
class Told:
    """What came back. `head` is the HTTP side where it has news; `body` is JSON text, empty without one."""

    label: str
    head: str = ""
    body: str = ""

    @property
    def is_long(self) -> bool:
        return self.body.count("\n") > LONG


@dataclass(frozen=True)
class Part:
    """One thing in a scene: `call` is an arrow's label, `sentence` is plain text; one of the two is there."""

    call: str = ""
    sentence: str = ""
    command: str = ""
    told: Told | None = None


def scene_parts(scene: Scene, recorded: RecordedScene, wire: Wire) -> tuple[Part, ...]:
    """All parts of a scene on one wire, its clean-up included."""
    parts: list[Part] = []
    for step in (*scene.steps, *scene.cleanup):
        key = getattr(step, "key", None)
        parts += parts_of(step, RecordedStep("") if key is None else recorded.step(key), wire)
    return tuple(parts)


def parts_of(step: Step, recorded: RecordedStep, wire: Wire) -> tuple[Part, ...]:
    """The parts of one step on one wire."""
    commands = shell_commands(step, wire, recorded.requests)
    match step:
        case Recall(caller=caller, name=name):
            what = "the roster" if name is None else name
            return (Part(sentence=f"{caller.name}'s host needs {what} again. Its cache has it, so nothing is sent."),)
        case Decide(title=title):
            return (Part(sentence=f"{title}. Here: {recorded.decided}."),)
        case Unlisten():
            return (Part(sentence="The host closes the stream.", command=commands[0]),)
        case Hear(method=method):
            told = Told(method, body=_json(recorded.notifications[0]))
            return (Part(sentence="What the stream brings:", command=commands[0], told=told),)
        case _:
            return tuple(_exchanged(step, recorded, commands))


def _exchanged(step: Step, recorded: RecordedStep, commands: tuple[str, ...]) -> Iterator[Part]:
    labels = [seen(frame).label for frame in frames_of(recorded)]
    for number, (exchange, command) in enumerate(zip(recorded.exchanges, commands, strict=True)):
        call, label = labels[2 * number : 2 * number + 2]
        body = "" if exchange.answer.body is None else _json(exchange.answer.body)
        if isinstance(step, Listen) and recorded.notifications:
            label, body = labels[-1], _json(recorded.notifications[0])
        yield Part(call=call, command=command, told=Told(label, _head(exchange), body))


def _head(exchange: RecordedExchange) -> str:
    """The status line and the headers worth a look: those that say something else than the request and JSON do."""
    known = {"content-type": "application/json", **exchange.request.headers}
    news = [f"{name}: {value}" for name, value in exchange.answer.headers.items() if known.get(name) != value]
    status = exchange.answer.status
    return "\n".join([f"HTTP/1.1 {status} {HTTPStatus(status).phrase}", *news]) if news else ""


def _json(value: Any) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False)
