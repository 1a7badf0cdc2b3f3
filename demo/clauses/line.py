"""What one caller sends to a server, declaring what it is told to, and what came of it. No answer makes it raise.

Owns the dressing of requests on both wires, the odd ones included, and the value that an exchange becomes. Sending,
bounds and masking are those of the host library's channel; what an answer means is the probes' business.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from typing import Any, Final

import anyio

from agent_discovery import __version__
from agent_discovery.host import (
    AnswerFrame,
    Challenge,
    Credential,
    Frame,
    HostError,
    NotificationFrame,
    RequestFrame,
    ServerRefused,
    Unreachable,
    Wire,
    parse_challenges,
)
from agent_discovery.host.exchange import Call, Channel
from agent_discovery.host.stateless import encode_header_value
from agent_discovery.wire import (
    CLIENT_CAPABILITIES_META_KEY,
    CLIENT_INFO_META_KEY,
    EXTENSION_ID,
    LISTEN,
    PROTOCOL_VERSION_META_KEY,
    SESSION_PROTOCOL_VERSION,
    STATELESS_PROTOCOL_VERSION,
)
from demo.arrows import answer_label, request_label
from demo.cast import CLIENT_NAME
from demo.plain import one_line

__all__ = ["Line", "Seen"]

_CLIENT_INFO: Final = {"name": CLIENT_NAME, "version": __version__}
_MOST_MESSAGES: Final = 50
_LONGEST_LABEL: Final = 240


@dataclass(frozen=True)
class Seen:
    """One exchange: what was sent and what came back. `note` says what is odd about the request."""

    request: RequestFrame
    answer: AnswerFrame | None
    error: HostError | None
    """Why it is no result: a refusal, or that no readable answer came."""
    told: tuple[NotificationFrame, ...] = ()
    """What arrived on the stream that it opened."""
    note: str = ""

    @property
    def status(self) -> int:
        """The HTTP status, 0 without an answer."""
        return self.answer.status if self.answer is not None else 0

    @property
    def result(self) -> Mapping[str, Any] | None:
        """The JSON-RPC result, None where the answer is something else."""
        result = (self.answer.message or {}).get("result") if self.answer is not None else None
        return result if isinstance(result, Mapping) else None

    @property
    def refusal(self) -> Mapping[str, Any]:
        """The JSON-RPC error object, empty where there is none."""
        error = (self.answer.message or {}).get("error") if self.answer is not None else None
        return error if isinstance(error, Mapping) else {}

    @property
    def code(self) -> Any:
        """The JSON-RPC error code; None where there is none."""
        return self.refusal.get("code")

    @property
    def data(self) -> Mapping[str, Any]:
        """The error's data where that is an object, else empty."""
        data = self.refusal.get("data")
        return data if isinstance(data, Mapping) else {}

    @property
    def reason(self) -> Any:
        """`data.reason` of the error."""
        return self.data.get("reason")

    @property
    def challenge(self) -> Challenge | None:
        """The Bearer challenge for more scope, on whatever status."""
        header = self.answer.headers.get("www-authenticate", "") if self.answer is not None else ""
        return next((c for c in parse_challenges(header) if c.is_bearer and c.error == "insufficient_scope"), None)

    @property
    def is_answered(self) -> bool:
        """Whether there is an answer that is a result or a refusal; where not, `error` says what is wrong."""
        return self.result is not None or isinstance(self.error, ServerRefused)

    @property
    def asked(self) -> str:
        """The request in words."""
        message = self.request.message
        if message is None:
            words = f"{self.request.http_method}, as {self.request.caller}"
        else:
            words = request_label(str(message.get("method")), message.get("params"), self.request.caller)
        return one_line(f"{words} ({self.note})" if self.note else words, _LONGEST_LABEL)

    @property
    def answered(self) -> str:
        """The answer in words, its HTTP status included."""
        if self.answer is None:
            return one_line(f"no answer: {self.error}", _LONGEST_LABEL)
        label = answer_label(self.answer)
        with_status = label if label.startswith("HTTP ") else f"HTTP {self.answer.status} {label}"
        told = f", then {', '.join(_told(frame) for frame in self.told[:3])}" if self.told else ""
        return one_line(with_status + told, _LONGEST_LABEL)


def _told(frame: NotificationFrame) -> str:
    return str(frame.message.get("method", "the stream's result"))


