"""Scope challenges: reading `WWW-Authenticate`, and stepping up.

Owns the parser (values in, values out) and the small loop that authorises and retries. How a token is obtained is
the caller's business. Sources: RFC 9110 section 11.6.1 (grammar), RFC 6750 section 3 (Bearer attributes), RFC 9728
section 5.1 (`resource_metadata`), MCP authorization, "Scope Challenge Handling".
"""

import re
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, TypeVar

from .errors import BadRequest, InsufficientScope, ServerFault

if TYPE_CHECKING:
    from .source import AgentSource, Credential

__all__ = ["Challenge", "parse_challenges", "step_up", "step_up_scopes"]

T = TypeVar("T")
Source = TypeVar("Source", bound="AgentSource")

_TOKEN = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
_SEPARATORS = re.compile(r"[ \t,]*")
_ASSIGNMENT = re.compile(r"[ \t]*=")
_SPACES = re.compile(r"[ \t]+")
_PARAMETER = re.compile(
    r"([!#$%&'*+\-.^_`|~0-9A-Za-z]+)[ \t]*=[ \t]*(?:\"((?:[^\"\\]|\\.)*)\"|([^\s,\"=][^\s,\"]*))", re.DOTALL
)
_TOKEN68 = re.compile(r"[A-Za-z0-9\-._~+/]+=*(?=[ \t]*(?:,|$))")
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Challenge:
    """One challenge of a `WWW-Authenticate` header.

    `scheme` is spelled as received; `parameters` has lower-case names and unquoted values, the first one where a name
    is repeated; `token68` is the bare credential form that schemes such as Negotiate use.
    """

    scheme: str
    error: str | None = None
    error_description: str | None = None
    scope: tuple[str, ...] = ()
    resource_metadata: str | None = None
    parameters: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    token68: str | None = None

    @property
    def is_bearer(self) -> bool:
        """Whether the scheme is Bearer; schemes are compared without case (RFC 9110 section 11.1)."""
        return self.scheme.lower() == "bearer"


def parse_challenges(header: str) -> tuple[Challenge, ...]:
    """Read all challenges in a `WWW-Authenticate` value, in order.

    Never raises: what cannot be read is skipped up to the next comma. Several header lines may be joined by ", ".
    """
    found: list[Challenge] = []
    at = _skip(header, 0)
    while at < len(header):
        if scheme := _starts_challenge(header, at):
            challenge, at = _read_challenge(header, scheme.group(), scheme.end())
            found.append(challenge)
        else:
            at = _skip(header, _next_comma(header, at))
    return tuple(found)


def _skip(header: str, at: int) -> int:
    match = _SEPARATORS.match(header, at)
    return match.end() if match else at


def _starts_challenge(header: str, at: int) -> re.Match[str] | None:
    """A token that is not the name of a parameter: a comma may separate challenges as well as parameters."""
    token = _TOKEN.match(header, at)
    if token is None or _ASSIGNMENT.match(header, token.end()):
        return None
    return token if token.end() == len(header) or header[token.end()] in " \t," else None


def _next_comma(header: str, at: int) -> int:
    comma = header.find(",", at)
    return len(header) if comma < 0 else comma


def _read_challenge(header: str, scheme: str, at: int) -> tuple[Challenge, int]:
    spaces = _SPACES.match(header, at)
    token68 = _TOKEN68.match(header, spaces.end()) if spaces else None
    if token68 and not _PARAMETER.match(header, token68.start()):
        return Challenge(scheme, token68=token68.group()), _skip(header, token68.end())
    parameters: dict[str, str] = {}
    at = _skip(header, at)
    while at < len(header) and not _starts_challenge(header, at):
        match = _PARAMETER.match(header, at)
        if match is None:
            at = _skip(header, _next_comma(header, at))
            continue
        name, quoted, bare = match.groups()
        parameters.setdefault(name.lower(), bare if quoted is None else _ESCAPE.sub(r"\1", quoted))
        at = _skip(header, match.end())
    return _challenge(scheme, parameters), at


def _challenge(scheme: str, parameters: dict[str, str]) -> Challenge:
    return Challenge(
        scheme=scheme,
        error=parameters.get("error"),
        error_description=parameters.get("error_description"),
        scope=tuple(dict.fromkeys(parameters.get("scope", "").split())),
        resource_metadata=parameters.get("resource_metadata"),
        parameters=MappingProxyType(parameters),
    )


def step_up_scopes(refusal: InsufficientScope | str, held: Iterable[str] = ()) -> tuple[str, ...]:
    """The scopes to ask for next: those held, then those that the refusal names, each once.

    `refusal` is the error or the `WWW-Authenticate` value itself. Asking for the union keeps what the host could
    already do (MCP authorization, "Step-Up Authorization Flow"). Raises `ServerFault` where no scope is named.
    """
    if isinstance(held, str):
        raise BadRequest(f"step_up_scopes: held must be a collection of scopes, got {held!r}; pass {held!r}.split()")
    asked = _asked_by(refusal)
    if not asked:
        raise ServerFault("its challenge names no scope, so there is nothing to step up to; ask its operator")
    return tuple(dict.fromkeys((*held, *asked)))


def _asked_by(refusal: InsufficientScope | str) -> tuple[str, ...]:
    if isinstance(refusal, InsufficientScope):
        return refusal.challenge.scope
    bearer = [challenge for challenge in parse_challenges(refusal) if challenge.is_bearer]
    bearer.sort(key=lambda challenge: challenge.error != "insufficient_scope")
    return next((challenge.scope for challenge in bearer if challenge.scope), ())


async def step_up(
    attempt: Callable[[Source], Awaitable[T]],
    connection: Source,
    authorize: "Callable[[tuple[str, ...]], Awaitable[Credential | None]]",
    *,
    held: Iterable[str] = (),
    tries: int = 2,
) -> T:
    """Run `attempt`; where it lacks scope, authorise for the union of scopes and run it again with the new token.

    `authorize` gets the scopes to ask for and returns a credential, or None when the user says no. At most `tries`
    authorisations are made, and none when the server asks for nothing new; then the refusal itself is raised.
    """
    scopes = tuple(held)
    for _ in range(tries):
        try:
            return await attempt(connection)
        except InsufficientScope as refusal:
            wanted = step_up_scopes(refusal, scopes)
            if set(wanted) <= set(scopes):
                raise
            credential = await authorize(wanted)
            if credential is None:
                raise
            connection, scopes = connection.as_token(credential), wanted
    return await attempt(connection)
