"""The REST side door: the same roster for the same caller, in the Agent Connect Framework's shape; its description."""

import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]  # it ships no types

from agent_discovery.server import AgentDef
from server.embedded import RunningServer, running_server
from server.published import Published
from server.rest import REST_PATHS, RestDoor
from server.roster import BUILT_IN, Provider, Roster
from server.settings import Settings
from server.tokens import DEMO_TOKENS
from tests.server.callers import Caller, WireName, bearer

TOKENS = [known.token for known in DEMO_TOKENS]
LIBRARY = Path(__file__).resolve().parents[2] / "examples" / "library.toml"


@pytest.fixture(scope="module")
def server() -> Iterator[RunningServer]:
    """One server will do: how MCP answers are framed does not touch this door."""
    with running_server() as running:
        yield running


@pytest.fixture(params=REST_PATHS)
def path(request: pytest.FixtureRequest) -> str:
    """Each path of the door in turn."""
    text: str = request.param
    return text


@pytest.fixture(scope="module")
def many() -> Iterator[RunningServer]:
    """A server whose roster takes several pages of `agents/list`."""
    with running_server(Settings(synthetic=7, page_size=3)) as running:
        yield running


def _get(server: RunningServer, path: str, token: str | None = "alice-read", **headers: str) -> httpx.Response:
    return _ask("GET", f"{server.base_url}{path}", {**(bearer(token) if token else {}), **headers})


def _ask(method: str, url: str, headers: dict[str, str]) -> httpx.Response:
    # Nothing here is TLS, and loading certificates would be most of a test's time.
    return httpx.request(method, url, headers=headers, verify=False)


def test_the_answer_is_pinned_as_a_whole(server: RunningServer, path: str) -> None:
    server.call(lambda: server.registry.remove("release-agent"))
    response = _get(server, path, "bob-billing")
    assert response.status_code == 200
    assert response.headers["content-type"] == "application/json"
    assert response.headers["cache-control"] == "private"
    body = response.json()
    assert [agent["name"] for agent in body["agents"]] == ["pipeline-agent", "billing-agent", "deploy-agent"]
    assert list(body) == ["agents"]
    assert body["agents"][1] == {
        "name": "billing-agent",
        "description": "Answers questions about invoices: which are open, paid or overdue, and for how much.",
        "provider": {"organization": "Agent discovery demo", "url": server.base_url},
        "version": "0.1.0",
        "documentation_url": f"{server.base_url}/openapi.json",
        "capabilities": {"streaming": False},
        "metadata": {"capabilities": ["billing", "reporting"]},
    }


@pytest.mark.parametrize("token", TOKENS)
def test_each_caller_gets_exactly_its_own_agents_list(
    many: RunningServer, path: str, wire: WireName, token: str
) -> None:
    with Caller(many.url, wire, token) as caller:
        cards: list[dict[str, Any]] = []
        cursor: dict[str, Any] = {}
        while True:
            page = caller.call("agents/list", cursor)
            cards += page["agents"]
            if "nextCursor" not in page:
                break
            cursor = {"cursor": page["nextCursor"]}
    shown = _get(many, path, token).json()["agents"]
    assert [
        {"name": agent["name"], "description": agent["description"], "capabilities": agent["metadata"]["capabilities"]}
        for agent in shown
    ] == cards
    assert len(cards) >= 9


def test_a_change_shows_at_once(server: RunningServer, path: str) -> None:
    def names() -> list[str]:
        return [agent["name"] for agent in _get(server, path).json()["agents"]]

    with Caller(server.url, "stateless") as alice:
        alice.tool("publish_release_agent")
        assert "release-agent" in names()
        alice.tool("retire_release_agent")
        assert "release-agent" not in names()


@pytest.mark.parametrize("method", ["GET", "HEAD", "POST", "DELETE", "OPTIONS", "BREW"])
@pytest.mark.parametrize("token", [None, "nobody", ""])
def test_without_a_known_token_the_refusal_is_that_of_the_mcp_endpoint(
    server: RunningServer, path: str, method: str, token: str | None
) -> None:
    headers = {} if token is None else {"authorization": f"Bearer {token}".strip()}
    refused = _ask(method, f"{server.base_url}{path}", headers)
    at_mcp = _ask("POST", server.url, headers)
    assert refused.status_code == at_mcp.status_code == 401
    assert refused.headers["www-authenticate"] == at_mcp.headers["www-authenticate"]
    assert refused.content == (b"" if method == "HEAD" else at_mcp.content)


