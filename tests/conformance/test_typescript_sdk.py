"""The TypeScript SDK's clients, of both major versions, against the demo server: one Node script, every token.

The script prints what the server answered; what is right is said here.
"""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from agent_discovery.wire import AGENT_NOT_FOUND, EXTENSION_ID, INVALID_PARAMS
from server.embedded import running_server
from tests.conformance.toolbox import HERE, Toolbox

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

_SCRIPT = str(HERE / "ts_client.mjs")
_CARD = {"pipeline-agent", "deploy-agent"}
_EVERYBODYS = {"list_failed_pipelines", "get_pipeline_log", "deploy_service"}

Seen = dict[str, Any]


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    """A demo server of its own, so that nobody else's release agent is in the roster."""
    with running_server() as server:
        yield server.url


@pytest.fixture(scope="module", params=["v1", "v2-session", "v2-stateless"])
def client(request: pytest.FixtureRequest) -> str:
    """Version 1 knows the session wire only; version 2 knows both."""
    name: str = request.param
    return name


@pytest.fixture(scope="module", params=["alice-read", "alice-deploy", "bob-billing"])
def token(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


@pytest.fixture(scope="module")
def seen(tools: Toolbox, url: str, client: str, token: str) -> Seen:
    """What the client saw with the token."""
    done = tools.run(_SCRIPT, client, url, token, timeout=60)
    assert done.returncode == 0, done.stderr
    answers: Seen = json.loads(done.stdout)
    return answers


def test_it_opens_and_sees_the_extension_advertised(seen: Seen) -> None:
    assert seen["capabilities"]["extensions"][EXTENSION_ID]["listChanged"] is True
    assert seen["server"]["name"] == "agent-discovery-demo"
    assert "agents/list" in seen["instructions"]


def test_it_lists_the_tools_its_token_may_see(seen: Seen, token: str) -> None:
    names = {tool["name"] for tool in seen["tools"]}
    assert names >= _EVERYBODYS
    assert ("list_invoices" in names) == (token == "bob-billing")


def test_it_calls_a_tool_and_is_told_of_a_hidden_one_as_of_an_unknown_one(seen: Seen, token: str) -> None:
    assert seen["called"]["result"]["structuredContent"]["pipelines"][0]["id"] == "pl-1042"
    if token == "bob-billing":
        assert seen["hiddenTool"]["result"]["structuredContent"]["invoices"]
    else:
        assert seen["hiddenTool"]["error"]["code"] == INVALID_PARAMS


def test_its_raw_agents_list_holds_the_cards_its_token_may_see(seen: Seen, token: str) -> None:
    result = seen["agents"]["result"]
    billing = {"billing-agent"} if token == "bob-billing" else set()
    assert {card["name"] for card in result["agents"]} == _CARD | billing
    assert all(card.keys() <= {"name", "description", "capabilities"} for card in result["agents"])
    assert (result["ttlMs"], result["cacheScope"]) == (60_000, "private")


def test_its_raw_agents_get_brings_tools_equal_to_its_own_listing(seen: Seen) -> None:
    result = seen["opened"]["result"]
    listed = {tool["name"]: tool for tool in seen["tools"]}
    assert result["agent"]["name"] == "pipeline-agent"
    assert result["instructions"]
    assert [tool["name"] for tool in result["tools"]] == ["list_failed_pipelines", "get_pipeline_log"]
    assert all(tool == listed[tool["name"]] for tool in result["tools"])


def test_a_hidden_agent_is_not_found(seen: Seen, token: str) -> None:
    if token == "bob-billing":
        assert seen["billing"]["result"]["tools"][0]["name"] == "list_invoices"
    else:
        error = seen["billing"]["error"]
        assert (error["code"], error["data"]) == (INVALID_PARAMS, {"reason": AGENT_NOT_FOUND})


def test_a_scope_challenge_reaches_it_as_one(seen: Seen, token: str, client: str) -> None:
    if token == "alice-deploy":
        assert seen["deploy"]["result"]["agent"]["name"] == "deploy-agent"
        return
    error = seen["deploy"]["error"]
    if client == "v1":  # it knows no challenges without an OAuth provider, and hands over the body of the 403
        assert (error["kind"], error["code"]) == ("StreamableHTTPError", 403)
        assert '"scope":"ops:deploy"' in error["message"]
    else:
        assert error["kind"] == "InsufficientScopeError"
        assert error["requiredScope"] == "ops:deploy"
        assert error["resourceMetadataUrl"].endswith("/.well-known/oauth-protected-resource/mcp")
