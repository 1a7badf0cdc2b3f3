"""For people who write MCP hosts: discover agents, open them, and keep what was read while it holds."""

from .cache import AgentCache, CacheEvent, Roster
from .challenge import Challenge, parse_challenges, step_up, step_up_scopes
from .connecting import build_connection, connect
from .connection import ClientInfo, Connection, Credential, Notification, Opening, Wire
from .errors import (
    BadRequest,
    ExtensionMissing,
    HostError,
    InsufficientScope,
    NotAuthenticated,
    ServerFault,
    ServerRefused,
    SessionEnded,
    StreamLost,
    TimedOut,
    Unreachable,
    UnsupportedProtocolVersion,
)
from .frames import AnswerFrame, FailureFrame, Frame, NotificationFrame, Observer, RequestFrame
from .roles import ModelChoice, RoleTable
from .session import SessionConnection
from .stateless import StatelessConnection
from .watch import Watch, watch_list_changed

__all__ = [
    "AgentCache",
    "AnswerFrame",
    "BadRequest",
    "CacheEvent",
    "Challenge",
    "ClientInfo",
    "Connection",
    "Credential",
    "ExtensionMissing",
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
    "parse_challenges",
    "step_up",
    "step_up_scopes",
    "watch_list_changed",
]
