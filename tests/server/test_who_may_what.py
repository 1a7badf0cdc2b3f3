"""Who sees, opens and calls what: the whole table, each token against each name, and what an answer is made of."""

from collections.abc import Callable, Iterator
from typing import Any, Final

import httpx
import pytest

from agent_discovery.server import Access, AgentDef, holders_of
from server.embedded import RunningServer
from tests.server.callers import Caller, answer

Opened = Callable[..., Caller]

TOKENS: Final = ("alice-read", "alice-deploy", "bob-billing")
AGENTS: Final = {
    "pipeline-agent": ("opens", "opens", "opens"),
    "billing-agent": ("hidden", "hidden", "opens"),
    "deploy-agent": ("challenged", "opens", "challenged"),
    "release-agent": ("opens", "opens", "opens"),
    "no-such-agent": ("hidden", "hidden", "hidden"),
}
"""What happens to each of the tokens, once release-agent is published."""
TOOLS: Final = {
    "list_failed_pipelines": ("opens", "opens", "opens"),
    "get_pipeline_log": ("opens", "opens", "opens"),
    "list_invoices": ("hidden", "hidden", "opens"),
    "deploy_service": ("challenged", "opens", "challenged"),
    "publish_release_agent": ("opens", "opens", "opens"),
    "retire_release_agent": ("opens", "opens", "opens"),
    "no_such_tool": ("hidden", "hidden", "hidden"),
}
ARGUMENTS: Final = {"get_pipeline_log": {"id": "pl-1042"}, "deploy_service": {"service": "api", "version": "1.0.0"}}


def _outcome(response: httpx.Response) -> str:
    if response.status_code == 403:
        assert 'scope="ops:deploy"' in response.headers["www-authenticate"]
        return "challenged"
    assert "www-authenticate" not in response.headers
    got = answer(response)
    if "result" in got:
        assert not got["result"].get("isError")
        return "opens"
    assert got["error"]["code"] == -32602
    assert got["error"]["data"]["reason"] in ("agent_not_found", "tool_not_found")
    return "hidden"


@pytest.mark.parametrize("token", TOKENS)
def test_each_token_sees_and_opens_just_what_it_may(opened: Opened, server: RunningServer, token: str) -> None:
    at = TOKENS.index(token)
    caller = opened(token)
    caller.tool("publish_release_agent")
    try:
        listed = [card["name"] for card in caller.call("agents/list")["agents"]]
        assert listed == [name for name, fates in AGENTS.items() if fates[at] != "hidden"]
        got = {name: _outcome(caller.send("agents/get", {"name": name})) for name in AGENTS}
        assert got == {name: fates[at] for name, fates in AGENTS.items()}
    finally:
        caller.tool("retire_release_agent")


@pytest.mark.parametrize("token", TOKENS)
def test_each_token_sees_and_calls_just_the_tools_it_may(opened: Opened, token: str) -> None:
    at = TOKENS.index(token)
    caller = opened(token)
    listed = [tool["name"] for tool in caller.call("tools/list")["tools"]]
    assert listed == [name for name, fates in TOOLS.items() if fates[at] != "hidden"]
    calls = {name: {"name": name, "arguments": ARGUMENTS.get(name, {})} for name in TOOLS}
    got = {name: _outcome(caller.send("tools/call", params)) for name, params in calls.items()}
    assert got == {name: fates[at] for name, fates in TOOLS.items()}


@pytest.fixture
def doubly_guarded(server: RunningServer) -> Iterator[str]:
    """An agent that is hidden from Alice, and whose opening would take more scope than she has."""
    both = Access(visible_to=holders_of("billing:read"), challenge=("ops:deploy",))
    server.call(lambda: server.registry.add(AgentDef(name="audit-agent", access=both)))
    yield "audit-agent"
    server.call(lambda: server.registry.remove("audit-agent"))


def test_what_a_caller_cannot_see_never_produces_a_challenge(caller: Caller, doubly_guarded: str) -> None:
    hidden = caller.send("agents/get", {"name": doubly_guarded}, id=7)
    unknown = caller.send("agents/get", {"name": "other-agent"}, id=7)
    assert (_outcome(hidden), hidden.status_code) == ("hidden", unknown.status_code)
    assert hidden.content.replace(doubly_guarded.encode(), b"") == unknown.content.replace(b"other-agent", b"")
    if caller.wire == "session":
        return  # a session is one user's; what Bob sees is asked on the wire that has none
    assert _outcome(caller.send("agents/get", {"name": doubly_guarded}, token="bob-billing")) == "challenged"


def test_the_details_are_pinned_as_a_whole(caller: Caller) -> None:
    details = caller.call("agents/get", {"name": "pipeline-agent"})
    listed = {tool["name"]: tool for tool in caller.call("tools/list")["tools"]}
    _assert_only_the_stateless_wires_extras(caller, details)
    instructions = details.pop("instructions")
    assert instructions.startswith("You find out why pipelines fail.")
    assert {key: value for key, value in details.items() if key not in ("resultType", "_meta")} == {
        "agent": {
            "name": "pipeline-agent",
            "description": "Finds out why a CI pipeline failed and points at the line of the log that says so.",
            "capabilities": ["ci", "diagnostics"],
        },
        "modelRoutingHint": {"role": "small", "vision": False},
        "tools": [listed["list_failed_pipelines"], listed["get_pipeline_log"]],
        "ttlMs": 60_000,
        "cacheScope": "private",
    }


@pytest.mark.parametrize("method", ["agents/list", "agents/get", "tools/list", "tools/call"])
def test_every_result_of_the_stateless_wire_says_who_answers_and_no_other(caller: Caller, method: str) -> None:
    params = {"agents/get": {"name": "pipeline-agent"}, "tools/call": {"name": "list_failed_pipelines"}}
    _assert_only_the_stateless_wires_extras(caller, caller.call(method, params.get(method)))


def _assert_only_the_stateless_wires_extras(caller: Caller, result: dict[str, Any]) -> None:
    if caller.wire == "session":
        assert "resultType" not in result
        assert "_meta" not in result
        return
    assert result["resultType"] == "complete"
    assert result["_meta"]["io.modelcontextprotocol/serverInfo"]["name"] == "agent-discovery-demo"


@pytest.mark.parametrize("method", ["POST", "GET", "DELETE"])
def test_another_user_finds_no_session_whatever_the_method(server: RunningServer, method: str) -> None:
    with Caller(server.url, "session") as alice:
        body = alice.message("agents/list") if method == "POST" else None
        headers = alice.headers("agents/list", token="bob-billing")
        if method == "GET":
            headers["accept"] = "text/event-stream"
        assert alice.http.request(method, server.url, json=body, headers=headers).status_code == 404
        assert alice.call("agents/list")["agents"], "the session outlives what others try"


@pytest.mark.parametrize("version", ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"])
def test_agents_are_there_on_every_version_that_opens_with_a_handshake(server: RunningServer, version: str) -> None:
    with Caller(server.url, "session", handshake=version) as alice:
        opening = alice.opening["result"]
        assert opening["protocolVersion"] == version
        assert opening["capabilities"]["extensions"] == {"io.modelcontextprotocol/agents": {"listChanged": True}}
        assert [card["name"] for card in alice.call("agents/list")["agents"]] == ["pipeline-agent", "deploy-agent"]
        assert alice.call("agents/get", {"name": "pipeline-agent"})["tools"] == alice.call("tools/list")["tools"][:2]
        assert _outcome(alice.send("agents/get", {"name": "deploy-agent"})) == "challenged"
