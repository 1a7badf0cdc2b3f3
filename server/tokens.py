"""The demo's bearer tokens and who stands behind them.

Owns the table of tokens and the verifier that the SDK asks. Real servers ask their authorization server here; these
tokens are public on purpose and must guard nothing of worth. Tokens are never logged.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from mcp.server.auth.provider import AccessToken

__all__ = ["DEMO_SCOPES", "DEMO_TOKENS", "DemoToken", "TableVerifier"]

CLIENT_ID: Final = "agent-discovery-walkthrough"
"""One OAuth client for everybody: sessions belong to (client, user), and users are told apart by `subject`."""

DEMO_SCOPES: Final = ("ops:read", "ops:deploy", "billing:read")


@dataclass(frozen=True)
class DemoToken:
    """One token: the user it speaks for and what it may do."""

    token: str = field(repr=False)
    user: str
    scopes: tuple[str, ...]


DEMO_TOKENS: Final = (
    DemoToken("alice-read", "alice", ("ops:read",)),
    DemoToken("alice-deploy", "alice", ("ops:read", "ops:deploy")),
    DemoToken("bob-billing", "bob", ("ops:read", "billing:read")),
)


class TableVerifier:
    """The SDK's `TokenVerifier` over a table of tokens, which may be replaced while the server runs."""

    def __init__(self, tokens: Iterable[DemoToken] = DEMO_TOKENS) -> None:
        self._tokens = {token.token: token for token in tokens}

    def replace(self, tokens: Iterable[DemoToken]) -> frozenset[str]:
        """Take another table from now on; gives the tokens that are gone or mean something else now."""
        before = self._tokens
        self._tokens = {token.token: token for token in tokens}
        return frozenset(token for token, meant in before.items() if self._tokens.get(token) != meant)

    async def verify_token(self, token: str) -> AccessToken | None:
        """What the token stands for, or None for one that is not in the table.

        `subject` is the user, not the token: a session may be used with another token of the same user (step-up), and
        never by another user.
        """
        known = self._tokens.get(token)
        if known is None:
            return None
        return AccessToken(token=token, client_id=CLIENT_ID, scopes=list(known.scopes), subject=known.user)
