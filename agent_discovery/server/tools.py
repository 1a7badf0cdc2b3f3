"""Tools as one caller sees them: `tools/list` filtered, `tools/call` admitted or refused, and an agent's tools.

Owns the application of the registry's tool policies to the core methods. It leaves the policies to `registry`, the
tools to the server, and never holds a definition of its own: an agent's tools are cut from the caller's own
`tools/list`.
"""

import logging
from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import replace
from typing import Any, Final

from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.shared.exceptions import MCPError

from agent_discovery.server import signposts
from agent_discovery.server.access import Scopes
from agent_discovery.server.agents import AgentDef
from agent_discovery.server.registry import AgentRegistry
from agent_discovery.server.stepup import StepUpRequired
from agent_discovery.wire import INTERNAL_ERROR, INVALID_AGENT_DEFINITION, INVALID_PARAMS

__all__ = ["TOOL_NOT_FOUND", "ToolDoor"]

_logger = logging.getLogger(__name__)

TOOL_NOT_FOUND: Final = "tool_not_found"
"""`data.reason` beside -32602: no tool of that name, or this caller may not know of it."""

_MAX_PAGES: Final = 100
"""Pages of `tools/list` to follow; a server whose cursors never end must not hang `agents/get`."""

Catalogue = Callable[[], Awaitable[Collection[str] | None]]


class ToolDoor:
    """Asks the registry about tools, for one server.

    Args:
        registry: where the tool policies are.
        catalogue: gives the server's tools by name as of now, or None where they are not known.
    """

    def __init__(self, registry: AgentRegistry, catalogue: Catalogue) -> None:
        self._registry = registry
        self._catalogue = catalogue

    def filtered(self, listing: HandlerResult, scopes: Scopes) -> HandlerResult:
        """A `tools/list` result without the tools hidden from these scopes."""
        if not isinstance(listing, Mapping) or not self._registry.guards_tools:
            return listing
        tools = [tool for tool in listing.get("tools", ()) if self._sees(tool["name"], scopes)]
        return {**listing, "tools": tools}

    async def visible(self, scopes: Scopes) -> list[str] | None:
        """The names of the tools these scopes may see, or None where the server's tools are not known."""
        names = await self._catalogue()
        return None if names is None else [name for name in names if self._sees(name, scopes)]

    async def admit(self, params: Mapping[str, Any] | None, scopes: Scopes) -> None:
        """Let a `tools/call` pass, or refuse it. Membership in an agent plays no part.

        Raises:
            MCPError: no such tool, as far as this caller may know; the same answer for a hidden one.
            StepUpRequired: the tool is visible, and calling it takes more scope.
        """
        name = (params or {}).get("name")
        names = await self._catalogue()
        if not isinstance(name, str) or names is None:
            return
        access = self._registry.tool_access(name)
        if name not in names or not access.sees(scopes):
            visible = await self.visible(scopes) or []
            raise MCPError(INVALID_PARAMS, signposts.unknown_tool(name, visible), {"reason": TOOL_NOT_FOUND})
        if needed := access.missing(scopes):
            raise StepUpRequired(needed, signposts.insufficient_scope(f"Calling {name}", needed))

    async def tools_of(
        self, agent: AgentDef, scopes: Scopes, ctx: ServerRequestContext[Any, Any], call_next: CallNext
    ) -> list[dict[str, Any]]:
        """The agent's tools, each equal to this caller's `tools/list` entry; one the caller may not see is left out.

        Raises:
            MCPError: the agent names a tool that the server does not have (draft, `invalid_agent_definition`).
        """
        if not agent.tools:
            return []
        listed = await _whole_listing(ctx, call_next)
        known = {*listed, *(await self._catalogue() or ())}
        missing = [tool for tool in agent.tools if tool not in known]
        if missing:
            # Which tool it is, is for the operator: the caller can do nothing with it, and might not be meant to know.
            _logger.error("agent %r names tools this server does not have: %s", agent.name, ", ".join(missing))
            text = signposts.invalid_agent_definition(agent.name)
            raise MCPError(INTERNAL_ERROR, text, {"reason": INVALID_AGENT_DEFINITION})
        return [listed[tool] for tool in agent.tools if tool in listed and self._sees(tool, scopes)]

    def _sees(self, name: str, scopes: Scopes) -> bool:
        return self._registry.tool_access(name).sees(scopes)


async def _whole_listing(ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> dict[str, dict[str, Any]]:
    """What `tools/list` answers to this very caller, over all pages, by name."""
    params: dict[str, Any] = {key: value for key, value in (ctx.params or {}).items() if key == "_meta"}
    tools: dict[str, dict[str, Any]] = {}
    for _ in range(_MAX_PAGES):
        page = await call_next(replace(ctx, method="tools/list", params=params))
        if not isinstance(page, Mapping):
            break
        tools.update((tool["name"], tool) for tool in page.get("tools", ()))
        cursor = page.get("nextCursor")
        if not isinstance(cursor, str):
            return tools
        params = {**params, "cursor": cursor}
    _logger.warning("tools/list did not end within %d pages; the rest is left out", _MAX_PAGES)
    return tools
