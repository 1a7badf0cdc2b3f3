"""Versions of the extension, host half: declaring one, meeting on a shared major, and declining politely."""

import asyncio
from collections.abc import Iterator
from typing import Any

import anyio
import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from agent_discovery.host import (
    AgentCache,
    BadRequest,
    Connection,
    Credential,
    ExtensionMissing,
    ExtensionVersionNotSupported,
    Opening,
    ProtocolVersionTooLow,
    ServerFault,
    ServerRefused,
    Wire,
    build_connection,
    connect,
    watch_list_changed,
)
from agent_discovery.host.sdk import adapt, agents_extension
from agent_discovery.versions import Version
from agent_discovery.wire import EXTENSION_ID
from server.embedded import RunningServer, running_server
from server.settings import Settings
from tests.agent_discovery.host.fakes import BOUND, Received, Reply, ScriptedServer, page

ALICE = Credential("alice-read")
META = "io.modelcontextprotocol/clientCapabilities"

both_wires = pytest.mark.parametrize("wire", ["session", "stateless"])


@pytest.fixture(scope="module")
def old() -> Iterator[RunningServer]:
    """A server that has major 1 only."""
    with running_server(Settings(port=0, extension_versions=("1.4.2",))) as server:
        yield server


@pytest.fixture(scope="module")
def new() -> Iterator[RunningServer]:
    """A server that has major 3 only."""
    with running_server(Settings(port=0, extension_versions=("3.0.0",))) as server:
        yield server


def opening(settings: Any, protocol: str = "2025-11-25") -> Opening:
    return Opening.of("session", protocol, {"name": "it"}, {"extensions": {EXTENSION_ID: settings}}, None)


# What a server advertises


def test_no_versions_mean_the_first_and_no_floor_means_none() -> None:
    """EV-2."""
    said = opening({"listChanged": True})
    assert (said.extension_versions, said.required_protocol_version) == ((Version(1),), None)
    said.require_agents()


@pytest.mark.parametrize(
    "settings",
    [
        {"versions": "1.0.0"},
        {"versions": None},
        {"versions": []},
        {"versions": ["1.0"]},
        {"versions": [1]},
        {"versions": ["1.0.0", "1.2.0"]},
        {"versions": {"1": "1.0.0"}},
        {"requires": "2026-07-28"},
        {"requires": {"protocolVersion": 2026}},
        {"requires": {"protocolVersion": "soon"}},
    ],
)
@both_wires
async def test_what_is_malformed_is_the_servers_fault_once_agents_are_asked_for(
    scripted: ScriptedServer, settings: dict[str, Any], wire: Wire
) -> None:
    """EV-1, EV-3. Core MCP goes on all the same (AD-3)."""
    scripted.script = _Server(settings)
    async with await connect(scripted.url, ALICE, wire=wire, timeout=BOUND) as connection:
        assert await connection.request("tools/list") == {"tools": []}
        with pytest.raises(ServerFault, match="it advertises"):
            await AgentCache().roster(connection)


@both_wires
async def test_agents_that_need_a_newer_protocol_are_declined_without_asking(
    scripted: ScriptedServer, wire: Wire
) -> None:
    """EV-9."""
    scripted.script = server = _Server({"requires": {"protocolVersion": "2026-07-28"}})
    async with await connect(scripted.url, ALICE, wire=wire, timeout=BOUND) as connection:
        if wire == "stateless":
            assert (await AgentCache().roster(connection)).names == ("a",)
            return
        with pytest.raises(ProtocolVersionTooLow, match=r"need protocol version 2026-07-28 .* 2025-11-25") as no:
            await AgentCache().roster(connection)
        assert (no.value.server, no.value.required, no.value.spoken) == ("scripted", "2026-07-28", "2025-11-25")
        assert await connection.request("tools/list") == {"tools": []}
    assert server.refused == 0
    assert not isinstance(no.value, ServerRefused | ExtensionMissing)


def test_one_relies_on_no_more_than_both_sides_are_known_to_have() -> None:
    """EV-12: before the server was asked, only the `.0` minor is certain."""
    connection = build_connection("http://127.0.0.1:9/mcp", extension_version="1.6.3")
    assert connection.extension_version == Version(1, 0, 0)
    for offered, effective in (("1.4.2", "1.4.2"), ("1.9.0", "1.6.3"), ("3.1.0", "1.0.0")):
        connection._shared.opening = opening({"versions": [offered]})  # nothing public opens without a server
        assert str(connection.extension_version) == effective
    connection._shared.opening = opening({})
    assert connection.extension_version == Version(1, 0, 0)


@pytest.mark.parametrize("version", ["2", "1.0", "v1.0.0", ""])
def test_a_version_that_is_none_is_refused_before_anything_is_sent(version: str) -> None:
    with pytest.raises(BadRequest, match=r"extension_version: .*MAJOR\.MINOR\.PATCH"):
        build_connection("http://127.0.0.1:9/mcp", extension_version=version)


