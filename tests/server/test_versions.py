"""Extension versions over HTTP: refused where the extension is used, and nowhere else."""

import json
from collections.abc import Iterator
from typing import Any

import anyio
import httpx
import pytest

from agent_discovery.server import AgentDef
from server.embedded import RunningServer, running_server
from server.settings import Settings
from tests.server.callers import SESSION, Caller, WireName, answer, bearer
from tests.server.test_streams import LIST_CHANGED, listening

EXTENSION = "io.modelcontextprotocol/agents"
TWO = ("1.2.0", "2.0.0")
FOREIGN = {"version": "3.0.0"}
USES: list[tuple[str, dict[str, Any]]] = [
    ("agents/list", {}),
    ("agents/list", {"cursor": "not one of ours"}),
    ("agents/get", {"name": "pipeline-agent"}),
    ("agents/get", {"name": "deploy-agent"}),
    ("agents/get", {"name": "no-such-agent"}),
]
LISTEN = ("subscriptions/listen", {"notifications": {"agentsListChanged": True}})


@pytest.fixture(scope="module", params=[True, False], ids=["json", "streams"])
def versioned(request: pytest.FixtureRequest) -> Iterator[RunningServer]:
    """A server that speaks two majors; every test runs against both kinds of answers."""
    with running_server(Settings(json_response=request.param, extension_versions=TWO)) as running:
        yield running


def _opening(caller: Caller) -> dict[str, Any]:
    result: dict[str, Any] = caller.opening["result"] if caller.wire == "session" else caller.call("server/discover")
    return result


def test_the_versions_are_advertised_on_both_wires(versioned: RunningServer, wire: WireName) -> None:
    with Caller(versioned.url, wire, declared=False) as caller:
        assert _opening(caller)["capabilities"]["extensions"] == {
            EXTENSION: {"listChanged": True, "versions": list(TWO)}
        }


@pytest.mark.parametrize("version", ["1.0.0", "1.2.0", "1.99.0", "2.0.0", "2.7.1"])
def test_a_shared_major_is_served_whatever_minor_and_patch(
    versioned: RunningServer, wire: WireName, version: str
) -> None:
    with Caller(versioned.url, wire, settings={"version": version}) as caller:
        assert caller.call("agents/list")["agents"]
        assert caller.call("agents/get", {"name": "pipeline-agent"})["tools"]
        assert caller.send("agents/get", {"name": "deploy-agent"}).status_code == 403


@pytest.mark.parametrize(
    ("wire", "use"), [*(("session", use) for use in USES), *(("stateless", use) for use in (*USES, LISTEN))], ids=str
)
def test_a_foreign_major_is_refused_with_400_and_the_whole_error(
    versioned: RunningServer, wire: WireName, use: tuple[str, dict[str, Any]]
) -> None:
    with Caller(versioned.url, wire, settings=FOREIGN) as caller:
        refused = caller.send(*use, id="my-id")
    assert refused.status_code == 400
    assert refused.headers["content-type"] == "application/json"
    got = refused.json()
    assert (got["jsonrpc"], got["id"]) == ("2.0", "my-id")
    assert set(got["error"]) == {"code", "message", "data"}
    assert got["error"]["code"] == -32005
    assert got["error"]["data"] == {"extensions": {EXTENSION: {"requested": "3.0.0", "supported": list(TWO)}}}


def test_a_method_that_the_wire_does_not_have_is_no_matter_of_versions(versioned: RunningServer) -> None:
    with Caller(versioned.url, "session", settings=FOREIGN) as caller:
        assert answer(caller.send(*LISTEN))["error"]["code"] == -32601


def test_what_does_not_use_the_extension_is_served_whatever_is_declared(
    versioned: RunningServer, wire: WireName
) -> None:
    with Caller(versioned.url, wire, settings=FOREIGN) as caller:
        opening = _opening(caller)
        assert "agents/" not in opening["instructions"]
        assert "list_failed_pipelines" in opening["instructions"]
        assert caller.call("tools/list")["tools"]
        assert caller.tool("list_failed_pipelines")["pipelines"]
        assert caller.send("tools/call", {"name": "deploy_service"}).status_code == 403


@pytest.mark.parametrize("settings", [{"version": None}, {"version": 2}, {"version": "2"}, {"version": ["2.0.0"]}])
def test_a_malformed_version_is_the_clients_error_where_the_extension_is_used(
    versioned: RunningServer, wire: WireName, settings: dict[str, Any]
) -> None:
    with Caller(versioned.url, wire, settings=settings) as caller:
        for use in (*USES, LISTEN) if wire == "stateless" else USES:
            error = answer(caller.send(*use))["error"]
            assert (error["code"], "MAJOR.MINOR.PATCH" in error["message"]) == (-32602, True)
        assert caller.call("tools/list")["tools"]


@pytest.mark.parametrize("settings", ["1.0.0", 3, ["1.0.0"], True])
def test_settings_that_are_no_object_are_said_to_be_the_matter(
    versioned: RunningServer, wire: WireName, settings: Any
) -> None:
    if wire == "stateless":
        with Caller(versioned.url, wire, settings=settings) as caller:
            answers = [answer(caller.send(method)) for method in ("agents/list", "tools/list", "server/discover")]
    else:
        params = {
            "protocolVersion": SESSION,
            "capabilities": {"extensions": {EXTENSION: settings}},
            "clientInfo": {"name": "raw", "version": "1"},
        }
        message = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}
        headers = {**bearer("alice-read"), "accept": "application/json, text/event-stream"}
        answers = [answer(httpx.post(versioned.url, json=message, headers=headers))]
    for got in answers:
        assert got["error"]["code"] == -32602
        assert f"must be an object, got {json.dumps(settings)}" in got["error"]["message"]


def test_a_wrong_protocol_version_is_reported_before_a_wrong_extension_version(
    versioned: RunningServer, wire: WireName
) -> None:
    with Caller(versioned.url, wire, settings=FOREIGN) as caller:
        message = caller.message("agents/list")
        if wire == "stateless":
            message["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"] = "1999-01-01"
        headers = {**caller.headers("agents/list"), "mcp-protocol-version": "1999-01-01"}
        refused = caller.http.post(caller.url, json=message, headers=headers)
    assert refused.status_code == 400
    # A session's client has no envelope, so the SDK names that as what is wrong with the unknown version's request.
    assert answer(refused)["error"]["code"] == (-32022 if wire == "stateless" else -32602)


async def test_streams_of_each_version_hear_the_same_and_a_foreign_major_hears_nothing(
    versioned: RunningServer, wire: WireName
) -> None:
    """EV-11."""

    def change(number: int) -> None:
        versioned.registry.put(AgentDef(name="changing", description=str(number)))

    frames = []
    for version in ("1.0.0", "1.2.0", "2.0.0"):
        with Caller(versioned.url, wire, settings={"version": version}) as caller:
            async with listening(caller) as stream:
                versioned.call(lambda text=version: change(hash(text)))  # type: ignore[misc]
                frames.append(await stream.next())
    assert frames[0] == frames[1] == frames[2]
    assert frames[0]["method"] == LIST_CHANGED
    if wire == "session":
        with Caller(versioned.url, wire, settings=FOREIGN) as caller:
            async with listening(caller) as stream:
                versioned.call(lambda: change(0))
                with pytest.raises(TimeoutError), anyio.fail_after(0.3):
                    await stream.next()
