"""For people who write MCP hosts: discover agents, open them, and keep what was read while it holds."""

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
