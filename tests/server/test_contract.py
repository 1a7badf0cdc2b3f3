"""The wire contract over HTTP: both wires, answers as JSON and as streams."""

import re
import threading
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import httpx
import pytest

from agent_discovery.server import ModelRoutingHint
from server.embedded import RunningServer
from server.roster import BUILT_IN, PIPELINE_AGENT, RELEASE_AGENT
from tests.server.callers import Caller, answer, bearer

EXTENSION = "io.modelcontextprotocol/agents"
TOOLS = ["list_failed_pipelines", "get_pipeline_log", "deploy_service", "publish_release_agent", "retire_release_agent"]
Opened = Callable[..., Caller]


def _opening(caller: Caller) -> dict[str, Any]:
    if caller.wire == "session":
        result: dict[str, Any] = caller.opening["result"]
        return result
    return caller.call("server/discover")


def _names(page: dict[str, Any]) -> list[str]:
    return [card["name"] for card in page["agents"]]


def test_only_what_is_served_is_advertised(caller: Caller) -> None:
    opening = _opening(caller)
    assert opening["capabilities"] == {"tools": {}, "extensions": {EXTENSION: {"listChanged": True}}}
    assert "agents/list" in opening["instructions"]


def test_a_client_without_the_extension_hears_of_its_tools_only(opened: Opened) -> None:
    plain = opened("alice-read", declared=False)
    instructions = _opening(plain)["instructions"]
    assert "agents/" not in instructions
    assert "list_invoices" not in instructions
    assert all(tool in instructions for tool in TOOLS)
    error = answer(plain.send("agents/list"))["error"]
    assert error["code"] == -32021
    assert EXTENSION in error["data"]["requiredCapabilities"]["extensions"]
    assert [tool["name"] for tool in plain.call("tools/list")["tools"]] == TOOLS


def test_the_roster_is_pinned_as_a_whole(caller: Caller) -> None:
    page = caller.call("agents/list")
    extras = {key: page.pop(key) for key in ("resultType", "_meta") if key in page}
    assert page == {
        "agents": [
            {
                "name": "pipeline-agent",
                "description": "Finds out why a CI pipeline failed and points at the line of the log that says so.",
                "capabilities": ["ci", "diagnostics"],
            },
            {
                "name": "deploy-agent",
                "description": "Brings a version of a service to staging or production once its pipeline is green.",
                "capabilities": ["deployment", "operations"],
            },
        ],
        "ttlMs": 60_000,
        "cacheScope": "private",
    }
    assert bool(extras) == (caller.wire == "stateless")
    assert extras.get("resultType") == ("complete" if extras else None)


def test_bob_sees_and_opens_what_alice_cannot_know_of(caller: Caller, opened: Opened) -> None:
    bob = opened("bob-billing")
    assert _names(bob.call("agents/list")) == ["pipeline-agent", "billing-agent", "deploy-agent"]
    details = bob.call("agents/get", {"name": "billing-agent"})
    assert [tool["name"] for tool in details["tools"]] == ["list_invoices"]
    assert bob.tool("list_invoices", {"status": "overdue"})["invoices"][0]["id"] == "inv-2198"


def test_each_tool_of_an_agent_equals_its_entry_in_tools_list(caller: Caller) -> None:
    listed = {tool["name"]: tool for tool in caller.call("tools/list")["tools"]}
    assert list(listed) == TOOLS
    for token, agent in (("alice-read", "pipeline-agent"), ("alice-deploy", "deploy-agent")):
        details = caller.call("agents/get", {"name": agent}, token=token)
        assert details["tools"]
        assert details["tools"] == [listed[tool["name"]] for tool in details["tools"]]
        assert (details["ttlMs"], details["cacheScope"]) == (60_000, "private")


def test_the_hint_and_the_instructions_come_with_the_details(caller: Caller) -> None:
    details = caller.call("agents/get", {"name": "pipeline-agent"})
    assert details["modelRoutingHint"] == {"role": "small", "vision": False}
    assert "list_failed_pipelines" in details["instructions"]


