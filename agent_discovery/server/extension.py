"""AgentDiscovery: the extension as a server's author meets it.

Owns the two methods and the wiring into an `MCPServer` or a low-level `Server`. It leaves what happens to a message on
its way to `middleware`, and who may see what to `registry`.
"""

import logging
from collections.abc import Collection, Iterable, Sequence
from typing import Any, Final

from mcp.server.context import HandlerResult, ServerRequestContext
from mcp.server.extension import Extension, MethodBinding
from mcp.server.lowlevel import Server
from mcp.server.mcpserver import MCPServer
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler
from mcp.server.transport_security import DEFAULT_MAX_REQUEST_BODY_SIZE
from mcp.shared.exceptions import MCPError
from mcp_types import RequestParams, SubscriptionsListenRequestParams
from starlette.applications import Starlette
from starlette.types import ASGIApp

from agent_discovery.server import signposts
from agent_discovery.server.access import ScopesOf, caller_scopes
from agent_discovery.server.changes import OpenStreams
from agent_discovery.server.cursors import InvalidCursor
from agent_discovery.server.http import BearerAuth, HttpOptions, build_http_app
from agent_discovery.server.ids import RequestIdGuard
from agent_discovery.server.middleware import AttachedContext, DiscoveryMiddleware
from agent_discovery.server.negotiation import ServedVersions
from agent_discovery.server.registry import AgentRegistry
from agent_discovery.server.stepup import StepUpEdge, StepUpRequired
from agent_discovery.server.streams import Closing, StreamReporter
from agent_discovery.server.tools import ToolDoor
from agent_discovery.shapes import AgentDetails
from agent_discovery.versions import Version
from agent_discovery.wire import (
    AGENT_NOT_FOUND,
    AGENTS_GET,
    AGENTS_LIST,
    EXTENSION_ID,
    INTERNAL_ERROR,
    INVALID_PARAMS,
    LISTEN,
)

__all__ = ["AgentDiscovery"]

_logger = logging.getLogger(__name__)

_PLAIN: Final = HttpOptions()


class _ListParams(RequestParams):
    cursor: str | None = None


class _GetParams(RequestParams):
    name: str


