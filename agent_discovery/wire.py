"""The draft's vocabulary: identifiers, error codes and reasons. The shapes that travel are in `shapes`.

Owns every name that host and server must agree on. It imports neither side, no MCP SDK and nothing else, so that a
program that only needs the names starts at once. Source: MCP Agents working group, "MCP Agent Discovery Extension"
(agents-wg pull request 22); the error codes that are not the draft's are those of MCP 2026-07-28.
"""

from collections.abc import Mapping
from typing import Any, Final, Literal

__all__ = [
    "AGENTS_GET",
    "AGENTS_LIST",
    "AGENT_NOT_FOUND",
    "CLIENT_CAPABILITIES_META_KEY",
    "CLIENT_INFO_META_KEY",
    "EXTENSION_ID",
    "EXTENSION_VERSION_NOT_SUPPORTED",
    "HEADER_MISMATCH",
    "INTERNAL_ERROR",
    "INVALID_AGENT_DEFINITION",
    "INVALID_PARAMS",
    "INVALID_REQUEST",
    "LISTEN",
    "LISTEN_ACKNOWLEDGED",
    "LISTEN_FILTER_KEY",
    "LIST_CHANGED",
    "METHOD_NOT_FOUND",
    "MISSING_CLIENT_CAPABILITY",
    "PROTOCOL_VERSION_META_KEY",
    "PROTOCOL_VERSION_NOT_SUPPORTED",
    "SESSION_PROTOCOL_VERSION",
    "STATELESS_PROTOCOL_VERSION",
    "SUBSCRIPTION_ID_META_KEY",
    "CacheScope",
    "ModelRole",
    "extension_settings",
]

EXTENSION_ID: Final = "io.modelcontextprotocol/agents"

AGENTS_LIST: Final = "agents/list"
AGENTS_GET: Final = "agents/get"
LIST_CHANGED: Final = "notifications/agents/list_changed"

SESSION_PROTOCOL_VERSION: Final = "2025-11-25"
"""The newest protocol version that opens with `initialize` and keeps a session."""
STATELESS_PROTOCOL_VERSION: Final = "2026-07-28"
"""The protocol version in which every request stands alone."""

PROTOCOL_VERSION_META_KEY: Final = "io.modelcontextprotocol/protocolVersion"
CLIENT_INFO_META_KEY: Final = "io.modelcontextprotocol/clientInfo"
CLIENT_CAPABILITIES_META_KEY: Final = "io.modelcontextprotocol/clientCapabilities"

LISTEN: Final = "subscriptions/listen"
LISTEN_ACKNOWLEDGED: Final = "notifications/subscriptions/acknowledged"
LISTEN_FILTER_KEY: Final = "agentsListChanged"
SUBSCRIPTION_ID_META_KEY: Final = "io.modelcontextprotocol/subscriptionId"

INVALID_REQUEST: Final = -32600
METHOD_NOT_FOUND: Final = -32601
INVALID_PARAMS: Final = -32602
INTERNAL_ERROR: Final = -32603
EXTENSION_VERSION_NOT_SUPPORTED: Final = -32005
HEADER_MISMATCH: Final = -32020
MISSING_CLIENT_CAPABILITY: Final = -32021
PROTOCOL_VERSION_NOT_SUPPORTED: Final = -32022

AGENT_NOT_FOUND: Final = "agent_not_found"
"""`data.reason` beside -32602: the name was never registered, or this caller may not know of it."""
INVALID_AGENT_DEFINITION: Final = "invalid_agent_definition"
"""`data.reason` beside -32603: the agent names a tool that the server does not have."""

CacheScope = Literal["public", "private"]
ModelRole = Literal["small", "medium", "large"]


def extension_settings(capabilities: object) -> Mapping[str, Any] | None:
    """What a peer declared for this extension inside its `capabilities` object.

    Returns the settings (empty where the peer declared the extension without any), or None where it did not declare
    the extension: then none of the two methods may be called (draft, "Negotiation").
    """
    if not isinstance(capabilities, Mapping):
        return None
    extensions = capabilities.get("extensions")
    if not isinstance(extensions, Mapping) or EXTENSION_ID not in extensions:
        return None
    settings = extensions[EXTENSION_ID]
    return settings if isinstance(settings, Mapping) else {}