@pytest.mark.parametrize("method", ["HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "BREW"])
def test_only_get_is_served(server: RunningServer, path: str, method: str) -> None:
    refused = _ask(method, f"{server.base_url}{path}", bearer("bob-billing"))
    assert refused.status_code == 405
    assert refused.headers["allow"] == "GET"
    assert "billing" not in refused.text


@pytest.mark.parametrize(
    "spelling",
    ["{}/", "{}//", "/{}", "{}/billing-agent", "{}%2F", "{};x", "{}.json", "{}%20", "/mcp/..{}/"],
)
@pytest.mark.parametrize("token", [None, "alice-read"])
def test_no_other_spelling_of_the_path_leads_in(
    server: RunningServer, path: str, spelling: str, token: str | None
) -> None:
    # Over a bare socket: a client library would tidy the path first.
    status, body = _raw(server, spelling.format(path), token)
    assert status in (404, 401), (status, body)
    assert 'agent"' not in body


@pytest.mark.parametrize("query", ["?", "?access_token=bob-billing", "?scope=billing:read", "?a=%00"])
def test_a_query_changes_nothing(server: RunningServer, path: str, query: str) -> None:
    assert _get(server, path + query).content == _get(server, path).content
    assert _get(server, path + query, None).status_code == 401


def _raw(server: RunningServer, target: str, token: str | None) -> tuple[int, str]:
    lines = [f"GET {target} HTTP/1.1", f"host: 127.0.0.1:{server.port}", "connection: close"]
    if token:
        lines.append(f"authorization: Bearer {token}")
    with socket.create_connection(("127.0.0.1", server.port), timeout=5) as raw:
        raw.sendall(("\r\n".join(lines) + "\r\n\r\n").encode())
        answered = b"".join(iter(lambda: raw.recv(65_536), b"")).decode()
    return int(answered.split(" ", 2)[1]), answered.partition("\r\n\r\n")[2]


def test_a_foreign_page_and_a_foreign_host_are_refused_as_at_the_mcp_endpoint(server: RunningServer, path: str) -> None:
    assert _get(server, path, origin="https://evil.example").status_code == 403
    assert _get(server, path, host="evil.example").status_code == 421
    assert _get(server, path, origin=server.base_url).status_code == 200


async def test_a_provider_of_its_own_goes_out_and_follows_a_reload() -> None:
    published = Published(Roster(agents=(AgentDef(name="bare"),), tools=(), tokens=(), scopes=()))
    door = RestDoor(published, "http://here", None)
    transport = httpx.ASGITransport(door)
    async with httpx.AsyncClient(transport=transport, base_url="http://here") as http:
        assert (await http.get("/v1/agents")).json()["agents"][0]["description"] == ""
        other = Provider(
            organization="O", url="https://o.example", version="3", documentation_url="https://o.example/d"
        )
        published.apply(Roster(agents=(AgentDef(name="bare"),), tools=(), tokens=(), scopes=(), provider=other))
        agent = (await http.get("/v1/agents")).json()["agents"][0]
    assert agent["provider"] == {"organization": "O", "url": "https://o.example"}
    assert (agent["version"], agent["documentation_url"]) == ("3", "https://o.example/d")


def test_the_library_names_its_provider() -> None:
    with running_server(Settings(roster_file=LIBRARY)) as server:
        agents = _get(server, "/v1/agents", "rosa-reader").json()["agents"]
    assert {(agent["provider"]["organization"], agent["version"]) for agent in agents} == {("City Library", "2.1.0")}
    assert "fines-agent" not in {agent["name"] for agent in agents}


def _document(server: RunningServer) -> dict[str, Any]:
    response = _get(server, "/openapi.json", None)
    assert response.status_code == 200
    document: dict[str, Any] = response.json()
    return document


def _refs(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        if isinstance(value.get("$ref"), str):
            yield value["$ref"]
        for item in value.values():
            yield from _refs(item)
    elif isinstance(value, list):
        for item in value:
            yield from _refs(item)


def test_the_openapi_document_is_whole(server: RunningServer) -> None:
    document = _document(server)
    assert document["openapi"].startswith("3.1.")
    assert set(document["paths"]) == {
        "/v1/agents",
        "/agent-connect/v1/agents",
        "/healthz",
        "/.well-known/oauth-protected-resource/mcp",
        "/openapi.json",
    }
    refs = set(_refs(document))
    assert refs
    for ref in refs:
        found: Any = document
        for part in ref.removeprefix("#/").split("/"):
            found = found[part]
        assert found["type"] == "object"
    for schema in document["components"]["schemas"].values():
        Draft202012Validator.check_schema(schema)
    operations = [item["get"]["operationId"] for item in document["paths"].values()]
    assert len(set(operations)) == len(operations)
    assert document["servers"] == [{"url": server.base_url}]


def test_every_answer_is_as_the_openapi_document_says(server: RunningServer) -> None:
    document = _document(server)
    for path, item in document["paths"].items():
        operation = item["get"]
        needs_token = operation["security"] == [{"bearer": []}]
        for token in [None, *TOKENS] if needs_token else [None]:
            response = _get(server, path, token)
            described = operation["responses"][str(response.status_code)]
            schema = described["content"]["application/json"]["schema"]
            Draft202012Validator({**schema, "components": document["components"]}).validate(response.json())
            for name in described.get("headers", {}):
                assert name in response.headers
            assert response.status_code == (401 if needs_token and token is None else 200)


def test_the_openapi_document_would_notice_a_changed_card(server: RunningServer) -> None:
    document = _document(server)
    schema = {"$ref": "#/components/schemas/RestAgents", "components": document["components"]}
    body = _get(server, "/v1/agents").json()
    assert Draft202012Validator(schema).is_valid(body)
    for key in list(body["agents"][0]):
        broken = {"agents": [{name: value for name, value in body["agents"][0].items() if name != key}]}
        assert not Draft202012Validator(schema).is_valid(broken), key
    assert not Draft202012Validator(schema).is_valid({"agents": [{**body["agents"][0], "instructions": "x"}]})


def test_the_door_names_nothing_that_this_caller_may_not_see(server: RunningServer) -> None:
    hidden = next(agent for agent in BUILT_IN.agents if agent.name == "billing-agent")
    for path in (*REST_PATHS, "/openapi.json"):
        assert hidden.name not in _get(server, path, "alice-read").text
        assert "list_failed_pipelines" not in _get(server, path, "alice-read").text, "no tool names in cards"