class AgentDiscovery(Extension):
    """Publishes the agents of a registry from a server on the official SDK.

    With `MCPServer`: pass it in `extensions=[...]`, then `attach(server)`. With a low-level `Server`: `attach(server)`
    does both. Over HTTP, serve `streamable_http_app()`; whoever builds the app puts `edge(...)` around the SDK's
    transport, inside bearer authentication, so that refusals get their status and change notifications follow the
    token of the stream they go to.

    Args:
        registry: the roster; change it while the server runs, and clients are told.
        scopes_of: the caller's scopes from the HTTP request being served (None without HTTP), for every method and
            stream alike; by default those of the request's bearer token.
        versions: the versions of the extension that the server speaks, one for each major, to be advertised; without
            them it speaks 1.0.0 and advertises none.
        requires_protocol_version: the oldest MCP version the extension is meant for here; advertised, never enforced.

    Raises:
        ValueError: what is given for one of these is something else; the text says how to mend it.

    Source: draft "MCP Agent Discovery Extension"; SEP-2133 for extensions; draft on extension versions.
    """

    identifier = EXTENSION_ID

    def __init__(
        self,
        registry: AgentRegistry,
        *,
        scopes_of: ScopesOf = caller_scopes,
        versions: Iterable[str | Version] | None = None,
        requires_protocol_version: str | None = None,
    ) -> None:
        if not isinstance(registry, AgentRegistry):
            raise ValueError(f"AgentDiscovery needs an AgentRegistry, got {registry!r}; write AgentRegistry([...])")
        self.registry = registry
        self._scopes_of = scopes_of
        self._versions = ServedVersions(versions, requires_protocol_version)
        self._server: Server[Any] | None = None
        self._streams = OpenStreams(registry)
        self._closing = Closing()

    def settings(self) -> dict[str, Any]:
        """What the server advertises for the extension."""
        return {"listChanged": True, **self._versions.advertised()}

    def methods(self) -> Sequence[MethodBinding]:
        """The extension's two methods, served on both wires."""
        return (
            MethodBinding(AGENTS_LIST, _ListParams, self._list),
            MethodBinding(AGENTS_GET, _GetParams, self._get),
        )

    def attach(self, server: MCPServer[Any] | Server[Any]) -> None:
        """Put the extension to work in `server`. Call it once, before the server serves.

        Raises:
            ValueError: attached already; an `MCPServer` built without this extension; a low-level `Server` that has
                the methods already; tool policies without a known tool catalogue, or for tools that are not in it.
        """
        if self._server is not None:
            raise ValueError(
                f"AgentDiscovery.attach(): this extension is attached to {self._server.name!r} already; "
                "make one AgentDiscovery for each server (they may share a registry)"
            )
        lowlevel = self._bind(server)
        if self.registry.guards_tools and self.registry.tool_names() is None and not isinstance(server, MCPServer):
            raise ValueError(
                "AgentDiscovery.attach(): the registry guards tools but does not know which tools there are; "
                "write AgentRegistry(..., tools=[...names...])"
            )
        has_listen = lowlevel.get_request_handler(LISTEN) is not None
        if not has_listen:
            handler = ListenHandler(InMemorySubscriptionBus())
            lowlevel.add_request_handler(LISTEN, SubscriptionsListenRequestParams, handler)
        self._server = lowlevel
        door = ToolDoor(self.registry, self._catalogue_of(server))
        middleware = DiscoveryMiddleware(
            self.registry,
            door,
            settings=self.settings(),
            versions=self._versions,
            scopes_of=self._scopes_of,
            streams=self._streams,
            promises_core_changes=has_listen,
        )
        # Outermost, so that an agent's tools come from a `tools/list` that every other middleware has had its say in.
        lowlevel.middleware.insert(0, middleware)

    def edge(
        self,
        app: ASGIApp,
        *,
        resource_metadata_url: str | None = None,
        max_body_size: int = DEFAULT_MAX_REQUEST_BODY_SIZE,
    ) -> ASGIApp:
        """Wrap the SDK's transport for HTTP. Goes inside the middleware that authenticates.

        Args:
            app: the transport, such as `StreamableHTTPASGIApp(session_manager)`.
            resource_metadata_url: goes into challenges (RFC 9728).
            max_body_size: bytes; the transport's own limit.
        """
        watched = StreamReporter(app, streams=self._streams, scopes_of=self._scopes_of, closing=self._closing)
        guarded = RequestIdGuard(watched, max_body_size=max_body_size)
        return StepUpEdge(guarded, resource_metadata_url=resource_metadata_url)

    def streamable_http_app(self, options: HttpOptions = _PLAIN, *, auth: BearerAuth | None = None) -> Starlette:
        """The attached server as a Starlette app, with the edge in its place.

        Args:
            options: path, address and limits.
            auth: who may come in; None lets everyone in, with no scopes unless `scopes_of` gives some.

        Raises:
            ValueError: the extension is not attached yet.
        """
        if self._server is None:
            raise ValueError(
                "AgentDiscovery.streamable_http_app(): there is no server yet; call discovery.attach(server) first"
            )

        def edge(app: ASGIApp, metadata_url: str | None) -> ASGIApp:
            return self.edge(app, resource_metadata_url=metadata_url)

        return build_http_app(self._server, edge, auth, options)

    def close(self) -> None:
        """Begin the end of every stream: listen streams get their result frame, GET streams end. Waits for nothing."""
        self._closing.begin()
        entry = self._server.get_request_handler(LISTEN) if self._server is not None else None
        if entry is not None and isinstance(entry.handler, ListenHandler):
            entry.handler.close()

    def _bind(self, server: MCPServer[Any] | Server[Any]) -> Server[Any]:
        """The low-level server, with the extension's methods and settings in it."""
        if isinstance(server, MCPServer):
            # There is no public way from an MCPServer to the low-level server that keeps its handlers.
            lowlevel: Server[Any] = server._lowlevel_server
            entry = lowlevel.get_request_handler(AGENTS_LIST)
            if entry is None or entry.handler != self._list:
                raise ValueError(
                    f"AgentDiscovery.attach(): {server.name!r} was built without this extension; "
                    "write MCPServer(..., extensions=[discovery]) and attach that server"
                )
            return lowlevel
        if not isinstance(server, Server):
            raise ValueError(
                f"AgentDiscovery.attach() takes an MCPServer or a low-level Server, got {server!r}; pass one"
            )
        if server.get_request_handler(AGENTS_LIST) is not None:
            raise ValueError(
                f"AgentDiscovery.attach(): {server.name!r} serves {AGENTS_LIST} already; attach one extension only"
            )
        for method in self.methods():
            server.add_request_handler(method.method, method.params_type, method.handler)
        server.extensions[EXTENSION_ID] = self.settings()
        return server

    def _catalogue_of(self, server: MCPServer[Any] | Server[Any]) -> Any:
        async def catalogue() -> Collection[str] | None:
            names = self.registry.tool_names()
            if names is None and isinstance(server, MCPServer):
                return {tool.name: None for tool in await server.list_tools()}.keys()
            return names

        return catalogue

    async def _list(self, ctx: ServerRequestContext[Any, Any], params: _ListParams) -> HandlerResult:
        _attached(ctx)
        view = self.registry.view(self._scopes_of(ctx.request))
        try:
            return view.page(params.cursor)
        except InvalidCursor as error:
            raise MCPError(INVALID_PARAMS, str(error)) from error

    async def _get(self, ctx: ServerRequestContext[Any, Any], params: _GetParams) -> HandlerResult:
        attached = _attached(ctx)
        scopes = self._scopes_of(ctx.request)
        view = self.registry.view(scopes)
        agent = view.agents.get(params.name)
        if agent is None:
            text = signposts.agent_not_found(params.name, view.names)
            raise MCPError(INVALID_PARAMS, text, {"reason": AGENT_NOT_FOUND})
        if needed := agent.access.missing(scopes):
            raise StepUpRequired(needed, signposts.insufficient_scope(f"Opening {agent.name}", needed))
        tools = await attached.door.tools_of(agent, scopes, attached, attached.call_next)
        return AgentDetails(
            agent=agent.card(),
            instructions=agent.instructions,
            model_routing_hint=agent.model_routing_hint,
            tools=tuple(tools),
            ttl_ms=self.registry.ttl_ms,
            cache_scope="private",
        ).to_wire()


def _attached(ctx: ServerRequestContext[Any, Any]) -> AttachedContext:
    if not isinstance(ctx, AttachedContext):
        _logger.error(signposts.NOT_ATTACHED)
        raise MCPError(INTERNAL_ERROR, "Internal server error")
    return ctx
