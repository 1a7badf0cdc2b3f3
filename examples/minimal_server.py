"""Two tools and an agent. Over HTTP: `python -m examples.minimal_server 8000`; over stdio: without the port."""

import random
import sys

import uvicorn
from mcp.server.mcpserver import MCPServer

from agent_discovery.server import AgentDef, AgentDiscovery, AgentRegistry

RULES = "Throw with roll and report the number that it gives, never one of your own."
croupier = AgentDef(
    name="croupier", description="Throws dice.", capabilities=["dice"], instructions=RULES, tools=["roll"]
)
discovery = AgentDiscovery(AgentRegistry([croupier]))
server = MCPServer("dice", extensions=[discovery])


@server.tool()
async def roll(sides: int = 6) -> int:
    """Throw a die."""
    return random.randint(1, sides)


@server.tool()
async def hire(name: str) -> bool:
    """Publish one more agent that throws dice."""
    return discovery.registry.put(AgentDef(name=name, instructions=RULES, tools=["roll"]))


discovery.attach(server)
if __name__ == "__main__":
    if len(sys.argv) > 1:
        uvicorn.run(discovery.streamable_http_app(), port=int(sys.argv[1]))
    else:
        server.run("stdio")
