"""The official SDK's client against the demo server, with each token on both wires."""

import httpx2
import pytest
from mcp import Client, MCPError
from mcp.client import advertise
from mcp.client.streamable_http import streamable_http_client

from agent_discovery.wire import EXTENSION_ID
from server.embedded import RunningServer
from tests.server.callers import bearer


@pytest.mark.parametrize("mode", ["legacy", "auto"])
@pytest.mark.parametrize("token", ["alice-read", "alice-deploy", "bob-billing"])
async def test_it_sees_the_extension_and_lists_and_calls_tools(server: RunningServer, mode: str, token: str) -> None:
    async with httpx2.AsyncClient(headers=bearer(token)) as http:
        transport = streamable_http_client(server.url, http_client=http)
        async with Client(transport, mode=mode, extensions=[advertise(EXTENSION_ID)]) as client:
            assert client.protocol_version == ("2025-11-25" if mode == "legacy" else "2026-07-28")
            assert (client.server_capabilities.extensions or {})[EXTENSION_ID] == {"listChanged": True}
            names = [tool.name for tool in (await client.list_tools()).tools]
            assert ("list_invoices" in names) == (token == "bob-billing")
            result = await client.call_tool("list_failed_pipelines", {"limit": 1})
            assert (result.structured_content or {})["pipelines"][0]["id"] == "pl-1042"
            with pytest.raises(MCPError, match="this caller can see"):
                await client.call_tool("no_such_tool", {})
