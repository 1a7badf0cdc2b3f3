"""What happens to each message on its way to the server's handlers.

Owns the order of things: which method gets which treatment, and what becomes of a refusal. It leaves the treatments to
`tools`, `changes`, `signposts` and `stepup`, and the extension's own two methods to `extension`.
"""

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.session import ServerSession
from mcp.shared.exceptions import MCPError
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
from pydantic import ValidationError

from agent_discovery.server import signposts
from agent_discovery.server.access import ScopesOf
from agent_discovery.server.changes import Follower, OpenStreams, follow_session, serve_listen
from agent_discovery.server.negotiation import Declaration, ServedVersions, VersionNotSupported
from agent_discovery.server.registry import AgentRegistry
from agent_discovery.server.stepup import StepUpRequired, TrueAnswer, answer_with, at_edge, opens_no_session
from agent_discovery.server.tools import ToolDoor
from agent_discovery.wire import (
    AGENTS_GET,
    AGENTS_LIST,
    CLIENT_CAPABILITIES_META_KEY,
    EXTENSION_ID,
    INTERNAL_ERROR,
    INVALID_PARAMS,
    LISTEN,
    LISTEN_FILTER_KEY,
)

__all__ = ["AttachedContext", "DiscoveryMiddleware", "can_use_agents"]

_logger = logging.getLogger(__name__)

Context = ServerRequestContext[Any, Any]


@dataclass(kw_only=True)
class AttachedContext(ServerRequestContext[Any, Any]):
    """The context of a request for one of the extension's methods or for a tool.

    `call_next` is the way on to the server's other methods, which the SDK gives to no extension's handler: `agents/get`
    needs `tools/list` as this caller would get it. `usable` is whether this client can use the extension here.
    """

    door: ToolDoor
    call_next: CallNext
    usable: bool


def can_use_agents(ctx: Context) -> bool:
    """For a tool whose result names a next move: whether this client can call `agents/list` and `agents/get` here."""
    return isinstance(ctx, AttachedContext) and ctx.usable


