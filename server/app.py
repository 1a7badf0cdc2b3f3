"""The demo server as an ASGI app: wiring, and nothing but wiring.

Owns which part sits around which. It leaves the parts to the SDK, `agent_discovery.server` and this package's other
modules, and the running of it to `embedded`.
"""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, get_args

import anyio
from mcp.server.auth.middleware.bearer_auth import RequireAuthMiddleware
from mcp.server.caching import CacheHint
from mcp.server.lowlevel import Server
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from agent_discovery.server import AgentDiscovery, AgentRegistry, BearerAuth, HttpOptions

# The library has no public name for it, and the REST door must make the same checks as the endpoint beside it.
from agent_discovery.server.http import _security as rebinding_protection
from agent_discovery.server.negotiation import ServedVersions
from server.metadata import ResourceMetadata
from server.openapi import build_openapi
from server.published import Published
from server.reload import RosterReload, RosterSource
from server.rest import OPENAPI_PATH, REST_PATHS, RestDoor
from server.roster import BUILT_IN
from server.wires import OneWire, Wire

__all__ = ["MCP_PATH", "DemoApp", "Settings", "build_app", "build_server"]

MCP_PATH: Final = "/mcp"
_LOG_LEVELS: Final = ("debug", "info", "warning", "error", "critical")


@dataclass(frozen=True, kw_only=True)
class Settings:
    """How the demo server runs. The defaults are those of `python -m server`, but for the port.

    Args:
        host: the address to listen on.
        port: 0 takes a free one.
        wire: which of the two wires to serve.
        ttl_ms: milliseconds for which hosts may take lists and details for fresh.
        page_size: cards on a page of `agents/list`.
        synthetic: how many made-up agents to add.
        json_response: whether answers are JSON where possible, or always streams.
        roster_file: another roster than the built-in one; read again when it changes (see `roster_file`, `reload`).
        roster_poll_seconds: how often to look whether it has.
        extension_versions: versions of the extension to advertise and serve; without any it is 1.0.0, unadvertised.
        log_level: the lowest level that is logged.
        shutdown_seconds: how long open requests may take to end when the server does.

    Raises:
        ValueError: a value is out of its range.
    """

    host: str = "127.0.0.1"
    port: int = 0
    wire: Wire = "dual"
    ttl_ms: int = 60_000
    page_size: int = 50
    synthetic: int = 0
    roster_file: Path | None = None
    roster_poll_seconds: float = 1.0
    json_response: bool = True
    extension_versions: tuple[str, ...] = ()
    log_level: str = "warning"
    shutdown_seconds: int = 2

    def __post_init__(self) -> None:
        if self.wire not in get_args(Wire):
            raise ValueError(f"Settings.wire must be one of {', '.join(get_args(Wire))}, got {self.wire!r}")
        if self.log_level not in _LOG_LEVELS:
            raise ValueError(f"Settings.log_level must be one of {', '.join(_LOG_LEVELS)}, got {self.log_level!r}")
        for name, least, most in (
            ("port", 0, 65_535),
            ("ttl_ms", 0, None),
            ("page_size", 1, None),
            ("synthetic", 0, 99_999),
            ("shutdown_seconds", 1, None),
            ("roster_poll_seconds", 0.01, None),
        ):
            value = getattr(self, name)
            if value < least or (most is not None and value > most):
                raise ValueError(f"Settings.{name} must be {least} to {most or 'any'}, got {value!r}")
        ServedVersions(self.extension_versions or None)


@dataclass(frozen=True)
class DemoApp:
    """The app with what a runner needs beside it; `reload` is there with a roster file only."""

    asgi: Starlette
    registry: AgentRegistry
    discovery: AgentDiscovery
    reload: RosterReload | None


def build_server(published: Published, versions: tuple[str, ...] = ()) -> tuple[Server[Any], AgentDiscovery]:
    """The MCP server without a transport: tools and the extension, and no capability that is not served."""
    server: Server[Any] = Server(
        "agent-discovery-demo",
        version="0.1.0",
        title="Agent discovery demo",
        cache_hints={"tools/list": CacheHint(ttl_ms=published.registry.ttl_ms, scope="private")},
        # No tool of this server mirrors an argument in a header, so there is nothing to validate.
        get_tool_input_schema=lambda _name: None,
    )
    published.shelf.serve_on(server)
    discovery = AgentDiscovery(published.registry, versions=versions or None)
    discovery.attach(server)
    return server, discovery


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
    _server, discovery = build_server(published, settings.extension_versions)

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
    metadata = ResourceMetadata(published, auth)
    door = RestDoor(published, base_url, rebinding_protection(settings.host))
    options = HttpOptions(
        path=MCP_PATH,
        host=settings.host,
        json_response=settings.json_response,
        max_sessions=1_000,
        routes=[
            Route(metadata.path, endpoint=metadata),
            *(Route(path, endpoint=RequireAuthMiddleware(door, [], auth.metadata_url)) for path in REST_PATHS),
            Route(OPENAPI_PATH, endpoint=_fixed(build_openapi(base_url, metadata.path)), methods=["GET"]),
            Route("/healthz", endpoint=_fixed({"status": "ok"}), methods=["GET"]),
        ],
        around=lambda app: published.leases.around(app if settings.wire == "dual" else OneWire(app, settings.wire)),
        beside=reloading,
    )
    return DemoApp(discovery.streamable_http_app(options, auth=auth), published.registry, discovery, reload)


def _fixed(content: dict[str, Any]) -> Callable[[Request], Awaitable[Response]]:
    """An endpoint that always answers the same."""

    async def answer(_request: Request) -> Response:
        return JSONResponse(content)

    return answer
