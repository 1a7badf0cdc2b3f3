"""What a server said of itself when a connection opened, and whether its agents may be used.

Owns the reading of the advertised settings: `versions` and `requires` of the extension-versioning draft. Which version
a connection declares is in `declaration`, and what it does about a refusal in `connection`.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from agent_discovery.versions import DEFAULT_VERSION, InvalidVersion, Version, one_per_major
from agent_discovery.wire import extension_settings

from .errors import ExtensionMissing, ProtocolVersionTooLow, ServerFault

__all__ = ["Opening", "Wire"]

Wire = Literal["session", "stateless"]

_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")


@dataclass(frozen=True, slots=True)
class Opening:
    """What the server said of itself: in answer to `initialize` or to `server/discover`.

    `settings` are those it advertises for the extension, None where it does not advertise it.
    """

    wire: Wire
    protocol_version: str
    server_info: Mapping[str, Any]
    capabilities: Mapping[str, Any]
    instructions: str | None
    settings: Mapping[str, Any] | None

    @classmethod
    def of(
        cls, wire: Wire, protocol_version: str, server_info: object, capabilities: object, instructions: object
    ) -> "Opening":
        """Take what a result holds; members of the wrong type count as absent."""
        return cls(
            wire=wire,
            protocol_version=protocol_version,
            server_info=server_info if isinstance(server_info, dict) else {},
            capabilities=capabilities if isinstance(capabilities, dict) else {},
            instructions=instructions if isinstance(instructions, str) else None,
            settings=extension_settings(capabilities),
        )

    @property
    def has_agents(self) -> bool:
        """Whether the server advertises agent discovery; only then may a host use it."""
        return self.settings is not None

    @property
    def extension_versions(self) -> tuple[Version, ...]:
        """The versions of the extension that the server advertises, lowest first; 1.0.0 where it names none.

        Raises `ServerFault` where `versions` is malformed, or names a major twice.
        """
        named = (self.settings or {}).get("versions", [str(DEFAULT_VERSION)])
        if not isinstance(named, list):
            raise ServerFault(f"it advertises versions that are {type(named).__name__}, not a list")
        try:
            return one_per_major(map(Version.parse, named))
        except InvalidVersion as error:
            raise ServerFault(f"the extension versions that it advertises are malformed: {error}") from error

    @property
    def required_protocol_version(self) -> str | None:
        """The lowest protocol version that the server's agents need, None where it names none.

        Raises `ServerFault` where `requires` is malformed.
        """
        requires = (self.settings or {}).get("requires", {})
        if not isinstance(requires, dict):
            raise ServerFault(f"it advertises requires that is {type(requires).__name__}, not an object")
        floor = requires.get("protocolVersion")
        if floor is not None and not (isinstance(floor, str) and _DATE.fullmatch(floor)):
            raise ServerFault(f"it advertises requires.protocolVersion {str(floor)[:40]!r}, not a protocol version")
        return floor

    def require_agents(self) -> None:
        """Raise unless agent discovery may be used here.

        `ExtensionMissing` where the server does not advertise it, `ProtocolVersionTooLow` where it needs a newer
        protocol version than this connection speaks, `ServerFault` where what it advertises is malformed.
        """
        server = str(self.server_info.get("name", "the server"))
        if not self.has_agents:
            raise ExtensionMissing(server)
        _ = self.extension_versions
        floor = self.required_protocol_version
        if floor is not None and self.protocol_version < floor:
            raise ProtocolVersionTooLow(server, required=floor, spoken=self.protocol_version)