class DiscoveryMiddleware:
    """The one middleware of the extension.

    Args:
        registry: the roster.
        door: the server's tools.
        settings: what the extension advertises.
        versions: the versions of the extension that are served.
        scopes_of: the caller's scopes, from the HTTP request.
        streams: the GET streams that are open.
        promises_core_changes: whether the server really sends the core's change notifications to listen streams.
    """

    def __init__(
        self,
        registry: AgentRegistry,
        door: ToolDoor,
        *,
        settings: Mapping[str, Any],
        versions: ServedVersions,
        scopes_of: ScopesOf,
        streams: OpenStreams,
        promises_core_changes: bool,
    ) -> None:
        self._registry = registry
        self._door = door
        self._settings = settings
        self._versions = versions
        self._scopes_of = scopes_of
        self._streams = streams
        self._promises_core_changes = promises_core_changes
        self._followed: set[object] = set()

    async def __call__(self, ctx: Context, call_next: CallNext) -> HandlerResult:
        """Serve one message; refusals get their true HTTP status, and surprises keep their text to the log."""
        try:
            return await self._serve(ctx, call_next)
        except StepUpRequired as refusal:
            answer_with(ctx, TrueAnswer.step_up(refusal))
            raise
        except VersionNotSupported as refusal:
            answer_with(ctx, TrueAnswer.error(400, ctx.request_id, refusal))
            raise
        except ValidationError as error:
            # Settings that are no object break MCP's own schema, and the SDK's refusal would not say so.
            declaration = _declaration(ctx)
            if declaration.made:
                declaration.check_shape()
            text = signposts.wrong_params(ctx.method)
            if text is not None:
                raise MCPError(INVALID_PARAMS, text) from error
            raise
        except MCPError:
            raise
        except Exception as error:  # the boundary to the wire, where the SDK would send the exception's own text
            _logger.exception("serving %s raised", ctx.method)
            raise MCPError(INTERNAL_ERROR, "Internal server error") from error

    async def _serve(self, ctx: Context, call_next: CallNext) -> HandlerResult:
        match ctx.method:
            case "initialize":
                return await self._open(ctx, call_next)
            case "server/discover":
                return await self._introduce(ctx, await call_next(ctx))
            case "notifications/initialized":
                await call_next(ctx)
                await self._follow(ctx)
                return None
            case "tools/list":
                return self._door.filtered(await call_next(ctx), self._scopes_of(ctx.request))
            case "tools/call":
                await self._door.admit(ctx.params, self._scopes_of(ctx.request))
                usable = self._versions.meets(_declaration(ctx))
                return await call_next(self._attached(ctx, call_next, usable=usable))
            case m if m == LISTEN and _asks_for_agents(ctx) and _declaration(ctx).made:
                # Once, for as long as the stream lives; all it carries is in every version, so none is above this one.
                self._versions.negotiate(_declaration(ctx))
                return await self._listen(ctx, call_next)
            case m if m in (AGENTS_LIST, AGENTS_GET):
                self._versions.negotiate(_declaration(ctx))
                return await call_next(self._attached(ctx, call_next, usable=True))
            case _:
                return await call_next(ctx)

    async def _open(self, ctx: Context, call_next: CallNext) -> HandlerResult:
        try:
            return await self._introduce(ctx, await call_next(ctx))
        except Exception:  # whatever refused it, raised again below: there is no session to keep
            opens_no_session(ctx)
            raise

    async def _introduce(self, ctx: Context, result: HandlerResult) -> HandlerResult:
        """Complete the answer to `initialize` or `server/discover` for this client."""
        if not isinstance(result, Mapping):
            return result
        # To whoever speaks another major, the two methods are as closed as to whoever did not declare the extension.
        usable = self._versions.meets(_declaration(ctx))
        tools = None if usable else await self._door.visible(self._scopes_of(ctx.request))
        text = signposts.instructions_for(declared=usable, tools=tools, own=result.get("instructions"))
        capabilities = dict(result.get("capabilities") or {})
        # The SDK leaves `extensions` out of the answers of the handshake versions.
        capabilities["extensions"] = {**(capabilities.get("extensions") or {}), EXTENSION_ID: dict(self._settings)}
        if not self._promises_core_changes:
            # The SDK takes a listen handler for the promise of all change notifications; ours is there for agents.
            for name in ("tools", "prompts", "resources"):
                if name in capabilities:
                    unsent = {"listChanged", "subscribe"}
                    capabilities[name] = {k: v for k, v in capabilities[name].items() if k not in unsent}
        return {**result, "capabilities": capabilities, "instructions": text}

    async def _listen(self, ctx: Context, call_next: CallNext) -> HandlerResult:
        def serve(session: ServerSession) -> Any:
            return call_next(replace(ctx, session=session))

        return await serve_listen(ctx, self._registry, self._scopes_of(ctx.request), serve)

    async def _follow(self, ctx: Context) -> None:
        """Tell the session that this message completes of changes, for as long as it lives.

        The SDK runs each notification in a task of its own and cancels it when the connection ends, so staying here is
        how to live as long as the session; the SDK has no list of sessions to notify.
        """
        if ctx.protocol_version not in HANDSHAKE_PROTOCOL_VERSIONS or not self._versions.meets(_declaration(ctx)):
            return
        session_id = ctx.request.headers.get("mcp-session-id") if ctx.request is not None else None
        key = session_id if session_id is not None else id(ctx.session.client_params)
        if key in self._followed:
            return
        self._followed.add(key)
        try:
            await follow_session(ctx.session, self._registry, self._listener(ctx, session_id))
        finally:
            self._followed.discard(key)

    def _attached(self, ctx: Context, call_next: CallNext, *, usable: bool) -> AttachedContext:
        values = {field.name: getattr(ctx, field.name) for field in fields(ctx)}
        return AttachedContext(**values, door=self._door, call_next=call_next, usable=usable)

    def _listener(self, ctx: Context, session_id: str | None) -> Callable[[], Follower | None]:
        if session_id is not None and at_edge(ctx):
            return lambda: self._streams.follower(session_id)
        # Nobody reports GET streams here (stdio, or no edge): the caller who opened the session is who listens.
        follower = Follower(self._registry, self._scopes_of(ctx.request))
        return lambda: follower


def _declaration(ctx: Context) -> Declaration:
    """What this client declared: in `initialize` for a whole session, and in each request of the stateless wire.

    It is read as it came where that is at hand: the SDK takes mis-shaped capabilities for none.
    """
    params = ctx.params or {}
    if ctx.method == "initialize":
        return Declaration.within(params.get("capabilities"))
    if ctx.protocol_version not in HANDSHAKE_PROTOCOL_VERSIONS:
        meta = params.get("_meta")
        return Declaration.within(meta.get(CLIENT_CAPABILITIES_META_KEY) if isinstance(meta, Mapping) else None)
    capabilities = ctx.session.client_capabilities
    return Declaration.within({"extensions": capabilities.extensions} if capabilities is not None else None)


def _asks_for_agents(ctx: Context) -> bool:
    """Whether a listen request is one for agent changes; on the session wire there is no such request."""
    if ctx.protocol_version in HANDSHAKE_PROTOCOL_VERSIONS:
        return False
    wanted = (ctx.params or {}).get("notifications")
    return isinstance(wanted, Mapping) and wanted.get(LISTEN_FILTER_KEY) is True
