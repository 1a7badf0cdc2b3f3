"""Who acts in the walkthrough, and with which bearer token.

The tokens are the demo server's own. Everything shown to a reader names the caller, never the token.
"""

from dataclasses import dataclass

from agent_discovery.host import Credential

__all__ = ["ALICE", "ALICE_STEPPED_UP", "BOB", "CAST", "DEMO_SERVER", "Caller"]

DEMO_SERVER = "agent-discovery-demo"
"""How the demo server names itself. The script is about its roster; any other server is surveyed instead."""


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
