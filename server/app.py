"""The demo server as an ASGI app: wiring, and nothing but wiring.

Owns which part sits around which. It leaves the parts to the SDK, `agent_discovery.server` and this package's other
modules, and the running of it to `embedded`.
"""

import ipaddress
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, get_args

import anyio
from mcp.server.auth.middleware.auth_context import AuthContextMiddleware
from mcp.server.auth.middleware.bearer_auth import BearerAuthBackend, RequireAuthMiddleware
from mcp.server.auth.routes import build_resource_metadata_url, create_protected_resource_routes
from mcp.server.caching import CacheHint
from mcp.server.lowlevel import Server
from mcp.server.streamable_http_manager import StreamableHTTPASGIApp, StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from pydantic import AnyHttpUrl
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.authentication import AuthenticationMiddleware
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from agent_discovery.server import AgentDiscovery, AgentRegistry
from agent_discovery.server.negotiation import ServedVersions
from server.published import Published
from server.reload import RosterReload, RosterSource
from server.roster import BUILT_IN
from server.wires import OneWire, Wire

__all__ = ["MCP_PATH", "DemoApp", "Settings", "build_app", "build_server"]

MCP_PATH: Final = "/mcp"
_LOOPBACK: Final = ("127.0.0.1", "localhost", "[::1]")
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
    server, discovery = build_server(published, settings.extension_versions)
    manager = StreamableHTTPSessionManager(
        server,
        json_response=settings.json_response,
        security_settings=_security(settings.host),
        session_idle_timeout=30 * 60,
        max_sessions=1_000,
    )
    resource = AnyHttpUrl(f"{base_url}{MCP_PATH}")
    metadata_url = build_resource_metadata_url(resource)
    transport = discovery.edge(StreamableHTTPASGIApp(manager), resource_metadata_url=str(metadata_url))
    if settings.wire != "dual":
        transport = OneWire(transport, settings.wire)

    @asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncIterator[None]:
        async with manager.run(), anyio.create_task_group() as tasks:
            if reload is not None:
                tasks.start_soon(reload.run)
            yield
            tasks.cancel_scope.cancel()

    asgi = Starlette(
        routes=[
            Route(MCP_PATH, endpoint=RequireAuthMiddleware(transport, [], metadata_url)),
            Route("/healthz", endpoint=_healthz, methods=["GET"]),
            *create_protected_resource_routes(
                resource, [AnyHttpUrl(base_url)], scopes_supported=list(published.scopes)
            ),
        ],
        middleware=[
            Middleware(AuthenticationMiddleware, backend=BearerAuthBackend(published.verifier)),
            Middleware(AuthContextMiddleware),
        ],
        lifespan=lifespan,
    )
    # One spelling of each path: a redirect from a trailing slash would answer before anybody asked for a token.
    asgi.router.redirect_slashes = False
    return DemoApp(asgi, published.registry, discovery, reload)


async def _healthz(_request: Request) -> JSONResponse:
    return JSONResponse({"status": "ok"})


def _security(host: str) -> TransportSecuritySettings | None:
    """Protection against DNS rebinding where only this machine is meant to connect, as the SDK has it by default."""
    if host != "localhost" and not _is_loopback(host):
        return None
    return TransportSecuritySettings(
        enable_dns_rebinding_protection=True,
        allowed_hosts=[f"{name}:*" for name in _LOOPBACK],
        allowed_origins=[f"http://{name}:*" for name in _LOOPBACK],
    )


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
