"""The session wire: `initialize` first, then every request inside that session (MCP 2025-11-25 and older).

Owns the handshake, the session's headers, the GET stream, answers to what the server asks, and the session's end.
"""

import re
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, aclosing, asynccontextmanager, suppress
from dataclasses import replace
from typing import Any, ClassVar, Final

import anyio

from agent_discovery.wire import METHOD_NOT_FOUND, SESSION_PROTOCOL_VERSION

from .answers import Answer
from .connection import Connection
from .errors import BadRequest, HostError, ServerFault, UnsupportedProtocolVersion
from .exchange import Call
from .opening import Opening, Wire
from .source import Notification

__all__ = ["SessionConnection"]

_KNOWN_VERSIONS: Final = ("2024-11-05", "2025-03-26", "2025-06-18", SESSION_PROTOCOL_VERSION)
_VISIBLE: Final = re.compile(r"[\x21-\x7e]+")
_ENDING_SECONDS: Final = 2.0
_ASIDE_SECONDS: Final = 1.0
"""For what is told beside the requests that matter: an answer to a ping, that nobody waits any more."""


class SessionConnection(Connection):
    """A connection that keeps a session; its views share the session and may be other tokens of the same user."""

    wire: ClassVar[Wire] = "session"

    @property
    def listens_for(self) -> frozenset[str]:
        """All contexts that use this session: a session has one GET stream, so no other stream tells them."""
        return frozenset(self._shared.contexts | {self.authorization})

    async def open(self) -> Opening:
        """`initialize`, then `notifications/initialized`; raises `HostError`.

        Where the server says that it lacks the declared major of the extension and has another that this host speaks,
        the handshake is made once more with that one, as a session keeps what it was opened with.
        """
        if self.opening is not None:
            raise BadRequest("open: this connection has its session already; make a new connection for a new session")
        opening = await self._handshake()
        return await self._handshake() if self._turns_to_a_shared_major(opening) else opening

    async def _handshake(self) -> Opening:
        """Open a session, then end the one that there was; what fails halfway leaves no session behind."""
        params = {
            "protocolVersion": SESSION_PROTOCOL_VERSION,
            "capabilities": self._capabilities(),
            "clientInfo": self._client_info.to_wire(),
        }
        message = {"jsonrpc": "2.0", "id": self._channel.next_id(), "method": "initialize", "params": params}
        answer = await self._channel.ask(self._call({}, message), self.timeout)
        result, session_id, version = answer.result, _session_id(answer), None
        try:
            version = _negotiated(result)
            initialized = {"jsonrpc": "2.0", "method": "notifications/initialized"}
            await self._channel.tell(self._call(_headers(session_id, version), initialized), self.timeout)
        except BaseException:
            await self._end(session_id, version)
            raise
        former = self._shared.session_id, self._shared.protocol_version
        self._shared.session_id, self._shared.protocol_version = session_id, version
        self._shared.opening = Opening.of(
            self.wire, version, result.get("serverInfo"), result.get("capabilities"), result.get("instructions")
        )
        await self._end(*former)
        return self._shared.opening

    def notifications(self) -> AbstractAsyncContextManager[AsyncIterator[Notification]]:
        """The GET stream; see `Connection.notifications`."""
        return self._get_stream()

    @asynccontextmanager
    async def _get_stream(self) -> AsyncIterator[AsyncIterator[Notification]]:
        self._require_open("notifications")
        call = self._call({**self._headers(), "Accept": "text/event-stream"}, None, "GET")
        async with (
            self._channel.stream(call, self.timeout) as messages,
            aclosing(self._told(messages)) as notifications,
        ):
            yield notifications

    async def _told(self, messages: AsyncIterator[dict[str, Any]]) -> AsyncGenerator[Notification, None]:
        """The notifications among the messages; what has an id is a request by the server."""
        async for message in messages:
            method, params = message.get("method"), message.get("params")
            if "id" in message:
                await self._reply(message)
            elif isinstance(method, str):
                yield Notification(method, params if isinstance(params, dict) else {})

    async def _reply(self, request: Mapping[str, Any]) -> None:
        """Answer a request of the server: a ping with nothing, any other with a refusal, as nothing was offered it."""
        method, request_id = request.get("method"), request.get("id")
        if not isinstance(method, str) or type(request_id) not in (str, int):
            return
        reply: dict[str, Any] = {"jsonrpc": "2.0", "id": request_id}
        if method == "ping":
            reply["result"] = {}
        else:
            reply["error"] = {"code": METHOD_NOT_FOUND, "message": "This host declared nothing that a server may ask."}
        with anyio.move_on_after(_ASIDE_SECONDS):
            await self._tell_quietly(self._call(self._headers(), reply))

    async def _abandon(self, request_id: int) -> None:
        params = {"requestId": request_id, "reason": "The host stopped waiting for the answer."}
        message = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}
        with anyio.move_on_after(_ASIDE_SECONDS, shield=True):
            await self._tell_quietly(self._call(self._headers(), message))

    async def _declare_anew(self) -> None:
        await self._handshake()

    async def _say_goodbye(self) -> None:
        await self._end(self._shared.session_id, self._shared.protocol_version)

    async def _end(self, session_id: str | None, version: str | None) -> None:
        if session_id is not None:
            with anyio.move_on_after(_ENDING_SECONDS, shield=True):
                await self._tell_quietly(self._call(_headers(session_id, version), None, "DELETE"))

    async def _tell_quietly(self, call: Call) -> None:
        """Tell the server something that nothing depends on."""
        with suppress(HostError):  # it may refuse (405) or be gone; a session then ends by its own timeout
            await self._channel.tell(call, self.timeout)

    def _dress(self, message: dict[str, Any]) -> Call:
        self._require_open(message["method"])
        return self._call(self._headers(), message)

    def _headers(self) -> dict[str, str]:
        return _headers(self._shared.session_id, self._shared.protocol_version)

    def _call(self, headers: Any, message: Any, http_method: str = "POST") -> Call:
        if message is not None:
            headers = {"Content-Type": "application/json", **headers}
        return replace(super()._call(headers, message, http_method), on_request=self._reply)

    def _require_open(self, what: str) -> None:
        if self.opening is None:
            raise BadRequest(f"{what}: this connection has no session yet; await connection.open() first")


def _session_id(answer: Answer) -> str | None:
    """The session's id, which has to travel back (MCP 2025-11-25, "Session Management": visible ASCII only)."""
    session_id = answer.headers.get("mcp-session-id")
    if session_id is not None and not _VISIBLE.fullmatch(session_id):
        raise ServerFault("its Mcp-Session-Id is not visible ASCII without spaces", status=answer.status)
    return session_id


def _headers(session_id: str | None, version: str | None) -> dict[str, str]:
    named = {"Mcp-Session-Id": session_id, "MCP-Protocol-Version": version}
    return {name: value for name, value in named.items() if value is not None}


def _negotiated(result: dict[str, Any]) -> str:
    version = result.get("protocolVersion")
    if not isinstance(version, str):
        raise ServerFault(f"its answer to initialize has protocolVersion {version!r}, not a version")
    if version not in _KNOWN_VERSIONS:
        raise UnsupportedProtocolVersion(
            f"it answered initialize with protocol version {version!r}, which the session wire does not have",
            supported=(version,),
            requested=SESSION_PROTOCOL_VERSION,
        )
    return version
