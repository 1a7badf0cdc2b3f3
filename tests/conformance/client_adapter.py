"""This project's host connections as the client under test: the conformance suite starts this with a server's URL.

Owns what a host does in each scenario of the suite, and nothing of how it is done: every byte that travels comes from
`agent_discovery.host`. Exit code 0 means that the scenario's steps ended as they should; the suite judges what it saw.
"""

import os
import sys
from collections.abc import Awaitable, Callable
from typing import Final

import anyio

from agent_discovery.host import Connection, UnsupportedProtocolVersion, Wire, build_connection
from agent_discovery.wire import STATELESS_PROTOCOL_VERSION

Play = Callable[[Connection], Awaitable[None]]

_ECHO: Final = "json_schema_echo"
_RICH_SCHEMA: Final = "json_schema_2020_12_tool"


async def opened(connection: Connection) -> None:
    """Open, as every scenario does. A server that refuses a version it lists as its own is asked once more."""
    try:
        await connection.open()
    except UnsupportedProtocolVersion as error:
        if STATELESS_PROTOCOL_VERSION not in error.supported:
            raise
        await connection.open()


async def list_tools(connection: Connection) -> None:
    await connection.request("tools/list")


async def call_add_numbers(connection: Connection) -> None:
    await connection.request("tools/list")
    await connection.request("tools/call", {"name": "add_numbers", "arguments": {"a": 5, "b": 3}})


async def call_a_tool_that_reconnects(connection: Connection) -> None:
    await connection.request("tools/list")
    await connection.request("tools/call", {"name": "test_reconnection", "arguments": {}})


async def send_each_request_with_a_name(connection: Connection) -> None:
    tools = (await connection.request("tools/list"))["tools"]
    await connection.request("tools/call", {"name": tools[0]["name"], "arguments": {}})
    resources = (await connection.request("resources/list"))["resources"]
    await connection.request("resources/read", {"uri": resources[0]["uri"]})
    prompts = (await connection.request("prompts/list"))["prompts"]
    await connection.request("prompts/get", {"name": prompts[0]["name"]})


async def echo_the_rich_schema(connection: Connection) -> None:
    tools = (await connection.request("tools/list"))["tools"]
    schema = next(tool["inputSchema"] for tool in tools if tool["name"] == _RICH_SCHEMA)
    await connection.request("tools/call", {"name": _ECHO, "arguments": {"schema": schema}})


PLAYS: Final[dict[str, Play]] = {
    "initialize": list_tools,
    "tools_call": call_add_numbers,
    "sse-retry": call_a_tool_that_reconnects,
    "request-metadata": list_tools,
    "http-standard-headers": send_each_request_with_a_name,
    "json-schema-ref-no-deref": list_tools,
    "json-schema-2020-12-preservation": echo_the_rich_schema,
}


async def main(scenario: str, version: str, url: str) -> None:
    wire: Wire = "stateless" if version == STATELESS_PROTOCOL_VERSION else "session"
    connection = build_connection(url, wire=wire, timeout=15)
    try:
        await opened(connection)
        await PLAYS[scenario](connection)
    finally:
        await connection.aclose()


if __name__ == "__main__":
    anyio.run(main, os.environ["MCP_CONFORMANCE_SCENARIO"], os.environ["MCP_CONFORMANCE_PROTOCOL_VERSION"], sys.argv[1])
