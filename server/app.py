"""The demo server as an ASGI app: wiring, and nothing but wiring.

Owns which part sits around which. It leaves the parts to the SDK, `agent_discovery.server` and this package's other
modules, and the running of it to `embedded`.
"""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import anyio
from mcp.server.auth.middleware.bearer_auth import RequireAuthMiddleware
from mcp.server.caching import CacheHint
from mcp.server.lowlevel import Server
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from agent_discovery import __version__
from agent_discovery.server import AgentDiscovery, AgentRegistry, BearerAuth, HttpOptions, rebinding_protection
from server.metadata import ResourceMetadata
from server.openapi import build_openapi
from server.published import Published
from server.reload import RosterReload, RosterSource
from server.rest import OPENAPI_PATH, REST_PATHS, RestDoor
from server.roster import BUILT_IN
from server.settings import MCP_PATH, Settings
from server.wires import OneWire

__all__ = ["DemoApp", "build_app"]


@dataclass(frozen=True)
class DemoApp:
    """The app with what a runner needs beside it; `reload` is there with a roster file only."""

    asgi: Starlette
    registry: AgentRegistry
    discovery: AgentDiscovery
    reload: RosterReload | None


def _build_server(
    published: Published, name: str, versions: tuple[str, ...] = ()
) -> tuple[Server[Any], AgentDiscovery]:
    """The MCP server without a transport: tools and the extension, and no capability that is not served."""
    server: Server[Any] = Server(
        name,
        version=__version__,
        title="Agent discovery demo",
        cache_hints={"tools/list": CacheHint(ttl_ms=published.registry.ttl_ms, scope="private")},
        # No tool of this server mirrors an argument in a header, so there is nothing to validate.
        get_tool_input_schema=lambda _name: None,
    )
    published.shelf.serve_on(server)
    discovery = AgentDiscovery(published.registry, versions=versions or None)
    discovery.attach(server)
    return server, discovery


def _name(settings: Settings) -> str:
    """With another roster it is another server: the walkthrough plays its script only against the built-in one."""
    return "agent-discovery-demo" if settings.roster_file is None else "agent-discovery-roster"


def build_app(settings: Settings, base_url: str) -> DemoApp:
    """The whole demo server.

    Args:
        settings: how it runs.
        base_url: under which clients reach it, without a trailing slash; goes into challenges and metadata.

    Raises:
        RosterFileError: the roster file of the settings is none.
    """
    source = None if settings.roster_file is None else RosterSource(settings.roster_file)
    published = Published(
        BUILT_IN if source is None else source.read(),
        ttl_ms=settings.ttl_ms,
        page_size=settings.page_size,
        synthetic=settings.synthetic,
    )
    seconds = settings.roster_poll_seconds
    reload = None if source is None else RosterReload(source, published, poll_seconds=seconds)
    _server, discovery = _build_server(published, _name(settings), settings.extension_versions)

    @asynccontextmanager
    async def reloading() -> AsyncIterator[None]:
        async with anyio.create_task_group() as tasks:
            if reload is not None:
                tasks.start_soon(reload.run)
            yield
            tasks.cancel_scope.cancel()

    auth = BearerAuth(
        verifier=published.verifier,
        resource_url=f"{base_url}{MCP_PATH}",
        authorization_servers=[base_url],
        scopes=list(published.scopes),
    )
    options = HttpOptions(
        path=MCP_PATH,
        host=settings.host,
        json_response=settings.json_response,
        max_sessions=1_000,
        routes=_routes(published, auth, base_url, settings.host),
        around=lambda app: published.leases.around(app if settings.wire == "dual" else OneWire(app, settings.wire)),
        beside=reloading,
    )
    return DemoApp(discovery.streamable_http_app(options, auth=auth), published.registry, discovery, reload)


def _routes(published: Published, auth: BearerAuth, base_url: str, host: str) -> list[Route]:
    """What is answered beside the MCP endpoint."""
    metadata = ResourceMetadata(published, auth)
    # The same checks as in front of the endpoint, and none that the endpoint does not make.
    door = RequireAuthMiddleware(RestDoor(published, base_url, rebinding_protection(host)), [], auth.metadata_url)
    return [
        Route(metadata.path, endpoint=metadata),
        *(Route(path, endpoint=door) for path in REST_PATHS),
        Route(OPENAPI_PATH, endpoint=_fixed(build_openapi(base_url, metadata.path)), methods=["GET"]),
        Route("/healthz", endpoint=_fixed({"status": "ok"}), methods=["GET"]),
    ]


def _fixed(content: dict[str, Any]) -> Callable[[Request], Awaitable[Response]]:
    """An endpoint that always answers the same."""

    async def answer(_request: Request) -> Response:
        return JSONResponse(content)

    return answer
