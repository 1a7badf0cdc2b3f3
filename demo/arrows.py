"""The words on the diagram's arrows: the same for a step of the script and for the frame that really travelled.

`scripted` says which arrows a step draws on a wire; `seen` says which arrow a frame is. They share the wording and
nothing else, so comparing them shows whether the diagram tells what happens.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from agent_discovery.host import (
    AnswerFrame,
    FailureFrame,
    Frame,
    NotificationFrame,
    RequestFrame,
    parse_challenges,
)
from agent_discovery.wire import (
    EXTENSION_ID,
    LISTEN,
    LISTEN_ACKNOWLEDGED,
    LISTEN_FILTER_KEY,
    extension_settings,
)
from demo.scene import (
    Accepted,
    Answer,
    Challenged,
    Exchange,
    Hear,
    Leave,
    Listen,
    Open,
    Opened,
    Refused,
    Result,
    Scene,
    Step,
    StreamOpened,
    Wire,
)

__all__ = ["Arrow", "answer_label", "request_label", "scripted", "scripted_scene", "seen"]

Direction = Literal["->>", "-->>"]

_ENVELOPE = ("_meta", "resultType")
"""Members of a result that belong to the wire, not to the method."""
_LAST = ("isError", "nextCursor", "ttlMs", "cacheScope")
_FIRST = ("agents", "agent", "instructions", "modelRoutingHint", "tools", "content", "structuredContent")
"""How a reader wants a result's members ordered. JSON objects have no order, so a label must not depend on theirs."""


@dataclass(frozen=True)
class Arrow:
    """One line of the sequence diagram: `->>` from host to server, `-->>` back."""

    direction: Direction
    label: str


def request_label(method: str, params: Mapping[str, Any] | None, caller: str) -> str:
    """What a call says: the method, what it is about, and who calls."""
    params = params or {}
    match method:
        case "tools/call":
            about = f"{params.get('name')} {{{', '.join(params.get('arguments') or {})}}}"
        case "agents/get":
            about = f'{{name: "{params.get("name")}"}}'
        case "subscriptions/listen":
            wanted = (params.get("notifications") or {}).get(LISTEN_FILTER_KEY)
            about = f"{{{LISTEN_FILTER_KEY}: {json.dumps(wanted)}}}"
        case _:
            about = ""
    return f"{method} {about}".strip() + f", as {caller}"


def _result_label(members: Iterable[str]) -> str:
    ranks = {name: rank for rank, name in enumerate((*_FIRST, None, *_LAST))}
    named = sorted(set(members) - set(_ENVELOPE), key=lambda name: (ranks.get(name, ranks[None]), name))
    return "{" + ", ".join(named) + "}"


def _opened_label(settings: object) -> str:
    return f'capabilities.extensions["{EXTENSION_ID}"] = {json.dumps(settings)}'


def _refused_label(code: object, reason: object) -> str:
    return f'{code} {{reason: "{reason}"}}' if reason else str(code)


def _challenged_label(status: int, error: str | None, scope: Iterable[str]) -> str:
    return f'HTTP {status}, WWW-Authenticate: Bearer error="{error}", scope="{" ".join(scope)}"'


def _expected_label(answer: Answer, wire: Wire) -> str:
    match answer:
        case Result():
            return _result_label(answer.on(wire))
        case Opened():
            return _opened_label({"listChanged": True})
        case Refused(code=code, reason=reason):
            return _refused_label(code, reason)
        case Challenged(scope=scope):
            return _challenged_label(403, "insufficient_scope", scope.split())
        case Accepted(status=status):
            return f"HTTP {status}"
        case StreamOpened():
            return "HTTP 200, a stream opens"


def scripted(step: Step, wire: Wire) -> tuple[Arrow, ...]:
    """The arrows that a step draws. Steps in which nothing travels draw none."""
    match step:
        case Exchange():
            return _pair(request_label(step.method, step.params, step.caller.name), step.answer, wire)
        case Open(caller=caller) if wire == "session":
            opening = _pair(request_label("initialize", None, caller.name), Opened(), wire)
            return opening + _pair(request_label("notifications/initialized", None, caller.name), Accepted(202), wire)
        case Open(caller=caller):
            return _pair(request_label("server/discover", None, caller.name), Opened(), wire)
        case Listen(caller=caller) if wire == "session":
            return _pair(f"GET, as {caller.name}", StreamOpened(), wire)
        case Listen(caller=caller):
            wanted = {"notifications": {LISTEN_FILTER_KEY: True}}
            opening = _pair(request_label(LISTEN, wanted, caller.name), StreamOpened(), wire)
            return (*opening, Arrow("-->>", LISTEN_ACKNOWLEDGED))
        case Hear(method=method):
            return (Arrow("-->>", method),)
        case Leave(caller=caller) if wire == "session":
            return _pair(f"DELETE, as {caller.name}", Accepted(200), wire)
        case _:
            return ()


def scripted_scene(scene: Scene, wire: Wire) -> tuple[Arrow, ...]:
    """All arrows of a scene, its clean-up included, in order."""
    return tuple(arrow for step in (*scene.steps, *scene.cleanup) for arrow in scripted(step, wire))


def _pair(call: str, answer: Answer, wire: Wire) -> tuple[Arrow, Arrow]:
    return Arrow("->>", call), Arrow("-->>", _expected_label(answer, wire))


def answer_label(frame: AnswerFrame) -> str:
    """What an answer says, read off the frame alone."""
    challenges = parse_challenges(frame.headers.get("www-authenticate", ""))
    if challenges and challenges[0].error == "insufficient_scope":
        return _challenged_label(frame.status, challenges[0].error, challenges[0].scope)
    if frame.message is None:
        stream = frame.status == 200 and frame.headers.get("content-type", "").startswith("text/event-stream")
        return f"HTTP {frame.status}" + (", a stream opens" if stream else "")
    error = frame.message.get("error")
    if isinstance(error, Mapping):
        data = error.get("data")
        return _refused_label(error.get("code"), data.get("reason") if isinstance(data, Mapping) else None)
    result = frame.message.get("result")
    if not isinstance(result, Mapping):
        return f"HTTP {frame.status}, no result"
    settings = extension_settings(result.get("capabilities"))
    return _result_label(result) if settings is None else _opened_label(dict(settings))


def seen(frame: Frame) -> Arrow:
    """The arrow that a frame is."""
    match frame:
        case RequestFrame(message=message):
            if message is None:
                return Arrow("->>", f"{frame.http_method}, as {frame.caller}")
            return Arrow("->>", request_label(str(message.get("method")), message.get("params"), frame.caller))
        case AnswerFrame():
            return Arrow("-->>", answer_label(frame))
        case NotificationFrame(message=message):
            return Arrow("-->>", str(message.get("method", "the stream's result")))
        case FailureFrame(error=error):
            return Arrow("-->>", f"no answer: {type(error).__name__}")
