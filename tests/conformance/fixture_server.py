"""Servers for the conformance suite to look at: the fixture tools behind this project's extension, and the demo server.

Owns how they are put together and run. Both carry `AgentDiscovery` and its edge; the suite knows nothing of agents, so
what it proves is that the extension leaves the rest of the protocol as it must be.
"""

import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any, Final

import mcp_types as types
import uvicorn
from mcp.server.caching import CacheHint
from mcp.server.context import ServerRequestContext
from mcp.server.mcpserver import MCPServer
from mcp.server.streamable_http import EventCallback, EventId, EventMessage, EventStore, StreamId
from mcp.server.streamable_http_manager import StreamableHTTPASGIApp, StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from starlette.applications import Starlette
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from agent_discovery.server import AgentDef, AgentDiscovery, AgentRegistry
from server.app import build_app
from server.settings import MCP_PATH, Settings
from tests.conformance.fixture_rounds import build_round_tools
from tests.conformance.fixture_tools import build_content_tools

__all__ = ["build_demo_app", "build_fixture_app", "serving"]

_READY_SECONDS: Final = 20.0


class _Remembered(EventStore):
    """Events of all streams in one list, so that a client can come back for what it missed."""

    def __init__(self) -> None:
        self._events: list[tuple[StreamId, types.JSONRPCMessage | None]] = []

    async def store_event(self, stream_id: StreamId, message: types.JSONRPCMessage | None) -> EventId:
        self._events.append((stream_id, message))
        return str(len(self._events))

    async def replay_events_after(self, last_event_id: EventId, send_callback: EventCallback) -> StreamId | None:
        last = int(last_event_id)
        if not 0 < last <= len(self._events):
            return None
        stream_id = self._events[last - 1][0]
        for number, (stream, message) in enumerate(self._events[last:], last + 1):
            if stream == stream_id and message is not None:
                await send_callback(EventMessage(message, str(number)))
        return stream_id


async def _set_level(_ctx: ServerRequestContext[Any, Any], _params: types.SetLevelRequestParams) -> types.EmptyResult:
    return types.EmptyResult()


def build_fixture_app() -> Starlette:
    """The suite's tools on an `MCPServer` with one agent, without authentication: the suite brings no token."""
    agent = AgentDef(name="fixture-agent", instructions="Say something.", tools=("test_simple_text",))
    discovery = AgentDiscovery(AgentRegistry([agent]))
    server: MCPServer[Any] = MCPServer(
        "conformance-fixture",
        version="0.1.0",
        tools=[*build_content_tools(), *build_round_tools()],
        extensions=[discovery],
        cache_hints={"tools/list": CacheHint(ttl_ms=1_000, scope="private")},
        log_level="CRITICAL",
    )
    # MCPServer has no public way to offer logging, nor to be served with an event store and a retry interval.
    lowlevel = server._lowlevel_server
    lowlevel.add_request_handler("logging/setLevel", types.SetLevelRequestParams, _set_level)
    discovery.attach(server)
    manager = StreamableHTTPSessionManager(
        lowlevel,
        event_store=_Remembered(),
        retry_interval=200,
        security_settings=TransportSecuritySettings(
            enable_dns_rebinding_protection=True,
            allowed_hosts=["127.0.0.1:*", "localhost:*"],
            allowed_origins=["http://127.0.0.1:*", "http://localhost:*"],
        ),
    )

    @asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncIterator[None]:
        async with manager.run():
            yield

    edge = discovery.edge(StreamableHTTPASGIApp(manager))
    return Starlette(routes=[Route(MCP_PATH, endpoint=_Endpoint(edge))], lifespan=lifespan)


def build_demo_app(token: str = "alice-read") -> ASGIApp:
    """The demo server as it is, behind a door that gives each request `token`."""
    app = build_app(Settings(), "http://127.0.0.1").asgi

    async def with_token(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            scope = {**scope, "headers": [*scope["headers"], (b"authorization", f"Bearer {token}".encode())]}
        await app(scope, receive, send)

    return with_token


class _Endpoint:
    """An ASGI app that Starlette's `Route` takes as one: it wraps plain functions as request handlers."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._app(scope, receive, send)


class _Uvicorn(uvicorn.Server):
    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.ready = threading.Event()

    async def startup(self, sockets: Any = None) -> None:
        await super().startup(sockets)
        self.ready.set()


@contextmanager
def serving(app: ASGIApp) -> Iterator[str]:
    """The URL of the MCP endpoint of `app`, which runs in a thread until the block ends."""
    config = uvicorn.Config(
        app, host="127.0.0.1", port=0, log_level="critical", timeout_graceful_shutdown=1, lifespan="on"
    )
    server = _Uvicorn(config)
    thread = threading.Thread(target=server.run, name="conformance-server")
    thread.start()
    try:
        assert server.ready.wait(_READY_SECONDS), "the server did not come up"
        port = server.servers[0].sockets[0].getsockname()[1]
        yield f"http://127.0.0.1:{port}{MCP_PATH}"
    finally:
        server.should_exit = True
        thread.join(_READY_SECONDS)
        assert not thread.is_alive(), "the server did not end"
