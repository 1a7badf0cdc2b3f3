"""Discover agents, choose one by its capability labels, open it and run it.

python -m examples.minimal_host URL TOKEN LABEL...
"""

import asyncio
import sys

from agent_discovery.host import AgentCache, Connection, Credential, HostError, connect
from agent_discovery.shapes import AgentDetails


async def run(agent: AgentDetails, connection: Connection) -> None:
    """Stand in for a model, which would get the instructions and tools: call the first tool that needs no arguments."""
    print(f"{agent.agent.name} is told: {agent.instructions}")
    tool = next((tool for tool in agent.tools if not tool["inputSchema"].get("required")), None)
    if tool is not None:
        result = await connection.request("tools/call", {"name": tool["name"], "arguments": {}})
        print(f"{tool['name']}: {result['content'][0]['text']}")


async def main(url: str, token: str, *labels: str) -> int:
    cache = AgentCache()
    try:
        async with await connect(url, Credential(token)) as connection:
            roster = await cache.roster(connection)
            able = [card for card in roster.agents if set(labels) <= set(card.capabilities)]
            if not able:
                print(f"no agent is labelled {' '.join(labels)}; there are {', '.join(roster.names)}", file=sys.stderr)
                return 1
            await run(await cache.agent(connection, able[0].name), connection)
    except HostError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    sys.exit(asyncio.run(main(*sys.argv[1:])))
