"""Which version of the extension a connection declares, and which one it turns to when that is refused.

Owns the choice; values in, values out. Sending it is `connection`, reading what a server offers is `opening`. Source:
extension-versioning draft, "Major Version Negotiation".
"""

from collections.abc import Iterable
from typing import Any

from agent_discovery.versions import DEFAULT_VERSION, InvalidVersion, Version, choose, effective_version

from .errors import BadRequest

__all__ = ["Declaration"]


class Declaration:
    """What a host declares for the extension: `version`, or nothing of it where that is None.

    A host that declares a version of its own choice also speaks 1.0.0, which is what this package implements.
    """

    def __init__(self, version: Version | None = None) -> None:
        self.version = version
        spoken = {DEFAULT_VERSION.major: DEFAULT_VERSION}
        if version is not None:
            spoken[version.major] = version
        self.spoken = tuple(sorted(spoken.values()))

    @classmethod
    def of(cls, version: Version | str | None) -> "Declaration":
        """Take what a caller passes as `extension_version`; raises `BadRequest` where it is no version."""
        if version is None or isinstance(version, Version):
            return cls(version)
        try:
            return cls(Version.parse(version))
        except InvalidVersion as error:
            raise BadRequest(f"extension_version: {error}") from error

    @property
    def settings(self) -> dict[str, Any]:
        """The settings object that travels."""
        return {} if self.version is None else {"version": str(self.version)}

    def turn_to(self, offered: Iterable[Version]) -> bool:
        """Where `offered` lacks the declared major, declare the highest shared one; whether the declaration changed."""
        majors = tuple(offered)
        chosen = choose(self.spoken, majors)
        if chosen is None or choose(majors, [self.version or DEFAULT_VERSION]) is not None:
            return False
        self.version = chosen
        return True

    def effective(self, offered: Iterable[Version] | None) -> Version:
        """What may be relied on with a server that offers these (None: not known which)."""
        return effective_version(self.version or DEFAULT_VERSION, offered)
