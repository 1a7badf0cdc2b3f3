"""For people who write MCP hosts: discover agents, open them, and keep what was read while it holds.

Each name is loaded when it is first asked for (PEP 562): a program that only looks at frames and errors loads no HTTP
client.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from .cache import AgentCache, CacheEvent, Roster
    from .challenge import Challenge, parse_challenges, step_up, step_up_scopes
    from .connecting import build_connection, connect
    from .connection import ClientInfo, Connection
    from .delegate import Delegations, delegation_tool
    from .errors import (
        BadRequest,
        ExtensionMissing,
        ExtensionVersionNotSupported,
        HostError,
        InsufficientScope,
        NotAuthenticated,
        ProtocolVersionTooLow,
        ServerFault,
        ServerRefused,
        SessionEnded,
        StreamLost,
        TimedOut,
        Unreachable,
        UnsupportedProtocolVersion,
    )
    from .frames import AnswerFrame, FailureFrame, Frame, NotificationFrame, Observer, RequestFrame
    from .opening import Opening, Wire
    from .roles import ModelChoice, RoleTable
    from .session import SessionConnection
    from .source import AgentSource, Credential, Notification
    from .stateless import StatelessConnection
    from .watch import Watch, watch_list_changed

__all__ = [
    "AgentCache",
    "AgentSource",
    "AnswerFrame",
    "BadRequest",
    "CacheEvent",
    "Challenge",
    "ClientInfo",
    "Connection",
    "Credential",
    "Delegations",
    "ExtensionMissing",
    "ExtensionVersionNotSupported",
    "FailureFrame",
    "Frame",
    "HostError",
    "InsufficientScope",
    "ModelChoice",
    "NotAuthenticated",
    "Notification",
    "NotificationFrame",
    "Observer",
    "Opening",
    "ProtocolVersionTooLow",
    "RequestFrame",
    "RoleTable",
    "Roster",
    "ServerFault",
    "ServerRefused",
    "SessionConnection",
    "SessionEnded",
    "StatelessConnection",
    "StreamLost",
    "TimedOut",
    "Unreachable",
    "UnsupportedProtocolVersion",
    "Watch",
    "Wire",
    "build_connection",
    "connect",
    "delegation_tool",
    "parse_challenges",
    "step_up",
    "step_up_scopes",
    "watch_list_changed",
]

_HOMES: Final = {
    name: module
    for module, names in {
        "cache": ["AgentCache", "CacheEvent", "Roster"],
        "challenge": ["Challenge", "parse_challenges", "step_up", "step_up_scopes"],
        "connecting": ["build_connection", "connect"],
        "connection": ["ClientInfo", "Connection"],
        "delegate": ["Delegations", "delegation_tool"],
        "errors": [
            "BadRequest",
            "ExtensionMissing",
            "ExtensionVersionNotSupported",
            "HostError",
            "InsufficientScope",
            "NotAuthenticated",
            "ProtocolVersionTooLow",
            "ServerFault",
            "ServerRefused",
            "SessionEnded",
            "StreamLost",
            "TimedOut",
            "Unreachable",
            "UnsupportedProtocolVersion",
        ],
        "frames": ["AnswerFrame", "FailureFrame", "Frame", "NotificationFrame", "Observer", "RequestFrame"],
        "opening": ["Opening", "Wire"],
        "roles": ["ModelChoice", "RoleTable"],
        "session": ["SessionConnection"],
        "source": ["AgentSource", "Credential", "Notification"],
        "stateless": ["StatelessConnection"],
        "watch": ["Watch", "watch_list_changed"],
    }.items()
    for name in names
}


if not TYPE_CHECKING:  # a type checker would take any name for one of ours

    def __getattr__(name: str) -> Any:
        if name in _HOMES.values():
            return import_module(f"{__name__}.{name}")
        if name not in _HOMES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = globals()[name] = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
        return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})