# Against the demo server


@both_wires
async def test_a_server_that_names_its_versions_is_met_before_the_first_refusal(old: RunningServer, wire: Wire) -> None:
    async with await connect(old.url, ALICE, wire=wire, timeout=BOUND, extension_version="2.3.0") as connection:
        assert connection.extension_version == Version(1, 0, 0)
        cache = AgentCache()
        async with watch_list_changed(connection, cache) as watch:
            assert "pipeline-agent" in await cache.roster(connection)
            await connection.request("tools/call", {"name": "publish_release_agent", "arguments": {}})
            assert await watch.changed(BOUND) == 1
            await connection.request("tools/call", {"name": "retire_release_agent", "arguments": {}})


@both_wires
async def test_a_minor_that_the_server_lacks_is_no_reason_to_part(old: RunningServer, wire: Wire) -> None:
    """EV-6."""
    async with await connect(old.url, ALICE, wire=wire, timeout=BOUND, extension_version="1.9.0") as connection:
        assert "pipeline-agent" in await AgentCache().roster(connection)
        assert connection.extension_version == Version(1, 4, 2)


@both_wires
async def test_without_a_shared_major_the_host_gives_up_and_says_why(new: RunningServer, wire: Wire) -> None:
    """EV-8."""
    async with await connect(new.url, ALICE, wire=wire, timeout=BOUND, extension_version="2.0.0") as connection:
        with pytest.raises(ExtensionVersionNotSupported, match=r"it has 3\.0\.0 of the extension, and 2\.0\.0") as no:
            await AgentCache().roster(connection)
        assert (no.value.code, no.value.status) == (-32005, 400)
        assert (no.value.supported, no.value.requested) == ((Version(3),), "2.0.0")
        assert (await connection.request("tools/list"))["tools"]


@pytest.mark.parametrize("mode", ["legacy", "2026-07-28"])
async def test_the_sdks_client_is_told_which_version_to_declare(new: RunningServer, mode: str) -> None:
    async with httpx2.AsyncClient(headers={"Authorization": "Bearer alice-read"}) as http:
        for version, met in ((None, False), ("3.2.0", True)):
            transport = streamable_http_client(new.url, http_client=http)
            async with Client(transport, mode=mode, extensions=[agents_extension(version=version)]) as client:
                source = await adapt(client, ALICE, timeout=BOUND)
                if met:
                    assert "pipeline-agent" in await AgentCache().roster(source)
                    continue
                with pytest.raises(ExtensionVersionNotSupported, match=r"it has 3\.0\.0") as no:
                    await AgentCache().roster(source)
                assert no.value.supported == (Version(3),)


# Against servers that do not say what they have


class _Server:
    """Serves both wires and a version only where it is declared; `settings` are what it advertises."""

    def __init__(self, settings: dict[str, Any], has: str = "1.0.0", supported: Any = None) -> None:
        self.settings = settings
        self.has = has
        self.supported = [has] if supported is None else supported
        self.refused = 0
        self.sessions: dict[str, str] = {}
        self.ended: list[str] = []

    async def __call__(self, received: Received, reply: Reply) -> None:
        session = received.headers.get("mcp-session-id", "")
        if received.http_method == "DELETE":
            self.ended.append(session)
            await reply.body(b"", 200)
            return
        message = received.message
        params = message.get("params", {})
        capabilities = {"tools": {}, "extensions": {EXTENSION_ID: self.settings}}
        info = {"name": "scripted"}
        match message["method"]:
            case "initialize":
                session = f"session-{len(self.sessions) + 1}"
                self.sessions[session] = _declared(params["capabilities"])
                result = {"protocolVersion": "2025-11-25", "capabilities": capabilities, "serverInfo": info}
                await reply.result(received, result, {"Mcp-Session-Id": session})
            case "server/discover":
                result = {"supportedVersions": ["2026-07-28"], "capabilities": capabilities, "serverInfo": info}
                await reply.result(received, result)
            case "notifications/initialized":
                await reply.body(b"", 202)
            case "tools/list":
                await reply.result(received, {"tools": []})
            case _:
                declared = self.sessions[session] if session else _declared(params["_meta"][META])
                await self._answer(received, reply, declared)

    async def _answer(self, received: Received, reply: Reply, declared: str) -> None:
        if declared.partition(".")[0] != self.has.partition(".")[0]:
            self.refused += 1
            data = {"extensions": {EXTENSION_ID: {"requested": declared, "supported": self.supported}}}
            error = {"code": -32005, "message": "Unsupported extension version", "data": data}
            await reply.json({"jsonrpc": "2.0", "id": received.id, "error": error}, 400)
        elif received.message["method"] == "subscriptions/listen":
            await reply.open_events()
            params = {"notifications": {"agentsListChanged": True}}
            await reply.event(
                {"jsonrpc": "2.0", "method": "notifications/subscriptions/acknowledged", "params": params}
            )
            await reply.until_hung_up()
        else:
            await reply.result(received, page("a"))