def test_nothing_but_the_hint_itself_depends_on_the_hint(caller: Caller, server: RunningServer) -> None:
    """AD-25: whichever model the host takes, the agent and its tools answer alike."""
    run: list[Any] = []
    for hint in (ModelRoutingHint(role="large", vision=True), None, PIPELINE_AGENT.model_routing_hint):
        hinting = replace(PIPELINE_AGENT, model_routing_hint=hint)
        server.call(lambda agent=hinting: server.registry.put(agent))  # type: ignore[misc]
        details = caller.call("agents/get", {"name": "pipeline-agent"})
        assert details.pop("modelRoutingHint", None) == (None if hint is None else hint.to_wire())
        run.append((details, caller.tool("list_failed_pipelines"), caller.call("agents/list")))
    assert run[0] == run[1] == run[2]


def test_what_agents_say_of_themselves_holds_no_secret() -> None:
    """AD-29: no token is in it, nor anything that one could sign in with."""
    for agent in (*BUILT_IN.agents, RELEASE_AGENT):
        said = " ".join([agent.description or "", agent.instructions or "", *agent.capabilities])
        assert said.strip()
        assert not [token.user for token in BUILT_IN.tokens if token.token in said]
        assert not re.search(r"://|bearer|password|secret|api.?key|@", said, re.IGNORECASE)


def _comparable(response: httpx.Response, name: str) -> tuple[int, dict[str, str], bytes]:
    headers = {k: v for k, v in response.headers.items() if k not in ("date", "content-length")}
    return response.status_code, headers, response.content.replace(name.encode(), b"")


@pytest.mark.parametrize(
    ("method", "hidden", "unknown"),
    [("agents/get", "billing-agent", "no-such-agent"), ("tools/call", "list_invoices", "no_such_tool")],
)
def test_hidden_and_unknown_are_the_same_bytes(caller: Caller, method: str, hidden: str, unknown: str) -> None:
    first = caller.send(method, {"name": hidden}, id=7)
    second = caller.send(method, {"name": unknown}, id=7)
    assert _comparable(first, hidden) == _comparable(second, unknown)
    assert "www-authenticate" not in first.headers
    assert first.status_code == (200 if caller.wire == "session" else 400)
    error = answer(first)["error"]
    assert error["code"] == -32602
    assert error["data"] == {"reason": "agent_not_found" if method == "agents/get" else "tool_not_found"}
    assert "billing" not in error["message"].replace(hidden, "")
    assert "invoices" not in error["message"].replace(hidden, "")


@pytest.mark.parametrize(("method", "name"), [("agents/get", "deploy-agent"), ("tools/call", "deploy_service")])
def test_more_scope_is_asked_for_by_403_field_by_field(
    caller: Caller, server: RunningServer, method: str, name: str
) -> None:
    refused = caller.send(method, {"name": name, "arguments": {"service": "api", "version": "1.0.0"}})
    assert refused.status_code == 403
    assert refused.headers["content-type"] == "application/json"
    body = refused.json()
    assert set(body) == {"error", "error_description", "scope"}
    assert (body["error"], body["scope"]) == ("insufficient_scope", "ops:deploy")
    assert "ops:deploy" in body["error_description"]
    metadata = f"{server.base_url}/.well-known/oauth-protected-resource/mcp"
    assert refused.headers["www-authenticate"] == (
        f'Bearer error="insufficient_scope", scope="ops:deploy", '
        f'error_description="{body["error_description"]}", resource_metadata="{metadata}"'
    )
    assert httpx.get(metadata).json()["scopes_supported"] == ["ops:read", "ops:deploy", "billing:read"]
    again = caller.send(
        method, {"name": name, "arguments": {"service": "api", "version": "1.0.0"}}, token="alice-deploy"
    )
    assert again.status_code == 200
    assert "result" in answer(again)


