"""For people who write MCP servers: publish agents from a server on the official SDK.

Owns nothing; it names what the modules of this package offer.
"""

from agent_discovery.server.access import (
    OPEN_TO_ALL,
    Access,
    Scopes,
    ScopesOf,
    VisibilityRule,
    caller_scopes,
    everyone,
    holders_of,
)
from agent_discovery.server.agents import AgentDef
from agent_discovery.server.cursors import InvalidCursor
from agent_discovery.server.extension import AgentDiscovery
from agent_discovery.server.http import BearerAuth, HttpOptions, rebinding_protection
from agent_discovery.server.middleware import can_use_agents
from agent_discovery.server.registry import AgentRegistry
from agent_discovery.server.stepup import StepUpEdge, StepUpRequired
from agent_discovery.server.views import RosterView
from agent_discovery.shapes import ModelRoutingHint

__all__ = [
    "OPEN_TO_ALL",
    "Access",
    "AgentDef",
    "AgentDiscovery",
    "AgentRegistry",
    "BearerAuth",
    "HttpOptions",
    "InvalidCursor",
    "ModelRoutingHint",
    "RosterView",
    "Scopes",
    "ScopesOf",
    "StepUpEdge",
    "StepUpRequired",
    "VisibilityRule",
    "caller_scopes",
    "can_use_agents",
    "everyone",
    "holders_of",
    "rebinding_protection",
]
