"""The official SDK's client as a source of agents: `AgentCache`, `watch_list_changed` and `step_up` work on it.

The only part of the host side that imports `mcp`, so it is imported by its own name. Written against `mcp` 2.3.
"""

from .extension import AgentsExtension, agents_extension
from .source import ClientSource, adapt

__all__ = ["AgentsExtension", "ClientSource", "adapt", "agents_extension"]
