"""The extension in servers of both kinds, over the SDK's in-memory client on both wires."""

import logging
from typing import Any, cast

import pytest
from mcp import Client, MCPError
from mcp.client import advertise
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.mcpserver import MCPServer
from mcp_types import (
    CallToolRequestParams,
    CallToolResult,
    ListToolsResult,
    PaginatedRequestParams,
    Request,
    RequestParams,
    TextContent,
    Tool,
)
from pydantic import BaseModel, ConfigDict

from agent_discovery.server import Access, AgentDef, AgentDiscovery, AgentRegistry, holders_of
from agent_discovery.wire import EXTENSION_ID

pytestmark = pytest.mark.parametrize("mode", ["legacy", "2026-07-28"])

Context = ServerRequestContext[Any, Any]


class _Anything(BaseModel):
    model_config = ConfigDict(extra="allow")


class _Params(RequestParams):
    model_config = ConfigDict(extra="allow")


def _scopes(*scopes: str) -> Any:
    return lambda _ctx: frozenset(scopes)


def _client(server: Any, mode: str, *, declared: bool = True, **options: Any) -> Client:
    extensions = [advertise(EXTENSION_ID)] if declared else []
    return Client(server, mode=mode, extensions=extensions, cache=None, **options)


async def _ask(client: Client, method: str, params: dict[str, Any] | None = None) -> dict[str, Any]:
    request: Request[Any, Any] = Request(method=method, params=_Params.model_validate(params or {}))
    result = await client.session.send_request(request, _Anything)
    return result.model_dump()


def _mcp_server(*agents: AgentDef, **options: Any) -> tuple[MCPServer[Any], AgentDiscovery]:
    discovery = AgentDiscovery(AgentRegistry(agents), **options)
    server: MCPServer[Any] = MCPServer("plain", extensions=[discovery], instructions="Be kind.")

    @server.tool()
    async def add(a: int, b: int | None = None) -> int:
        """Add."""
        return a + (b or 0)

    @server.tool()
    async def secret() -> str:
        """Secret."""
        return "s"

    return server, discovery


def _lowlevel(**options: Any) -> Server[Any]:
    """Three tools, one on each page."""
    tools = [Tool(name=name, input_schema={"type": "object"}) for name in ("one", "two", "three")]

    async def on_list(_ctx: Context, params: PaginatedRequestParams | None) -> ListToolsResult:
        at = int(params.cursor) if params is not None and params.cursor is not None else 0
        return ListToolsResult(tools=[tools[at]], next_cursor=str(at + 1) if at < 2 else None)

    async def on_call(_ctx: Context, params: CallToolRequestParams) -> CallToolResult:
        return CallToolResult(content=[TextContent(type="text", text=params.name)])

    return Server("low", on_list_tools=on_list, on_call_tool=on_call, **options)


async def test_an_mcp_server_publishes_agents_with_tools_equal_to_tools_list(mode: str) -> None:
    server, discovery = _mcp_server(AgentDef(name="math", instructions="Add.", tools=("add",)))
    discovery.attach(server)
    async with _client(server, mode) as client:
        assert (await _ask(client, "agents/list"))["agents"] == [{"name": "math", "capabilities": []}]
        got = await _ask(client, "agents/get", {"name": "math"})
        listed = await _ask(client, "tools/list")
        assert got["tools"] == [tool for tool in listed["tools"] if tool["name"] == "add"]
        assert got["instructions"] == "Add."
        assert (got["ttlMs"], got["cacheScope"]) == (60_000, "private")
        assert (await client.call_tool("add", {"a": 1})).is_error is not True


async def test_a_low_level_server_publishes_agents_over_all_pages_of_its_tools(mode: str) -> None:
    server = _lowlevel()
    AgentDiscovery(AgentRegistry([AgentDef(name="a", tools=("three", "one"))])).attach(server)
    async with _client(server, mode) as client:
        got = await _ask(client, "agents/get", {"name": "a"})
        assert [tool["name"] for tool in got["tools"]] == ["three", "one"]


async def test_both_kinds_advertise_the_extension_and_lead_the_client_to_it(mode: str) -> None:
    server, discovery = _mcp_server()
    discovery.attach(server)
    for kind in (server, low := _lowlevel()):
        if kind is low:
            AgentDiscovery(AgentRegistry()).attach(low)
        async with _client(kind, mode if mode == "legacy" else "auto") as client:
            assert (client.server_capabilities.extensions or {})[EXTENSION_ID] == {"listChanged": True}
            assert "agents/list" in (client.instructions or "")
    assert (server.instructions or "") == "Be kind."


