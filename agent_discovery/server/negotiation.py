"""Which version of the extension a request is served in, or why it is not.

Owns the server's half of the extension-versioning draft: what is advertised, what a client declared, and the refusals.
Values in, values out. It leaves parsing to `agent_discovery.versions`, and to `middleware` when to ask. Only requests
that use the extension are asked about; majors must meet, and nothing else is ever a reason to refuse.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from mcp.shared.exceptions import MCPError

from agent_discovery.server import signposts
from agent_discovery.versions import DEFAULT_VERSION, InvalidVersion, Version, choose, declared_version, one_per_major
from agent_discovery.wire import (
    EXTENSION_ID,
    EXTENSION_VERSION_NOT_SUPPORTED,
    INVALID_PARAMS,
    MISSING_CLIENT_CAPABILITY,
)

__all__ = ["Declaration", "ServedVersions", "VersionNotSupported"]

_PROTOCOL_VERSION: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")


class VersionNotSupported(MCPError):
    """The client's major is none of this server's: -32005, with HTTP 400 where there is an edge.

    `requested` is the version the client declared, `supported` what the server has.
    """

    def __init__(self, requested: Version, supported: tuple[Version, ...]) -> None:
        texts = [str(version) for version in supported]
        data = {"extensions": {EXTENSION_ID: {"requested": str(requested), "supported": texts}}}
        text = signposts.version_not_supported(str(requested), texts)
        super().__init__(EXTENSION_VERSION_NOT_SUPPORTED, text, data)
        self.requested = requested
        self.supported = supported


@dataclass(frozen=True)
class Declaration:
    """What one client said of this extension: nothing, or `settings` as they came, which may be anything."""

    made: bool
    settings: object = None

    @classmethod
    def within(cls, capabilities: object) -> "Declaration":
        """The declaration in a client's `capabilities`, of whatever shape they are."""
        extensions = capabilities.get("extensions") if isinstance(capabilities, Mapping) else None
        if not isinstance(extensions, Mapping) or EXTENSION_ID not in extensions:
            return cls(False)
        return cls(True, extensions[EXTENSION_ID])

    def check_shape(self) -> Mapping[str, Any]:
        """The settings, if they are an object as MCP has it.

        Raises:
            MCPError: -32602; they are something else.
        """
        if not isinstance(self.settings, Mapping):
            raise MCPError(INVALID_PARAMS, signposts.malformed_settings(self.settings))
        return self.settings

    def version(self) -> Version:
        """The version declared; 1.0.0 where the settings name none.

        Raises:
            MCPError: -32602; the settings are no object, or their version is malformed.
        """
        try:
            return declared_version(self.check_shape())
        except InvalidVersion as error:
            raise MCPError(INVALID_PARAMS, signposts.malformed_version(error.value)) from error


class ServedVersions:
    """The versions that one server speaks.

    Args:
        versions: one for each major, as `Version`s or as texts; None is the draft's default, 1.0.0, unadvertised.
        requires_protocol_version: the oldest MCP version this is meant for, advertised as advice; no request is
            refused for it.

    Raises:
        ValueError: a version is malformed or there is none, two share a major, or the protocol version is no date.
    """

    def __init__(
        self, versions: Iterable[str | Version] | None = None, requires_protocol_version: str | None = None
    ) -> None:
        if isinstance(versions, str):
            raise ValueError(f"versions must be a list of versions, got {versions!r}; write ({versions!r},)")
        listed = [] if versions is None else [_parsed(version) for version in versions]
        self.supported: Final = one_per_major((DEFAULT_VERSION,) if versions is None else listed)
        if requires_protocol_version is not None and not (
            isinstance(requires_protocol_version, str) and _PROTOCOL_VERSION.fullmatch(requires_protocol_version)
        ):
            raise ValueError(
                f"requires_protocol_version must be an MCP version such as '2025-11-25', "
                f"got {requires_protocol_version!r}; leave it out to advertise none"
            )
        self._advertised: Final[dict[str, Any]] = {} if versions is None else {"versions": list(map(str, listed))}
        if requires_protocol_version is not None:
            self._advertised["requires"] = {"protocolVersion": requires_protocol_version}

    def advertised(self) -> dict[str, Any]:
        """The members that the extension's advertised settings have for it; none where nothing was configured."""
        return dict(self._advertised)

    def negotiate(self, declaration: Declaration) -> Version:
        """The version in which a request that uses the extension is served: the server's own of the client's major.

        Raises:
            MCPError: -32021, the client did not declare the extension; -32602, it declared nonsense.
            VersionNotSupported: -32005, the majors do not meet.
        """
        if not declaration.made:
            data: dict[str, Any] = {"requiredCapabilities": {"extensions": {EXTENSION_ID: {}}}}
            raise MCPError(MISSING_CLIENT_CAPABILITY, signposts.extension_not_declared(), data)
        requested = declaration.version()
        chosen = choose(self.supported, [requested])
        if chosen is None:
            raise VersionNotSupported(requested, self.supported)
        return chosen

    def meets(self, declaration: Declaration) -> bool:
        """Whether this client can use the extension here: it declared it, sensibly, in a major the server has."""
        try:
            self.negotiate(declaration)
        except MCPError:
            return False
        return True


def _parsed(version: str | Version) -> Version:
    return version if isinstance(version, Version) else Version.parse(version)
