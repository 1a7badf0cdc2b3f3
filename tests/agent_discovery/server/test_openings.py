"""A refused `initialize` leaves no session behind. The session limit of one tells whether it did."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest
from mcp.server.auth.middleware.bearer_auth import BearerAuthBackend
from mcp.server.lowlevel import Server
from mcp.server.streamable_http_manager import StreamableHTTPASGIApp, StreamableHTTPSessionManager
from starlette.middleware.authentication import AuthenticationMiddleware

from agent_discovery.server import AgentDiscovery, AgentRegistry
from agent_discovery.wire import EXTENSION_ID
from server.tokens import TableVerifier
from tests.server.callers import SESSION, answer, bearer

GOOD = {"protocolVersion": SESSION, "capabilities": {}, "clientInfo": {"name": "raw", "version": "1"}}
WRONG: list[dict[str, Any]] = [
    {"clientInfo": None},
    {"protocolVersion": 3},
    {"capabilities": []},
    {"capabilities": {"extensions": {EXTENSION_ID: "1.0.0"}}},
]


@asynccontextmanager
async def _room_for_one(*, json_response: bool, **options: Any) -> AsyncIterator[httpx.AsyncClient]:
    server: Server[Any] = Server("small")
    discovery = AgentDiscovery(AgentRegistry(), **options)
    discovery.attach(server)
    manager = StreamableHTTPSessionManager(server, json_response=json_response, max_sessions=1)
    edge = discovery.edge(StreamableHTTPASGIApp(manager))
    app = AuthenticationMiddleware(edge, backend=BearerAuthBackend(TableVerifier()))
    headers = {**bearer("alice-read"), "accept": "application/json, text/event-stream"}
    transport = httpx.ASGITransport(app)
    async with manager.run(), httpx.AsyncClient(transport=transport, base_url="http://test", headers=headers) as http:
        yield http


def _initialize(**params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {**GOOD, **params}}


@pytest.mark.parametrize("json_response", [True, False], ids=["json", "streams"])
@pytest.mark.parametrize("wrong", WRONG, ids=str)
async def test_after_a_refusal_there_is_room_for_the_next_session(wrong: dict[str, Any], json_response: bool) -> None:
    async with _room_for_one(json_response=json_response) as http:
        refused = await http.post("/", json=_initialize(**wrong))
        assert answer(refused)["error"]["code"] == -32602
        assert answer(refused)["id"] == 1
        assert "mcp-session-id" not in refused.headers
        opened = await http.post("/", json=_initialize())
        assert opened.status_code == 200
        assert opened.headers["mcp-session-id"]
        assert (await http.post("/", json=_initialize())).status_code == 503


@pytest.mark.parametrize("json_response", [True, False], ids=["json", "streams"])
async def test_a_refused_initialize_on_a_session_that_is_open_leaves_it_open(json_response: bool) -> None:
    async with _room_for_one(json_response=json_response) as http:
        opened = await http.post("/", json=_initialize())
        session = {"mcp-session-id": opened.headers["mcp-session-id"], "mcp-protocol-version": SESSION}
        refused = await http.post("/", json=_initialize(clientInfo=None), headers=session)
        assert "error" in answer(refused)
        ping = {"jsonrpc": "2.0", "id": 2, "method": "ping"}
        assert answer(await http.post("/", json=ping, headers=session))["result"] == {}


async def test_a_server_that_fails_while_opening_leaves_no_session_either() -> None:
    def explode(_request: object) -> frozenset[str]:
        raise RuntimeError("no scopes today")

    async with _room_for_one(json_response=True, scopes_of=explode) as http:
        for _ in range(2):
            failed = await http.post("/", json=_initialize())
            assert (failed.status_code, answer(failed)["error"]["code"]) == (200, -32603)
