"""The stateless wire: every request carries who asks and what it can do (MCP 2026-07-28).

Owns the headers and `_meta` of each request, `server/discover`, and the stream of `subscriptions/listen`.
"""

import base64
import re
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import AbstractAsyncContextManager, AsyncExitStack, aclosing, asynccontextmanager
from typing import Any, ClassVar, Final

import anyio

from agent_discovery.wire import (
    CLIENT_CAPABILITIES_META_KEY,
    CLIENT_INFO_META_KEY,
    LISTEN,
    LISTEN_ACKNOWLEDGED,
    LISTEN_FILTER_KEY,
    PROTOCOL_VERSION_META_KEY,
    STATELESS_PROTOCOL_VERSION,
)

from .answers import Answer, read_result
from .connection import Connection
from .errors import ServerFault, ServerRefused, StreamLost, TimedOut, UnsupportedProtocolVersion
from .exchange import Call
from .opening import Opening, Wire
from .source import Notification

__all__ = ["StatelessConnection", "encode_header_value"]

_NAME_IN_PARAMS: Final = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
_SERVER_INFO_META_KEY: Final = "io.modelcontextprotocol/serverInfo"
_PLAIN = re.compile(r"[\x20-\x7e]*")
_ENCODED = re.compile(r"=\?base64\?.*\?=", re.DOTALL)


class StatelessConnection(Connection):
    """A connection without a session: `open` only asks, and any request may go first."""

    wire: ClassVar[Wire] = "stateless"

    async def open(self) -> Opening:
        """`server/discover`; raises `HostError`."""
        result = await self.request("server/discover")
        supported = result.get("supportedVersions")
        if not isinstance(supported, list):
            raise ServerFault(f"its answer to server/discover has supportedVersions {supported!r}, not a list")
        if STATELESS_PROTOCOL_VERSION not in supported:
            raise UnsupportedProtocolVersion(
                "it does not list the stateless wire's protocol version",
                supported=tuple(map(str, supported)),
                requested=STATELESS_PROTOCOL_VERSION,
            )
        meta = result.get("_meta")
        info = result.get("serverInfo") or (meta.get(_SERVER_INFO_META_KEY) if isinstance(meta, dict) else None)
        self._shared.opening = Opening.of(
            self.wire, STATELESS_PROTOCOL_VERSION, info, result.get("capabilities"), result.get("instructions")
        )
        self._turns_to_a_shared_major(self._shared.opening)
        return self._shared.opening

    def notifications(self) -> AbstractAsyncContextManager[AsyncIterator[Notification]]:
        """The answer stream of `subscriptions/listen`; see `Connection.notifications`."""
        return self._listen()

    @asynccontextmanager
    async def _listen(self) -> AsyncIterator[AsyncIterator[Notification]]:
        params = {"notifications": {LISTEN_FILTER_KEY: True}}

        async def begin() -> tuple[Call, AsyncGenerator[dict[str, Any], None], AsyncExitStack]:
            message = {"jsonrpc": "2.0", "id": self._channel.next_id(), "method": LISTEN, "params": params}
            call = self._dress(message)
            async with AsyncExitStack() as stack:
                messages = await stack.enter_async_context(self._channel.stream(call, self.timeout))
                await self._acknowledged(call, messages)
                return call, messages, stack.pop_all()

        call, messages, stack = await self._agreeing(begin)
        async with stack, aclosing(_told(call, messages, self.url)) as notifications:
            yield notifications

    async def _say_goodbye(self) -> None:
        """Nothing: there is no session to end."""

    async def _acknowledged(self, call: Call, messages: AsyncGenerator[dict[str, Any], None]) -> None:
        try:
            with anyio.fail_after(self.timeout):
                first = await anext(messages, None)
        except TimeoutError as error:
            raise TimedOut(LISTEN, self.timeout) from error
        if first is None:
            raise StreamLost("the listen stream ended before it was acknowledged")
        if "method" not in first:
            read_result(call, Answer(200, {}, first, first), self.url)
            raise ServerFault("it ended the listen stream before acknowledging it", status=200)
        if first["method"] != LISTEN_ACKNOWLEDGED:
            raise ServerFault(f"its listen stream begins with {first['method']}, not the acknowledgement", status=200)
        params = first.get("params")
        granted = params.get("notifications") if isinstance(params, dict) else None
        if not isinstance(granted, dict) or granted.get(LISTEN_FILTER_KEY) is not True:
            raise ServerRefused(f"its acknowledgement does not grant {LISTEN_FILTER_KEY}", data=granted, status=200)

    def _dress(self, message: dict[str, Any]) -> Call:
        params = dict(message.get("params") or {})
        given = params.get("_meta")
        params["_meta"] = {
            PROTOCOL_VERSION_META_KEY: STATELESS_PROTOCOL_VERSION,
            CLIENT_INFO_META_KEY: self._client_info.to_wire(),
            CLIENT_CAPABILITIES_META_KEY: self._capabilities(),
            **(given if isinstance(given, dict) else {}),
        }
        method = str(message["method"])
        headers = {
            "Content-Type": "application/json",
            "MCP-Protocol-Version": STATELESS_PROTOCOL_VERSION,
            "Mcp-Method": encode_header_value(method),
        }
        name = params.get(_NAME_IN_PARAMS.get(method, ""))
        if isinstance(name, str):
            headers["Mcp-Name"] = encode_header_value(name)
        return self._call(headers, {**message, "params": params})


def encode_header_value(value: str) -> str:
    """The value as a header can carry it: as it is where that survives, else `=?base64?…?=` over its UTF-8.

    Source: MCP 2026-07-28, Streamable HTTP, header encoding.
    """
    if _PLAIN.fullmatch(value) and value == value.strip() and not _ENCODED.fullmatch(value):
        return value
    return f"=?base64?{base64.b64encode(value.encode()).decode()}?="


async def _told(call: Call, messages: AsyncIterator[dict[str, Any]], url: str) -> AsyncGenerator[Notification, None]:
    """The notifications up to the result, by which the server ends the subscription on purpose."""
    async for message in messages:
        method, params = message.get("method"), message.get("params")
        if method is None:
            read_result(call, Answer(200, {}, message, message), url)
            return
        if isinstance(method, str) and "id" not in message:
            yield Notification(method, params if isinstance(params, dict) else {})
