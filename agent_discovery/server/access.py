"""Who may see a thing and who may use it: the two policies, kept apart.

Owns the vocabulary of access (`Scopes`, `Access`) and where a caller's scopes come from. It leaves to `registry` what
is being protected, and to `stepup` how a refusal travels. What a caller cannot see never produces a challenge.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from mcp.server.auth.middleware.auth_context import get_access_token
from starlette.requests import Request

__all__ = ["OPEN_TO_ALL", "Access", "Scopes", "ScopesOf", "VisibilityRule", "caller_scopes", "everyone", "holders_of"]

Scopes = frozenset[str]
ScopesOf = Callable[[Request | None], Scopes]
"""Gives a caller's scopes from the HTTP request now being served, or from None where there is no HTTP (stdio)."""
VisibilityRule = Callable[[Scopes], bool]
"""Decides from the caller's scopes alone, so that one answer serves every caller with the same scopes."""

_SCOPE_TOKEN: Final = re.compile(r"[\x21\x23-\x5B\x5D-\x7E]+")


def everyone(_scopes: Scopes) -> bool:
    """The visibility rule that hides nothing."""
    return True


@dataclass(frozen=True)
class _HoldersOf:
    """A rule with value equality, so that defining the same agent twice counts as no change."""

    needed: Scopes

    def __call__(self, scopes: Scopes) -> bool:
        return self.needed <= scopes


def holders_of(*scopes: str) -> VisibilityRule:
    """The rule that shows a thing only to callers who hold all of `scopes`.

    Raises:
        ValueError: no scope was named, or one is not a scope token (RFC 6749, section 3.3).
    """
    if not scopes:
        raise ValueError("holders_of() needs at least one scope, got none; to hide nothing use `everyone`")
    return _HoldersOf(frozenset(_checked(scopes, "holders_of()")))


@dataclass(frozen=True)
class Access:
    """The two policies of one agent or tool.

    `visible_to` decides whether a caller may know that it exists. `challenge` names, in order, every scope that using
    it takes; a caller who sees it but lacks one of them is asked to step up (RFC 6750, `insufficient_scope`).

    Raises:
        ValueError: `visible_to` cannot be called, or `challenge` is not a tuple of scope tokens.
    """

    visible_to: VisibilityRule = everyone
    challenge: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not callable(self.visible_to):
            raise ValueError(
                f"Access.visible_to must be a rule from scopes to bool, got {self.visible_to!r}; "
                "use `everyone` or `holders_of('a:scope')`"
            )
        challenge: object = self.challenge
        if isinstance(challenge, str):
            raise ValueError(f"Access.challenge must be a tuple of scopes, got {challenge!r}; write ({challenge!r},)")
        object.__setattr__(self, "challenge", _checked(tuple(self.challenge), "Access.challenge"))

    def sees(self, scopes: Scopes) -> bool:
        """Whether a caller with these scopes may know that the thing exists."""
        return bool(self.visible_to(scopes))

    def missing(self, scopes: Scopes) -> tuple[str, ...]:
        """All scopes the use takes, in order, when any of them is missing; empty when none is."""
        return () if scopes.issuperset(self.challenge) else self.challenge


def caller_scopes(_request: Request | None = None) -> Scopes:
    """The scopes of the token on the request now being served; empty where no token was asked for.

    The rule that `AgentDiscovery` goes by unless it is given another. The SDK carries the token in a context variable
    set for each request, so two requests of one session that come with different tokens are told apart.
    """
    token = get_access_token()
    return frozenset(token.scopes) if token is not None else frozenset()


def _checked(scopes: tuple[str, ...], subject: str) -> tuple[str, ...]:
    for scope in scopes:
        if not isinstance(scope, str) or not _SCOPE_TOKEN.fullmatch(scope):
            raise ValueError(
                f"{subject}: a scope is printable ASCII without space, quote or backslash (RFC 6749, section 3.3), "
                f"got {scope!r}; name each scope as its own string"
            )
    return scopes


OPEN_TO_ALL: Final = Access()
"""Hides nothing and asks for nothing."""
