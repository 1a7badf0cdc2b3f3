"""What an observer sees of the traffic: one frozen value per thing that happened.

Owns the shapes only. They are made in `exchange`, where secrets are masked before a frame exists: no frame ever
holds a token. Header names are lower-case. `at` is the wall clock in seconds since the epoch; `elapsed_ms` counts
from the moment the request was sent.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from .errors import HostError

__all__ = ["AnswerFrame", "FailureFrame", "Frame", "NotificationFrame", "Observer", "RequestFrame"]


@dataclass(frozen=True, slots=True)
class RequestFrame:
    """A request as it was sent; `number` counts from 1 over a connection and all its views.

    `caller` is the label of the credential (empty without one); `message` is None for GET and DELETE.
    """

    number: int
    caller: str
    http_method: str
    url: str
    headers: Mapping[str, str]
    message: Mapping[str, Any] | None
    at: float


@dataclass(frozen=True, slots=True)
class AnswerFrame:
    """The answer to a request. When the answer opens a stream, this frame marks its headers: no message, no body.

    `message` is the JSON-RPC response, if the body is one; `body` is the parsed JSON, else the text, None when empty.
    """

    request: RequestFrame
    status: int
    headers: Mapping[str, str]
    message: Mapping[str, Any] | None
    body: Any
    elapsed_ms: float
    at: float


@dataclass(frozen=True, slots=True)
class NotificationFrame:
    """One JSON-RPC message that arrived on a stream; of a stream that listens also its first and its last."""

    request: RequestFrame
    message: Mapping[str, Any]
    elapsed_ms: float
    at: float


@dataclass(frozen=True, slots=True)
class FailureFrame:
    """No answer came, or a stream broke: refused, timed out, lost, or not readable."""

    request: RequestFrame
    error: HostError
    elapsed_ms: float
    at: float


Frame = RequestFrame | AnswerFrame | NotificationFrame | FailureFrame

Observer = Callable[[Frame], None]
"""Called synchronously with each frame. It must not raise; if it does, that is logged and the traffic goes on."""