class Line:
    """One caller's way to the server: a session of its own, or requests that stand alone.

    Args:
        channel: shared by all lines of a survey.
        wire: which wire to speak.
        credential: whose token.
        settings: what to declare for the extension; None does not declare it.
        timeout: seconds for one answer.
    """

    def __init__(
        self,
        channel: Channel,
        wire: Wire,
        credential: Credential,
        settings: Mapping[str, Any] | None,
        timeout: float,
    ) -> None:
        self.wire: Wire = wire
        self.label = credential.label
        self.protocol_version = SESSION_PROTOCOL_VERSION if wire == "session" else STATELESS_PROTOCOL_VERSION
        self._channel = channel
        self._credential = credential
        self._capabilities = {} if settings is None else {"extensions": {EXTENSION_ID: dict(settings)}}
        self._timeout = timeout
        self._session: dict[str, str] = {}

    async def open(self) -> Seen:
        """`initialize` with its notification, or `server/discover`."""
        if self.wire == "stateless":
            return await self.ask("server/discover")
        params = {
            "protocolVersion": SESSION_PROTOCOL_VERSION,
            "capabilities": self._capabilities,
            "clientInfo": _CLIENT_INFO,
        }
        seen = await self.ask("initialize", params)
        if seen.result is not None and seen.answer is not None:
            version, session = seen.result.get("protocolVersion"), seen.answer.headers.get("mcp-session-id")
            self.protocol_version = version if isinstance(version, str) else self.protocol_version
            self._session = {"MCP-Protocol-Version": encode_header_value(self.protocol_version)}
            self._session |= {} if session is None else {"Mcp-Session-Id": session}
            await self._tell("POST", {"jsonrpc": "2.0", "method": "notifications/initialized"})
        return seen

    async def ask(
        self,
        method: str,
        params: Mapping[str, Any] | None = None,
        *,
        headers: Mapping[str, str] | None = None,
        protocol_version: str | None = None,
        note: str = "",
    ) -> Seen:
        """Send one request. `headers` are added or replace those of the wire; so does `protocol_version`.

        Raises `Unreachable`: nobody is there any more.
        """
        call = self._call(method, params, headers or {}, protocol_version or self.protocol_version)
        error: HostError | None = None
        with self._watched() as frames:
            try:
                await self._channel.ask(call, self._timeout)
            except Unreachable:
                raise
            except HostError as caught:
                error = caught
        return _gathered(frames, error, note)

    async def overhear(self, wanted: Mapping[str, Any] | None, *, first: float, quiet: float, note: str = "") -> Seen:
        """Open the stream of notifications, wait `first` seconds for a message, `quiet` more for others, and close.

        `wanted` is the filter of a `subscriptions/listen`; the session wire's GET stream has none.
        """
        if self.wire == "stateless":
            call = self._call(LISTEN, {"notifications": dict(wanted or {})}, {}, self.protocol_version)
        else:
            call = self._plain("GET", {"Accept": "text/event-stream"}, None)
        error: HostError | None = None
        with self._watched() as frames:
            try:
                async with self._channel.stream(call, self._timeout) as messages:
                    with anyio.move_on_after(first):
                        await anext(messages, None)
                        with anyio.move_on_after(quiet):
                            left = _MOST_MESSAGES
                            while left and await anext(messages, None) is not None:
                                left -= 1
            except HostError as caught:
                error = caught
        return _gathered(frames, error, note)

    async def aclose(self) -> None:
        """End the session, where there is one. Never raises."""
        if "Mcp-Session-Id" in self._session:
            with anyio.CancelScope(shield=True), anyio.move_on_after(2):
                await self._tell("DELETE", None)
        self._session = {}

    async def _tell(self, http_method: str, message: Mapping[str, Any] | None) -> None:
        with suppress(HostError):  # nothing depends on it; a server that minds says so at the next request
            await self._channel.tell(self._plain(http_method, {}, message), self._timeout)

    def _call(
        self, method: str, params: Mapping[str, Any] | None, headers: Mapping[str, str], protocol_version: str
    ) -> Call:
        message: dict[str, Any] = {"jsonrpc": "2.0", "id": self._channel.next_id(), "method": method}
        if params is not None:
            message["params"] = dict(params)
        if self.wire == "session":
            return self._plain("POST", headers, message)
        message["params"] = {
            **(params or {}),
            "_meta": {
                PROTOCOL_VERSION_META_KEY: protocol_version,
                CLIENT_INFO_META_KEY: _CLIENT_INFO,
                CLIENT_CAPABILITIES_META_KEY: self._capabilities,
            },
        }
        dressed = {"MCP-Protocol-Version": protocol_version, "Mcp-Method": encode_header_value(method)}
        if method == "tools/call" and params is not None:
            dressed["Mcp-Name"] = encode_header_value(str(params["name"]))
        return self._plain("POST", {**dressed, **headers}, message)

    def _plain(self, http_method: str, headers: Mapping[str, str], message: Mapping[str, Any] | None) -> Call:
        common = {"Accept": "application/json, text/event-stream"}
        common |= {} if message is None else {"Content-Type": "application/json"}
        return Call(
            http_method=http_method,
            headers={**common, **self._session, **headers},
            message=message,
            token=self._credential.token,
            caller=self._credential.label,
        )

    @contextmanager
    def _watched(self) -> Iterator[list[Frame]]:
        frames: list[Frame] = []
        stop = self._channel.observe(frames.append)
        try:
            yield frames
        finally:
            stop()


def _gathered(frames: list[Frame], error: HostError | None, note: str) -> Seen:
    """The exchange in these frames. One request is under way at a time, so all of them belong to the first."""
    asked = next((frame for frame in frames if isinstance(frame, RequestFrame)), None)
    if asked is None:  # nothing was sent: a request that cannot be one
        raise error if error is not None else RuntimeError("an exchange without a request")
    seen = Seen(asked, None, error, note=note)
    for frame in frames:
        if isinstance(frame, AnswerFrame) and frame.request is asked:
            seen = replace(seen, answer=frame)
        elif isinstance(frame, NotificationFrame) and frame.request is asked:
            seen = replace(seen, told=(*seen.told, frame))
    return seen