async def test_a_floor_above_every_protocol_version_is_advertised_and_refuses_nobody(mode: str) -> None:
    server, discovery = _mcp_server(AgentDef(name="math", tools=("add",)), requires_protocol_version="2099-01-01")
    discovery.attach(server)
    async with _client(server, mode if mode == "legacy" else "auto") as client:
        advertised = (client.server_capabilities.extensions or {})[EXTENSION_ID]
        assert advertised == {"listChanged": True, "requires": {"protocolVersion": "2099-01-01"}}
        assert (await _ask(client, "agents/get", {"name": "math"}))["tools"]


async def test_a_foreign_major_without_http_is_the_error_it_is(mode: str) -> None:
    server, discovery = _mcp_server(versions=["2.0.0"])
    discovery.attach(server)
    async with _client(server, mode) as client:
        with pytest.raises(MCPError) as caught:
            await _ask(client, "agents/list")
        assert caught.value.code == -32005
        assert caught.value.data == {"extensions": {EXTENSION_ID: {"requested": "1.0.0", "supported": ["2.0.0"]}}}
        assert (await client.list_tools()).tools


async def test_a_client_without_the_extension_keeps_core_mcp_and_hears_of_no_agents(mode: str) -> None:
    server, discovery = _mcp_server(AgentDef(name="math", tools=("add",)))
    discovery.attach(server)
    async with _client(server, mode if mode == "legacy" else "auto", declared=False) as client:
        assert client.instructions == (
            "Be kind.\n\nThis server's tools: add, secret. Call tools/list for their arguments."
        )
        assert [tool.name for tool in (await client.list_tools()).tools] == ["add", "secret"]
        with pytest.raises(MCPError) as caught:
            await _ask(client, "agents/list")
        assert caught.value.code == -32021
        assert caught.value.data == {"requiredCapabilities": {"extensions": {EXTENSION_ID: {}}}}


async def test_guarded_tools_are_listed_called_and_opened_by_policy_only(mode: str) -> None:
    server, discovery = _mcp_server(AgentDef(name="all", tools=("add", "secret")), scopes_of=_scopes("nothing"))
    discovery.registry.guard_tool("secret", Access(visible_to=holders_of("inside")))
    discovery.attach(server)
    async with _client(server, mode) as client:
        assert [tool["name"] for tool in (await _ask(client, "tools/list"))["tools"]] == ["add"]
        assert [tool["name"] for tool in (await _ask(client, "agents/get", {"name": "all"}))["tools"]] == ["add"]
        errors = []
        for name in ("secret", "ghosts"):
            with pytest.raises(MCPError) as caught:
                await _ask(client, "tools/call", {"name": name})
            error = caught.value.error.model_dump()
            errors.append({**error, "message": error["message"].replace(name, "…")})
        assert errors[0] == errors[1]
        assert errors[0]["code"] == -32602
        assert "this caller can see: add." in errors[0]["message"]


async def test_a_challenge_without_http_is_an_error_that_names_the_scope(mode: str) -> None:
    server, discovery = _mcp_server(AgentDef(name="ops", access=Access(challenge=("ops:deploy",))))
    discovery.attach(server)
    async with _client(server, mode) as client:
        with pytest.raises(MCPError, match="ops:deploy") as caught:
            await _ask(client, "agents/get", {"name": "ops"})
        assert caught.value.data == {"reason": "insufficient_scope", "scope": "ops:deploy"}


async def test_an_agent_with_a_tool_the_server_lacks_is_an_invalid_definition(
    mode: str, caplog: pytest.LogCaptureFixture
) -> None:
    """AD-21."""
    server, discovery = _mcp_server(AgentDef(name="broken", tools=("add", "gone")))
    discovery.attach(server)
    async with _client(server, mode) as client:
        with pytest.raises(MCPError) as caught:
            await _ask(client, "agents/get", {"name": "broken"})
    assert (caught.value.code, caught.value.data) == (-32603, {"reason": "invalid_agent_definition"})
    assert "gone" not in caught.value.message
    assert "gone" in caplog.text