def test_membership_in_an_agent_grants_nothing(caller: Caller) -> None:
    caller.call("agents/get", {"name": "deploy-agent"}, token="alice-deploy")
    assert caller.send("tools/call", {"name": "deploy_service"}).status_code == 403


@pytest.mark.parametrize("token", [None, "nobody", "alice-read x", "ALICE-READ"])
def test_without_a_known_token_there_is_401_before_anything_else(server: RunningServer, token: str | None) -> None:
    for path, method in (("/mcp", "POST"), ("/mcp", "GET"), ("/mcp", "DELETE"), ("/mcp", "PUT")):
        headers = {} if token is None else bearer(token)
        refused = httpx.request(method, server.base_url + path, headers=headers)
        assert refused.status_code == 401
        assert refused.headers["www-authenticate"].startswith("Bearer ")
        assert "/.well-known/oauth-protected-resource/mcp" in refused.headers["www-authenticate"]


def test_health_and_metadata_need_no_token(server: RunningServer) -> None:
    assert httpx.get(f"{server.base_url}/healthz").json() == {"status": "ok"}
    metadata = httpx.get(f"{server.base_url}/.well-known/oauth-protected-resource/mcp").json()
    assert metadata["resource"] == server.url


def test_scopes_are_those_of_each_request_also_two_at_once(caller: Caller) -> None:
    wrong: list[str] = []
    start = threading.Barrier(4)

    def ask(token: str, expected: int) -> None:
        start.wait(5)
        for _ in range(15):
            status = caller.send("agents/get", {"name": "deploy-agent"}, token=token).status_code
            if status != expected:
                wrong.append(f"{token}: {status}")

    threads = [threading.Thread(target=ask, args=a) for a in (("alice-read", 403), ("alice-deploy", 200)) * 2]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert wrong == []


def test_a_session_is_the_users_not_the_tokens(server: RunningServer) -> None:
    alice = Caller(server.url, "session")
    assert alice.send("agents/list", token="alice-deploy").status_code == 200
    foreign = alice.send("agents/list", token="bob-billing")
    assert foreign.status_code == 404
    alice.session_headers["mcp-session-id"] = "0" * 32
    never = alice.send("agents/list", token="bob-billing")
    assert _comparable(foreign, "") == _comparable(never, "")
    alice.http.close()


def test_publishing_twice_changes_nothing_the_second_time(caller: Caller) -> None:
    first = caller.tool("publish_release_agent")
    assert (first["changed"], first["agent"]) == (True, "release-agent")
    assert "release-agent" in first["next"]
    assert caller.tool("publish_release_agent")["changed"] is False
    assert _names(caller.call("agents/list"))[-1] == "release-agent"
    assert caller.call("agents/get", {"name": "release-agent"})["tools"]
    assert caller.tool("retire_release_agent")["changed"] is True
    assert caller.tool("retire_release_agent")["changed"] is False


def test_results_hand_over_the_next_handle(caller: Caller) -> None:
    failed = caller.tool("list_failed_pipelines", {"limit": 1})
    first = failed["pipelines"][0]["id"]
    assert failed["next"] == f'call get_pipeline_log with id "{first}"'
    assert caller.tool("get_pipeline_log", {"id": first, "tail_lines": 1})["lines"]
    unknown = caller.call("tools/call", {"name": "get_pipeline_log", "arguments": {"id": "pl-0"}})
    assert unknown["isError"] is True
    assert first in unknown["content"][0]["text"]


def test_tools_list_is_private_and_as_fresh_as_the_roster(caller: Caller) -> None:
    listed = caller.call("tools/list")
    if caller.wire == "stateless":
        assert (listed["ttlMs"], listed["cacheScope"]) == (60_000, "private")
    assert [tool["name"] for tool in caller.call("tools/list", token="alice-deploy")["tools"]] == TOOLS
