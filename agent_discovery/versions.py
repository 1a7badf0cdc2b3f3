"""Versions of the extension: what one is, what a peer declared, and on which one two peers meet.

Owns parsing and choosing; values in, values out. Who sends and who refuses is `server` and `host`. Source: MCP Agents
working group, extension-versioning draft: majors must meet, minors and patches never cause a refusal.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final

__all__ = [
    "DEFAULT_VERSION",
    "InvalidVersion",
    "Version",
    "choose",
    "declared_version",
    "effective_version",
    "one_per_major",
]

_FORM = re.compile(r"(0|[1-9][0-9]{0,8})\.(0|[1-9][0-9]{0,8})\.(0|[1-9][0-9]{0,8})")
_SHOWN: Final = 60


class InvalidVersion(ValueError):
    """Not a version, or not a set of versions that may stand together; `value` is what was given."""

    def __init__(self, text: str, *, value: object) -> None:
        super().__init__(text)
        self.value = value


@dataclass(frozen=True, order=True, slots=True)
class Version:
    """`MAJOR.MINOR.PATCH`; ordered by these three numbers, each from 0 to 999999999."""

    major: int
    minor: int = 0
    patch: int = 0

    def __post_init__(self) -> None:
        for part in (self.major, self.minor, self.patch):
            if type(part) is not int or not 0 <= part <= 999_999_999:
                raise InvalidVersion(
                    f"a version's parts must be integers from 0 to 999999999, got {_shown(part)}", value=part
                )

    @classmethod
    def parse(cls, text: object) -> "Version":
        """The version that a text names; raises `InvalidVersion` for anything but three plain decimal numbers.

        All three parts are needed, without signs, leading zeros, spaces or suffixes.
        """
        found = _FORM.fullmatch(text) if isinstance(text, str) else None
        if found is None:
            raise InvalidVersion(
                f"an extension version must be MAJOR.MINOR.PATCH, got {_shown(text)}; write it as in '1.0.0'",
                value=text,
            )
        return cls(*map(int, found.groups()))

    def __str__(self) -> str:
        return f"{self.major}.{self.minor}.{self.patch}"


DEFAULT_VERSION: Final = Version(1, 0, 0)
"""What a peer that declares no version speaks."""


def declared_version(settings: Mapping[str, Any] | None) -> Version:
    """The version in a client's settings for the extension: `version`, or 1.0.0 where there is none.

    Raises `InvalidVersion` where it is there but malformed (null included).
    """
    if settings is None or "version" not in settings:
        return DEFAULT_VERSION
    return Version.parse(settings["version"])


def one_per_major(versions: Iterable[Version]) -> tuple[Version, ...]:
    """The same versions, lowest first; raises `InvalidVersion` where two share a major, or where there are none."""
    ordered = tuple(sorted(versions))
    if not ordered:
        raise InvalidVersion("versions must name at least one version, got none; write [1.0.0]", value=())
    for lower, higher in pairwise(ordered):
        if lower.major == higher.major:
            raise InvalidVersion(
                f"versions must hold one entry per major, got {lower} and {higher}; keep the higher one",
                value=(lower, higher),
            )
    return ordered


def choose(offered: Iterable[Version], wanted: Iterable[Version]) -> Version | None:
    """The entry of `offered` with the highest major that is also among `wanted`'s; None where no major is shared.

    A server calls it with its own versions and the one a client declared, a host with its own and those a server
    lists: either way the result is a version that the caller itself speaks.
    """
    majors = {version.major for version in wanted}
    return max((version for version in offered if version.major in majors), default=None)


def effective_version(declared: Version, offered: Iterable[Version] | None) -> Version:
    """What may be relied on with a peer: of the declared major, the lower of both sides' versions.

    Where it is not known what the peer offers (None), or its offer lacks that major, only the `.0` minor is certain.
    """
    theirs = choose(offered, [declared]) if offered is not None else None
    return min(declared, theirs) if theirs is not None else Version(declared.major)


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "…"
