"""The draft's shapes: what `agents/list` and `agents/get` answer with, as Pydantic models.

Both sides read and write them; the names beside them are in `wire`. Source: MCP Agents working group, "MCP Agent
Discovery Extension" (agents-wg pull request 22).
"""

from typing import Any

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from .wire import CacheScope, ModelRole

__all__ = ["AgentCard", "AgentDetails", "AgentPage", "ModelRoutingHint"]


class _Shape(BaseModel):
    """camelCase on the wire, snake_case in Python; members that are not ours are kept, not refused."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, extra="allow", frozen=True)

    def to_wire(self) -> dict[str, Any]:
        """The JSON object that travels; members without a value are left out."""
        return self.model_dump(by_alias=True, mode="json", exclude_none=True)


class AgentCard(_Shape):
    """One entry of the roster: what a host routes by, and nothing else (draft, `agents/list`)."""

    name: str = Field(min_length=1)
    description: str | None = None
    capabilities: tuple[str, ...] = ()
    """Labels for routing. They are not tool names."""


class AgentPage(_Shape):
    """The result of `agents/list`: one page of cards in registration order."""

    agents: tuple[AgentCard, ...]
    next_cursor: str | None = None
    ttl_ms: int
    """Milliseconds, counted by the host from receipt, for which the answer counts as fresh."""
    cache_scope: CacheScope


class ModelRoutingHint(_Shape):
    """Advice on the model that should run this agent; a host may ignore it (draft, `modelRoutingHint`)."""

    role: ModelRole | None = None
    vision: bool = False


class AgentDetails(_Shape):
    """The result of `agents/get`: all that a host needs in order to run the agent itself."""

    agent: AgentCard
    instructions: str | None = None
    model_routing_hint: ModelRoutingHint | None = None
    tools: tuple[dict[str, Any], ...]
    """Each equals the same caller's `tools/list` entry in every field."""
    ttl_ms: int
    cache_scope: CacheScope

    def to_wire(self) -> dict[str, Any]:
        """The JSON object that travels. Tools go as they came: a `null` inside a schema means something."""
        return {**super().to_wire(), "tools": [dict(tool) for tool in self.tools]}
