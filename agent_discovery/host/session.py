"""The session wire: `initialize` first, then every request inside that session (MCP 2025-11-25 and older).

Owns the handshake, the session's headers, the GET stream, and the session's end.
"""

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import AbstractAsyncContextManager, aclosing, asynccontextmanager
from typing import Any, ClassVar, Final

from agent_discovery.wire import SESSION_PROTOCOL_VERSION

from .connection import Connection, Notification, Opening, Wire
from .errors import BadRequest, HostError, ServerFault, UnsupportedProtocolVersion
from .exchange import Call

__all__ = ["SessionConnection"]

_KNOWN_VERSIONS: Final = ("2024-11-05", "2025-03-26", "2025-06-18", SESSION_PROTOCOL_VERSION)


class SessionConnection(Connection):
    """A connection that keeps a session; its views share the session and may be other tokens of the same user."""

    wire: ClassVar[Wire] = "session"

    @property
    def listens_for(self) -> frozenset[str]:
        """All contexts that use this session: a session has one GET stream, so no other stream tells them."""
        return frozenset(self._shared.contexts | {self.authorization})

    async def open(self) -> Opening:
        """`initialize`, then `notifications/initialized`; raises `HostError`."""
        if self.opening is not None:
            raise BadRequest("open: this connection has its session already; make a new connection for a new session")
        params = {
            "protocolVersion": SESSION_PROTOCOL_VERSION,
            "capabilities": self._capabilities(),
            "clientInfo": self._client_info.to_wire(),
        }
        message = {"jsonrpc": "2.0", "id": self._channel.next_id(), "method": "initialize", "params": params}
        answer = await self._channel.ask(self._call({}, message), self.timeout)
        self._shared.session_id = answer.headers.get("mcp-session-id")
        self._shared.protocol_version = version = _negotiated(answer.result)
        initialized = {"jsonrpc": "2.0", "method": "notifications/initialized"}
        await self._channel.tell(self._call(self._headers(), initialized), self.timeout)
        result = answer.result
        self._shared.opening = Opening.of(
            self.wire, version, result.get("serverInfo"), result.get("capabilities"), result.get("instructions")
        )
        return self._shared.opening

    def notifications(self) -> AbstractAsyncContextManager[AsyncIterator[Notification]]:
        """The GET stream; see `Connection.notifications`."""
        return self._get_stream()

    @asynccontextmanager
    async def _get_stream(self) -> AsyncIterator[AsyncIterator[Notification]]:
        self._require_open("notifications")
        call = self._call({**self._headers(), "Accept": "text/event-stream"}, None, "GET")
        async with self._channel.stream(call, self.timeout) as messages, aclosing(_told(messages)) as notifications:
            yield notifications

    async def _say_goodbye(self) -> None:
        if self._shared.session_id is None:
            return
        try:
            await self._channel.tell(self._call(self._headers(), None, "DELETE"), self.timeout)
        except HostError:
            return  # a server may refuse (405) or be gone; the session then ends by its own timeout

    def _dress(self, message: dict[str, Any]) -> Call:
        self._require_open(message["method"])
        return self._call(self._headers(), message)

    def _headers(self) -> dict[str, str]:
        headers = {}
        if self._shared.session_id is not None:
            headers["Mcp-Session-Id"] = self._shared.session_id
        if self._shared.protocol_version is not None:
            headers["MCP-Protocol-Version"] = self._shared.protocol_version
        return headers

    def _call(self, headers: Any, message: Any, http_method: str = "POST") -> Call:
        if message is not None:
            headers = {"Content-Type": "application/json", **headers}
        return super()._call(headers, message, http_method)

    def _require_open(self, what: str) -> None:
        if self.opening is None:
            raise BadRequest(f"{what}: this connection has no session yet; await connection.open() first")


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


async def _told(messages: AsyncIterator[dict[str, Any]]) -> AsyncGenerator[Notification, None]:
    """The notifications among the messages: requests by the server have an id, and this host offers it nothing."""
    async for message in messages:
        method, params = message.get("method"), message.get("params")
        if isinstance(method, str) and "id" not in message:
            yield Notification(method, params if isinstance(params, dict) else {})
