"""This project's host against the official Python SDK's server as it comes, and against one that publishes agents.

The official client against this project's servers is in tests/server and tests/agent_discovery/host/test_sdk.py.
"""

from collections.abc import Iterator
from typing import Any

import pytest
from mcp.server.mcpserver import MCPServer

from agent_discovery.host import ExtensionMissing, ServerRefused, Wire, build_connection, connect
from agent_discovery.wire import METHOD_NOT_FOUND
from tests.conformance.fixture_server import build_fixture_app, serving

wires = pytest.mark.parametrize("wire", ["session", "stateless"])


async def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@pytest.fixture(scope="module")
def plain_server() -> Iterator[str]:
    """An `MCPServer` in its own app: nothing in it is this project's."""
    server: MCPServer[Any] = MCPServer("plain", version="1.0", log_level="CRITICAL")
    server.add_tool(add)
    with serving(server.streamable_http_app()) as url:
        yield url


@pytest.fixture(scope="module")
def publishing_server() -> Iterator[str]:
    """An `MCPServer` that carries the extension, over HTTP."""
    with serving(build_fixture_app()) as url:
        yield url


@wires
async def test_the_host_uses_the_tools_of_a_server_that_knows_nothing_of_agents(plain_server: str, wire: Wire) -> None:
    async with build_connection(plain_server, wire=wire) as connection:
        assert connection.opening is not None
        assert connection.opening.server_info["name"] == "plain"
        listed = await connection.request("tools/list")
        assert [tool["name"] for tool in listed["tools"]] == ["add"]
        called = await connection.request("tools/call", {"name": "add", "arguments": {"a": 2, "b": 3}})
        assert called["structuredContent"] == {"result": 5}


@wires
async def test_the_host_says_that_a_plain_server_has_no_agents(plain_server: str, wire: Wire) -> None:
    async with build_connection(plain_server, wire=wire) as connection:
        assert connection.opening is not None
        with pytest.raises(ExtensionMissing, match="plain"):
            connection.opening.require_agents()
        with pytest.raises(ServerRefused) as refused:
            await connection.request("agents/list")
        assert refused.value.code == METHOD_NOT_FOUND


async def test_the_host_left_to_choose_opens_a_session_where_there_are_both_wires(plain_server: str) -> None:
    async with await connect(plain_server) as connection:
        assert connection.wire == "session"


@wires
async def test_the_host_discovers_and_opens_an_agent_of_an_mcp_server(publishing_server: str, wire: Wire) -> None:
    async with build_connection(publishing_server, wire=wire) as connection:
        assert connection.opening is not None
        connection.opening.require_agents()
        page = await connection.request("agents/list")
        assert [card["name"] for card in page["agents"]] == ["fixture-agent"]
        details = await connection.request("agents/get", {"name": "fixture-agent"})
        tools = {tool["name"]: tool for tool in (await connection.request("tools/list"))["tools"]}
        assert details["tools"] == [tools["test_simple_text"]]
