"""The dice server on the SDK's low-level `Server`: `python -m examples.minimal_lowlevel_server 8000`, or over stdio."""

import random
import sys
from typing import Any

import anyio
import uvicorn
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp_types import CallToolRequestParams, CallToolResult, ListToolsResult, PaginatedRequestParams, TextContent, Tool

from agent_discovery.server import AgentDef, AgentDiscovery, AgentRegistry

RULES = "Throw with roll and report the number that it gives, never one of your own."
NAME = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
TOOLS = [
    Tool(name="roll", description="Throw a die.", input_schema={"type": "object"}),
    Tool(name="hire", description="Publish one more agent that throws dice.", input_schema=NAME),
]
croupier = AgentDef(
    name="croupier", description="Throws dice.", capabilities=["dice"], instructions=RULES, tools=["roll"]
)
registry = AgentRegistry([croupier], tools=[tool.name for tool in TOOLS])


async def list_tools(_ctx: ServerRequestContext[Any, Any], _params: PaginatedRequestParams | None) -> ListToolsResult:
    return ListToolsResult(tools=TOOLS)


async def call_tool(_ctx: ServerRequestContext[Any, Any], params: CallToolRequestParams) -> CallToolResult:
    if params.name == "roll":
        said = str(random.randint(1, 6))
    else:
        said = str(registry.put(AgentDef(name=(params.arguments or {})["name"], instructions=RULES, tools=["roll"])))
    return CallToolResult(content=[TextContent(type="text", text=said)])


server: Server[Any] = Server("dice", on_list_tools=list_tools, on_call_tool=call_tool)
discovery = AgentDiscovery(registry)
discovery.attach(server)


async def serve_stdio() -> None:
    async with stdio_server() as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())


if __name__ == "__main__":
    if len(sys.argv) > 1:
        uvicorn.run(discovery.streamable_http_app(), port=int(sys.argv[1]))
    else:
        anyio.run(serve_stdio)
