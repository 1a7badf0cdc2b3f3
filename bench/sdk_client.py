"""The walkthrough's requests made through the official SDK's client, as a yardstick: same server, same order.

`python -m bench.sdk_client URL session|stateless`. Each token has a client of its own, as the SDK's client has one.
"""

import asyncio
import sys
from contextlib import AsyncExitStack
from typing import Any

import httpx2
import mcp_types as types
from mcp import Client
from mcp.client import advertise
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError
from pydantic import ConfigDict

from agent_discovery.wire import AGENTS_GET, AGENTS_LIST, EXTENSION_ID
from demo.cast import ALICE, ALICE_STEPPED_UP, BOB, Caller


async def _client(stack: AsyncExitStack, url: str, wire: str, caller: Caller) -> Client:
    http = await stack.enter_async_context(
        httpx2.AsyncClient(headers={"Authorization": f"Bearer {caller.token}"}, timeout=10, trust_env=False)
    )
    return await stack.enter_async_context(
        Client(
            streamable_http_client(url, http_client=http),
            mode="legacy" if wire == "session" else "2026-07-28",
            extensions=[advertise(EXTENSION_ID)],
            cache=None,
        )
    )


class _Anything(types.Result):
    model_config = ConfigDict(extra="allow")


async def _ask(client: Client, method: str, params: dict[str, Any]) -> None:
    request = types.Request[dict[str, Any], str](method=method, params=params)
    try:
        await client.session.send_request(request, _Anything)
    except MCPError:
        return  # two of the walkthrough's requests are there to be refused


async def main(url: str, wire: str) -> None:
    async with AsyncExitStack() as stack:
        alice = await _client(stack, url, wire, ALICE)
        if wire == "stateless":
            await _ask(alice, "server/discover", {})
        await _ask(alice, AGENTS_LIST, {})
        await _ask(alice, AGENTS_GET, {"name": "pipeline-agent"})
        await alice.list_tools()
        listed = await alice.call_tool("list_failed_pipelines", {})
        pipeline = (listed.structured_content or {})["pipelines"][0]["id"]
        await alice.call_tool("get_pipeline_log", {"id": pipeline})
        bob = await _client(stack, url, wire, BOB)
        if wire == "stateless":
            await _ask(bob, "server/discover", {})
        await _ask(bob, AGENTS_LIST, {})
        await _ask(alice, AGENTS_GET, {"name": "billing-agent"})
        await _ask(alice, AGENTS_GET, {"name": "missing-agent"})
        await _ask(alice, AGENTS_GET, {"name": "deploy-agent"})
        stepped_up = await _client(stack, url, wire, ALICE_STEPPED_UP)
        await _ask(stepped_up, AGENTS_GET, {"name": "deploy-agent"})
        await alice.call_tool("retire_release_agent", {})
        await _ask(alice, AGENTS_LIST, {})
        await alice.call_tool("publish_release_agent", {})
        await _ask(alice, AGENTS_LIST, {})
        await alice.call_tool("retire_release_agent", {})


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:3]))
