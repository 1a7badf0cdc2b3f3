"""The extension's server as an HTTP app: the SDK's transport with the edge around it, with or without bearer tokens.

Owns the order of the layers: authentication, then the edge, then the transport. It leaves each layer to the SDK,
`stepup` and `streams`, and running the app to whoever asked for it.
"""

import ipaddress
import logging
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from dataclasses import dataclass
from typing import Any, Final

from mcp.server.auth.middleware.auth_context import AuthContextMiddleware
from mcp.server.auth.middleware.bearer_auth import BearerAuthBackend, RequireAuthMiddleware
from mcp.server.auth.provider import TokenVerifier
from mcp.server.auth.routes import build_resource_metadata_url, create_protected_resource_routes
from mcp.server.lowlevel import Server
from mcp.server.streamable_http_manager import StreamableHTTPASGIApp, StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from pydantic import AnyHttpUrl, TypeAdapter, ValidationError
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.authentication import AuthenticationMiddleware
from starlette.requests import ClientDisconnect
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp, Receive, Scope, Send

__all__ = ["BearerAuth", "HttpOptions", "build_http_app", "rebinding_protection"]

_log = logging.getLogger(__name__)

_LOOPBACK: Final = ("127.0.0.1", "localhost", "[::1]")
_URL: Final = TypeAdapter(AnyHttpUrl)


@dataclass(frozen=True, kw_only=True)
class BearerAuth:
    """Callers come with bearer tokens, as MCP authorization has it; without a known one there is 401.

    Args:
        verifier: says what a token stands for. Its `subject` must be the user: a session belongs to that user, whose
            other tokens may use it too, which is what a step-up on an open session takes.
        resource_url: the URL under which clients reach the MCP endpoint.
        authorization_servers: the URLs of those who issue the tokens.
        scopes: what the metadata document lists (RFC 9728, `scopes_supported`).

    Raises:
        ValueError: one of the URLs is none, or there is no authorization server.
    """

    verifier: TokenVerifier
    resource_url: str
    authorization_servers: Sequence[str]
    scopes: Sequence[str] = ()

    def __post_init__(self) -> None:
        if isinstance(self.authorization_servers, str) or not self.authorization_servers:
            raise ValueError(
                f"BearerAuth.authorization_servers must be a list of URLs, got {self.authorization_servers!r}; "
                "name who issues the tokens"
            )
        for url in (self.resource_url, *self.authorization_servers):
            try:
                _URL.validate_python(url)
            except ValidationError as error:
                raise ValueError(f"BearerAuth: {url!r} is not an http(s) URL; write it in full") from error

    @property
    def metadata_url(self) -> AnyHttpUrl:
        """Where the protected-resource metadata document is (RFC 9728)."""
        return build_resource_metadata_url(_URL.validate_python(self.resource_url))

    def metadata_routes(self) -> list[Route]:
        """The metadata document, which is served without a token."""
        issuers = [_URL.validate_python(url) for url in self.authorization_servers]
        resource = _URL.validate_python(self.resource_url)
        return create_protected_resource_routes(resource, issuers, scopes_supported=list(self.scopes))


@dataclass(frozen=True, kw_only=True)
class HttpOptions:
    """How the app is served.

    Args:
        path: of the MCP endpoint, with its slash.
        host: the address it will listen on: on a loopback address requests must name one (DNS rebinding).
        json_response: whether answers are JSON where possible, or always streams.
        max_sessions: how many sessions may be open at once.
        session_idle_timeout: seconds after which a session that nobody uses ends.
        routes: of the app's own, such as a health check; behind authentication only where they ask for it.
        around: wraps the endpoint inside authentication.
        beside: makes a context that is open for as long as the app runs.

    Raises:
        ValueError: the path does not begin with a slash.
    """

    path: str = "/mcp"
    host: str = "127.0.0.1"
    json_response: bool = True
    max_sessions: int = 10_000
    session_idle_timeout: float = 30 * 60
    routes: Sequence[BaseRoute] = ()
    around: Callable[[ASGIApp], ASGIApp] = lambda app: app
    beside: Callable[[], AbstractAsyncContextManager[object]] = nullcontext

    def __post_init__(self) -> None:
        if not self.path.startswith("/"):
            raise ValueError(f"HttpOptions.path must begin with a slash, got {self.path!r}; write {'/' + self.path!r}")


def build_http_app(
    server: Server[Any], edge: Callable[[ASGIApp, str | None], ASGIApp], auth: BearerAuth | None, options: HttpOptions
) -> Starlette:
    """The app. `edge` wraps the transport, given the URL of the metadata document if there is one."""
    manager = StreamableHTTPSessionManager(
        server,
        json_response=options.json_response,
        security_settings=rebinding_protection(options.host),
        session_idle_timeout=options.session_idle_timeout,
        max_sessions=options.max_sessions,
    )
    endpoint = options.around(edge(StreamableHTTPASGIApp(manager), str(auth.metadata_url) if auth else None))
    middleware: list[Middleware] = []
    routes: list[BaseRoute] = [*options.routes]
    if auth is not None:
        endpoint = RequireAuthMiddleware(endpoint, [], auth.metadata_url)
        routes += auth.metadata_routes()
        middleware += [
            Middleware(AuthenticationMiddleware, backend=BearerAuthBackend(auth.verifier)),
            Middleware(AuthContextMiddleware),
        ]

    @asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncIterator[None]:
        async with manager.run(), options.beside():
            yield

    app = Starlette(
        routes=[Route(options.path, endpoint=_Endpoint(endpoint)), *routes], middleware=middleware, lifespan=lifespan
    )
    # One spelling of each path: a redirect from a trailing slash would answer before anybody asked for a token.
    app.router.redirect_slashes = False
    return app


class _Endpoint:
    """The endpoint as a route takes it: no function, which the route would call with a request and not as ASGI."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await self._app(scope, receive, send)
        except ClientDisconnect:
            # Out of the SDK's transport where a client leaves in the middle of its request: no fault of this server's.
            _log.debug("a client left before its request was complete")


def rebinding_protection(host: str) -> TransportSecuritySettings | None:
    """The checks of Host and Origin in front of the endpoint: on where only this machine is meant to connect.

    As the SDK has it by default. For routes beside the endpoint that should make the same checks.
    """
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