@pytest.mark.parametrize("params", [{}, {"name": 7}, {"name": None}, {"name": ["a"]}, {"name": {"a": 1}}])
async def test_a_name_that_is_no_text_is_the_clients_error(mode: str, params: dict[str, Any]) -> None:
    server, discovery = _mcp_server()
    discovery.attach(server)
    async with _client(server, mode) as client:
        with pytest.raises(MCPError) as caught:
            await _ask(client, "agents/get", params)
        assert caught.value.code == -32602


@pytest.mark.parametrize("cursor", ["", "0", "A" * 32, "é" * 32, "x" * 5_000, 7, ["a"]])
async def test_a_cursor_that_is_not_ours_is_the_clients_error(mode: str, cursor: Any) -> None:
    server, discovery = _mcp_server()
    discovery.attach(server)
    async with _client(server, mode) as client:
        with pytest.raises(MCPError) as caught:
            await _ask(client, "agents/list", {"cursor": cursor})
        assert caught.value.code == -32602


async def test_an_unexpected_exception_never_reaches_the_wire(mode: str, caplog: pytest.LogCaptureFixture) -> None:
    def explode(_scopes: frozenset[str]) -> bool:
        raise RuntimeError("the password is hunter2")

    server, discovery = _mcp_server(AgentDef(name="a", access=Access(visible_to=explode)))
    discovery.attach(server)
    async with _client(server, mode) as client:
        with pytest.raises(MCPError) as caught:
            await _ask(client, "agents/list")
    assert (caught.value.code, caught.value.message, caught.value.data) == (-32603, "Internal server error", None)
    assert "hunter2" in caplog.text


async def test_an_agents_tools_respect_what_other_middleware_hides(mode: str) -> None:
    async def hide(ctx: Context, call_next: CallNext) -> HandlerResult:
        result = await call_next(ctx)
        if ctx.method == "tools/list" and isinstance(result, dict):
            return {**result, "tools": [tool for tool in result["tools"] if tool["name"] != "secret"]}
        return result

    server, discovery = _mcp_server(AgentDef(name="all", tools=("add", "secret")))
    server.middleware.append(hide)
    discovery.attach(server)
    async with _client(server, mode) as client:
        assert [tool["name"] for tool in (await _ask(client, "agents/get", {"name": "all"}))["tools"]] == ["add"]


async def test_a_request_before_attach_is_an_internal_error_and_a_log_line(
    mode: str, caplog: pytest.LogCaptureFixture
) -> None:
    server, _discovery = _mcp_server()
    async with _client(server, mode) as client:
        with pytest.raises(MCPError) as caught:
            await _ask(client, "agents/list")
    assert caught.value.code == -32603
    assert any(r.levelno == logging.ERROR and "call discovery.attach(server)" in r.getMessage() for r in caplog.records)


def test_attaching_a_server_built_without_the_extension_says_how_to_build_it(mode: str) -> None:
    with pytest.raises(ValueError, match=r"extensions=\[discovery\]"):
        AgentDiscovery(AgentRegistry()).attach(MCPServer("plain"))
    _server, discovery = _mcp_server()
    other, _other_discovery = _mcp_server()
    with pytest.raises(ValueError, match=r"extensions=\[discovery\]"):
        discovery.attach(other)


def test_attaching_twice_says_what_to_do_instead(mode: str) -> None:
    server, discovery = _mcp_server()
    discovery.attach(server)
    with pytest.raises(ValueError, match="attached to 'plain' already"):
        discovery.attach(server)
    low = _lowlevel()
    AgentDiscovery(AgentRegistry()).attach(low)
    with pytest.raises(ValueError, match="serves agents/list already"):
        AgentDiscovery(AgentRegistry()).attach(low)


def test_guarding_tools_nobody_can_enumerate_is_refused_at_attach(mode: str) -> None:
    registry = AgentRegistry()
    registry.guard_tool("one", Access(challenge=("a",)))
    with pytest.raises(ValueError, match=r"tools=\["):
        AgentDiscovery(registry).attach(_lowlevel())


def test_neither_a_registry_nor_a_server_can_be_anything_else(mode: str) -> None:
    with pytest.raises(ValueError, match="needs an AgentRegistry"):
        AgentDiscovery(cast(AgentRegistry, ["agent"]))
    with pytest.raises(ValueError, match="takes an MCPServer or a low-level Server"):
        AgentDiscovery(AgentRegistry()).attach(cast(Any, object()))
