"""Agent discovery for MCP: `agent_discovery.server` publishes agents, `agent_discovery.host` finds and runs them.

This package itself holds only what both sides share (`wire`); importing it loads neither side.
"""