def _declared(capabilities: Any) -> str:
    return str(capabilities["extensions"][EXTENSION_ID].get("version", "1.0.0"))


def speaking_2(server: ScriptedServer, wire: Wire) -> Connection:
    return build_connection(server.url, ALICE, wire=wire, timeout=BOUND, extension_version="2.0.0")


SAYS_2 = {"versions": ["2.0.0"]}
"""A server that has forgotten to advertise what it really has."""


@both_wires
async def test_after_a_refusal_a_shared_major_is_declared_and_the_request_made_once_more(
    scripted: ScriptedServer, wire: Wire
) -> None:
    """EV-8."""
    scripted.script = server = _Server(SAYS_2)
    async with speaking_2(scripted, wire) as connection:
        cache = AgentCache()
        assert (await cache.roster(connection)).names == ("a",)
        cache.clear()
        assert (await cache.roster(connection)).names == ("a",)
    assert server.refused == 1
    if wire == "session":
        assert list(server.sessions.values()) == ["2.0.0", "1.0.0"]
        assert server.ended == ["session-1", "session-2"]


async def test_a_request_that_was_under_way_in_the_replaced_session_is_made_in_the_new_one(
    scripted: ScriptedServer,
) -> None:
    server = _Server(SAYS_2)
    arrived, replaced = asyncio.Event(), asyncio.Event()

    async def script(received: Received, reply: Reply) -> None:
        if received.headers.get("mcp-session-id") == "session-1" and "tools/call" in received.body.decode():
            arrived.set()
            await replaced.wait()
            await reply.body(b"", 404)
        else:
            await server(received, reply)
            if received.http_method == "DELETE":
                replaced.set()

    scripted.script = script
    async with speaking_2(scripted, "session") as connection:
        calling = asyncio.create_task(connection.request("tools/call", {"name": "x"}))
        with anyio.fail_after(BOUND):
            await arrived.wait()
            await connection.request("agents/list")
            assert await calling == page("a")
    assert server.ended == ["session-1", "session-2"]


@both_wires
async def test_many_requests_at_once_agree_on_one_change(scripted: ScriptedServer, wire: Wire) -> None:
    scripted.script = server = _Server(SAYS_2)
    async with speaking_2(scripted, wire) as connection:
        pages = await asyncio.gather(*(connection.request("agents/list") for _ in range(5)))
    assert [answer["agents"][0]["name"] for answer in pages] == ["a"] * 5
    assert 1 <= server.refused <= 5
    assert len(server.sessions) == (2 if wire == "session" else 0)


async def test_a_listen_stream_is_opened_again_with_a_shared_major(scripted: ScriptedServer) -> None:
    scripted.script = server = _Server(SAYS_2)
    async with speaking_2(scripted, "stateless") as connection:
        with anyio.fail_after(BOUND):
            async with connection.notifications():
                assert server.refused == 1


@both_wires
@pytest.mark.parametrize("supported", [["2.1.0"], ["1.0.0"]], ids=["the-refused-major", "one-that-it-refuses-too"])
async def test_a_server_that_contradicts_itself_is_asked_no_more_than_twice(
    scripted: ScriptedServer, wire: Wire, supported: list[str]
) -> None:
    scripted.script = server = _Server(SAYS_2, has="9.0.0", supported=supported)
    async with speaking_2(scripted, wire) as connection:
        with pytest.raises(ExtensionVersionNotSupported):
            await AgentCache().roster(connection)
    assert server.refused <= 2


@both_wires
@pytest.mark.parametrize("supported", [[], ["1"], "1.0.0", {"1": 0}, [None], ["1.0.0", "1.1.0"]])
async def test_a_refusal_that_names_malformed_versions_is_the_servers_fault(
    scripted: ScriptedServer, wire: Wire, supported: object
) -> None:
    scripted.script = server = _Server(SAYS_2, supported=supported)
    async with speaking_2(scripted, wire) as connection:
        with pytest.raises(ServerFault, match="those that it names instead are malformed"):
            await AgentCache().roster(connection)
    assert server.refused == 1


@pytest.mark.parametrize("data", [None, {}, {"extensions": None}, {"extensions": {"other/extension": {}}}])
async def test_the_same_code_for_anything_else_is_an_ordinary_refusal(scripted: ScriptedServer, data: object) -> None:
    async def script(received: Received, reply: Reply) -> None:
        error = {"code": -32005, "message": "no", "data": data}
        await reply.json({"jsonrpc": "2.0", "id": received.id, "error": error}, 400)

    scripted.script = script
    connection = speaking_2(scripted, "stateless")
    with pytest.raises(ServerRefused) as caught:
        await connection.request("agents/list")
    await connection.aclose()
    assert not isinstance(caught.value, ExtensionVersionNotSupported)
    assert len(scripted.received) == 1
