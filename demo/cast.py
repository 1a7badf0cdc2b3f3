"""Who acts in the walkthrough, with which bearer token, and where the demo server is.

The tokens are the demo server's own. Everything shown to a reader names the caller, never the token.
"""

from dataclasses import dataclass
from typing import Final

from agent_discovery.host import Credential

__all__ = [
    "ALICE",
    "ALICE_STEPPED_UP",
    "BOB",
    "CAST",
    "CLIENT_NAME",
    "DEFAULT_ORIGIN",
    "DEFAULT_URL",
    "DEMO_SERVER",
    "RELEASE_AGENT",
    "Caller",
]

DEFAULT_ORIGIN: Final = "http://127.0.0.1:8080"
"""Where the demo server is when nobody says otherwise; recordings and documents know no other address."""
DEFAULT_URL: Final = f"{DEFAULT_ORIGIN}/mcp"

CLIENT_NAME: Final = "agent-discovery-walkthrough"
"""How the walkthrough's hosts introduce themselves to a server."""

DEMO_SERVER: Final = "agent-discovery-demo"
"""How the demo server names itself. The script is about its roster; any other server is surveyed instead."""


RELEASE_AGENT: Final = "release-agent"
"""The agent that the script publishes and retires."""


@dataclass(frozen=True)
class Caller:
    """One person with one token. Callers of the same `user` share a connection (and, where there is one, a session)."""

    name: str
    user: str
    token: str
    scopes: tuple[str, ...]
    variable: str
    """The shell variable that holds the token in the documents' curl lines."""

    @property
    def credential(self) -> Credential:
        return Credential(token=self.token, label=self.name)


ALICE = Caller("Alice", "alice", "alice-read", ("ops:read",), "ALICE")
ALICE_STEPPED_UP = Caller("Alice stepped up", "alice", "alice-deploy", ("ops:read", "ops:deploy"), "ALICE_STEPPED_UP")
BOB = Caller("Bob", "bob", "bob-billing", ("ops:read", "billing:read"), "BOB")
CAST = (ALICE, ALICE_STEPPED_UP, BOB)
