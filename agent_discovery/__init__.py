"""Agent discovery for MCP: `agent_discovery.server` publishes agents, `agent_discovery.host` finds and runs them.

This package itself holds only what both sides share (`wire`, `versions`); importing it loads neither side.
"""

from typing import Final

__all__ = ["__version__"]

__version__: Final = "0.1.0"
"""The version of this project, by which its servers and hosts introduce themselves; not that of the extension."""
