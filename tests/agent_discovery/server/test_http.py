"""The HTTP app that the extension builds: layers in order, with and without bearer tokens."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest
from mcp.server.lowlevel import Server
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from agent_discovery.server import Access, AgentDef, AgentDiscovery, AgentRegistry, BearerAuth, HttpOptions, Scopes
from server.tokens import DEMO_TOKENS, TableVerifier
from tests.server.callers import STATELESS, bearer

OPS = AgentDef(name="ops", access=Access(challenge=("ops:deploy",)))
META = {
    "io.modelcontextprotocol/protocolVersion": STATELESS,
    "io.modelcontextprotocol/clientCapabilities": {"extensions": {"io.modelcontextprotocol/agents": {}}},
}
AUTH = BearerAuth(
    verifier=TableVerifier(DEMO_TOKENS),
    resource_url="http://127.0.0.1/agents",
    authorization_servers=["http://127.0.0.1"],
    scopes=["ops:deploy"],
)


def _discovery(**options: Any) -> AgentDiscovery:
    discovery = AgentDiscovery(AgentRegistry([OPS]), **options)
    discovery.attach(Server("small"))
    return discovery


@asynccontextmanager
async def _serving(app: Starlette, host: str = "127.0.0.1:8000") -> AsyncIterator[httpx.AsyncClient]:
    async with (
        app.router.lifespan_context(app),
        httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url=f"http://{host}") as http,
    ):
        yield http


async def _open(http: httpx.AsyncClient, path: str = "/mcp", **headers: str) -> httpx.Response:
    message = {"jsonrpc": "2.0", "id": 1, "method": "agents/get", "params": {"name": "ops", "_meta": META}}
    wire = {"mcp-protocol-version": STATELESS, "mcp-method": "agents/get", "accept": "application/json"}
    wire["accept"] += ", text/event-stream"
    return await http.post(path, json=message, headers={**wire, **headers})


async def test_without_tokens_everyone_comes_in_and_nobody_has_scopes() -> None:
    async with _serving(_discovery().streamable_http_app()) as http:
        refused = await _open(http)
    assert (refused.status_code, refused.json()["scope"]) == (403, "ops:deploy")
    assert "resource_metadata" not in refused.headers["www-authenticate"]


async def test_a_rule_of_ones_own_gives_scopes_without_tokens() -> None:
    def by_door(request: Request | None) -> Scopes:
        return frozenset({"ops:deploy"} if request is not None and request.headers.get("x-door") == "staff" else ())

    async with _serving(_discovery(scopes_of=by_door).streamable_http_app()) as http:
        assert (await _open(http)).status_code == 403
        assert (await _open(http, **{"x-door": "staff"})).json()["result"]["agent"]["name"] == "ops"


async def test_with_tokens_nobody_comes_in_without_one_and_challenges_name_the_metadata() -> None:
    app = _discovery().streamable_http_app(HttpOptions(path="/agents"), auth=AUTH)
    metadata = "http://127.0.0.1/.well-known/oauth-protected-resource/agents"
    async with _serving(app) as http:
        assert (await _open(http, "/agents")).status_code == 401
        refused = await _open(http, "/agents", **bearer("alice-read"))
        assert refused.status_code == 403
        assert f'resource_metadata="{metadata}"' in refused.headers["www-authenticate"]
        assert (await _open(http, "/agents", **bearer("alice-deploy"))).status_code == 200
        assert (await http.get(metadata)).json()["scopes_supported"] == ["ops:deploy"]


@pytest.mark.parametrize("version", [STATELESS, "2025-11-25"])
async def test_a_client_that_leaves_in_the_middle_of_its_request_is_no_error(version: str) -> None:
    left: list[Message] = [
        {"type": "http.request", "body": b"{", "more_body": True},
        {"type": "http.disconnect"},
    ]
    sent: list[Message] = []
    incoming = iter(left)

    async def receive() -> Message:
        return next(incoming, left[-1])

    async def send(message: Message) -> None:
        sent.append(message)

    headers = {
        "host": "127.0.0.1:8000",
        "content-type": "application/json",
        "accept": "application/json, text/event-stream",
        "mcp-protocol-version": version,
    }
    scope = {
        "type": "http",
        "method": "POST",
        "path": "/mcp",
        "query_string": b"",
        "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
    }
    app = _discovery().streamable_http_app()
    async with app.router.lifespan_context(app):
        await app(scope, receive, send)
    assert not [message for message in sent if message.get("status") == 200]


async def test_a_wrapper_may_be_a_function_without_tokens_too() -> None:
    def around(inner: ASGIApp) -> ASGIApp:
        async def wrapper(scope: Scope, receive: Receive, send: Send) -> None:
            await inner(scope, receive, send)

        return wrapper

    async with _serving(_discovery().streamable_http_app(HttpOptions(around=around))) as http:
        assert (await _open(http)).status_code == 403


async def test_routes_a_wrapper_and_a_context_of_the_apps_own_have_their_places() -> None:
    events: list[str] = []

    @asynccontextmanager
    async def beside() -> AsyncIterator[None]:
        events.append("begun")
        yield
        events.append("over")

    def around(inner: ASGIApp) -> ASGIApp:
        async def wrapper(scope: Scope, receive: Receive, send: Send) -> None:
            events.append("wrapped")
            await inner(scope, receive, send)

        return wrapper

    async def health(_request: Request) -> PlainTextResponse:
        return PlainTextResponse("ok")

    options = HttpOptions(routes=[Route("/health", health)], around=around, beside=beside)
    async with _serving(_discovery().streamable_http_app(options, auth=AUTH)) as http:
        assert (await http.get("/health")).text == "ok"
        assert (await _open(http)).status_code == 401
        assert events == ["begun"]
        assert (await _open(http, **bearer("alice-deploy"))).status_code == 200
        assert (await _open(http, "/mcp/", **bearer("alice-deploy"))).status_code == 404
    assert events == ["begun", "wrapped", "over"]


@pytest.mark.parametrize(("listening_on", "status"), [("127.0.0.1", 421), ("::1", 421), ("0.0.0.0", 403)])
async def test_on_a_loopback_address_a_foreign_host_name_is_refused(listening_on: str, status: int) -> None:
    app = _discovery().streamable_http_app(HttpOptions(host=listening_on))
    async with _serving(app, "rebound.example") as http:
        assert (await _open(http)).status_code == status


def test_an_app_needs_an_attached_server() -> None:
    with pytest.raises(ValueError, match=r"call discovery\.attach\(server\) first"):
        AgentDiscovery(AgentRegistry()).streamable_http_app()


@pytest.mark.parametrize(
    "wrong",
    [
        {"authorization_servers": []},
        {"authorization_servers": "http://127.0.0.1"},
        {"authorization_servers": ["nowhere"]},
        {"resource_url": "/mcp"},
    ],
)
def test_bearer_auth_says_which_url_is_none(wrong: dict[str, Any]) -> None:
    good = {"verifier": TableVerifier(), "resource_url": "http://a/mcp", "authorization_servers": ["http://a"]}
    with pytest.raises(ValueError, match="BearerAuth"):
        BearerAuth(**{**good, **wrong})


def test_a_path_begins_with_a_slash() -> None:
    with pytest.raises(ValueError, match="write '/mcp'"):
        HttpOptions(path="mcp")
