"""The REST side door: the roster for clients that speak no MCP.

Owns `GET /v1/agents` and `GET /agent-connect/v1/agents`, whose shape is that of the Agent Connect Framework's agent
discovery, as watsonx Orchestrate reads it. It leaves who sees what to the registry, which `agents/list` asks too, and
who the caller is to the middleware in front of both. Agents are not run through this door, so none of them streams.
"""

from typing import Final
from weakref import WeakKeyDictionary

from mcp.server.transport_security import TransportSecurityMiddleware, TransportSecuritySettings
from pydantic import BaseModel, ConfigDict, Field
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.types import Receive, Scope, Send

from agent_discovery.server import RosterView, caller_scopes
from server.published import Published
from server.roster import Provider

__all__ = ["OPENAPI_PATH", "REST_PATHS", "RestAgent", "RestAgents", "RestDoor"]

REST_PATHS: Final = ("/v1/agents", "/agent-connect/v1/agents")
OPENAPI_PATH: Final = "/openapi.json"

_HEADERS: Final = {"cache-control": "private", "vary": "authorization"}


class _Shape(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class RestProvider(_Shape):
    """Who stands behind an agent."""

    organization: str
    url: str


class RestCapabilities(_Shape):
    """What calling an agent offers."""

    streaming: bool = Field(description="Always false: agents are not run through this door.")


class RestMetadata(_Shape):
    """What the framework has no field for."""

    capabilities: tuple[str, ...] = Field(description="The agent's labels, to route by; not tool names.")


class RestAgent(_Shape):
    """One agent's card."""

    name: str = Field(min_length=1)
    description: str = Field(description="One or two sentences to route by; empty where the agent has none.")
    provider: RestProvider
    version: str
    documentation_url: str
    capabilities: RestCapabilities
    metadata: RestMetadata


class RestAgents(_Shape):
    """All agents that this caller may know of, in the order of `agents/list`."""

    agents: tuple[RestAgent, ...]


class RestDoor:
    """The ASGI endpoint of both paths. Goes inside the middleware that authenticates.

    Args:
        published: what there is.
        base_url: where the server is; goes out where the provider has no URLs of its own.
        security: the same checks of Host and Origin as in front of the MCP endpoint.
    """

    def __init__(self, published: Published, base_url: str, security: TransportSecuritySettings | None) -> None:
        self._published = published
        self._base_url = base_url
        self._security = TransportSecurityMiddleware(security)
        # A view lives as long as the registry's revision; its body goes when it goes.
        self._bodies: WeakKeyDictionary[RosterView, tuple[Provider, bytes]] = WeakKeyDictionary()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        response = await self._security.validate_request(request) or self._answer(request)
        await response(scope, receive, send)

    def _answer(self, request: Request) -> Response:
        if request.method != "GET":
            return PlainTextResponse("Method Not Allowed: use GET", 405, {"allow": "GET"})
        view = self._published.registry.view(caller_scopes())
        return Response(self._body(view), headers=_HEADERS, media_type="application/json")

    def _body(self, view: RosterView) -> bytes:
        provider = self._published.provider
        kept = self._bodies.get(view)
        if kept is None or kept[0] != provider:
            kept = self._bodies[view] = (provider, self._cards(view, provider).model_dump_json().encode())
        return kept[1]

    def _cards(self, view: RosterView, provider: Provider) -> RestAgents:
        shown = RestProvider(organization=provider.organization, url=provider.url or self._base_url)
        return RestAgents(
            agents=tuple(
                RestAgent(
                    name=agent.name,
                    description=agent.description or "",
                    provider=shown,
                    version=provider.version,
                    documentation_url=provider.documentation_url or f"{self._base_url}{OPENAPI_PATH}",
                    capabilities=RestCapabilities(streaming=False),
                    metadata=RestMetadata(capabilities=tuple(agent.capabilities)),
                )
                for agent in view.agents.values()
            )
        )
