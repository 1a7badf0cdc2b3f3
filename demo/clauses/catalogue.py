"""The clauses: what the drafts ask of a server or a host, one entry each, with an id that reports and tests cite.

Owns the texts, strengths and, for what a run cannot show, the test of this project that shows it. It leaves to `probes`
how a clause is looked at, and to `verdicts` what came of it. Sources: MCP Agents working group, agent discovery draft
(AD) and extension-versioning draft (EV); MCP 2025-11-25 and 2026-07-28 (CO).
"""

from dataclasses import dataclass
from typing import Final, Literal

__all__ = ["CLAUSES", "Clause", "Strength", "Who", "clause_of"]

Strength = Literal["MUST", "MUST NOT", "SHOULD", "SHOULD NOT", "MAY", "discouraged", "stated"]
"""As in the drafts; `stated` is a plain statement of how things are."""
Who = Literal["S", "H", "S, H"]
"""Whom it binds: server, host, or both."""

_DEMANDS: Final = ("MUST", "MUST NOT", "stated")
_HOST: Final = "tests/agent_discovery/host"
_CACHE: Final = f"{_HOST}/test_cache.py"
_VERSIONS: Final = f"{_HOST}/test_extension_versions.py"
_CONTRACT: Final = "tests/server/test_contract.py"


@dataclass(frozen=True)
class Clause:
    """One clause. Without `proof` a run shows it on any server; with it, that test file of this project does.

    Raises:
        ValueError: a clause for hosts that no test of this project shows: a run looks at servers only.
    """

    id: str
    who: Who
    strength: Strength
    text: str
    proof: str | None = None

    def __post_init__(self) -> None:
        if self.who == "H" and self.proof is None:
            raise ValueError(f"Clause {self.id}: a run cannot look at a host, got no proof; name a test file")

    @property
    def demands(self) -> bool:
        """Whether a server that breaks it fails; where not, the report warns."""
        return self.strength in _DEMANDS


CLAUSES: Final = (
    Clause(
        "AD-1", "H", "MUST NOT", "agent discovery is not taken for available before the server advertised it", _CACHE
    ),
    Clause("AD-2", "S", "MUST NOT", "core MCP does not depend on the client's support of the extension"),
    Clause("AD-3", "S, H", "stated", "without negotiation core MCP goes on and there is no agent behaviour"),
    Clause("AD-4", "S", "MUST", "in the roster that a client sees, each agent's name is there once"),
    Clause(
        "AD-5",
        "S",
        "stated",
        "a card has a name, perhaps a description, and capabilities that are labels and no tool names; it has neither "
        "instructions nor schemas",
    ),
    Clause("AD-6", "S", "MUST", "a tool name under several agents is one and the same tool of the server"),
    Clause("AD-7", "S", "MUST", "every tool of agents/get is in the same caller's tools/list and can be called"),
    Clause("AD-8", "S", "MUST", "a tool's definition is equal in every field in agents/get and tools/list"),
    Clause("AD-9", "S", "MUST", "roster and details are filtered by what the caller may do"),
    Clause("AD-10", "S", "MUST NOT", "neither membership in an agent nor its card grants a permission"),
    Clause("AD-11", "S", "MUST NOT", "no tool is left out of tools/list merely because an agent has it"),
    Clause(
        "AD-12", "S", "stated", "agents/list pages as MCP lists do: opaque cursors, and nextCursor until the last page"
    ),
    Clause(
        "AD-13", "S", "stated", "listChanged true means that change notifications come; absent or false, that none do"
    ),
    Clause(
        "AD-14",
        "S",
        "stated",
        "a listen stream gets the notification only where it asked for agentsListChanged, and the acknowledgement "
        "says so",
    ),
    Clause(
        "AD-15", "H", "SHOULD", "on the notification all cached pages go, and the next decision lists again", _CACHE
    ),
    Clause("AD-16", "H", "SHOULD", "after listing again, details of agents that are gone are dropped", _CACHE),
    Clause("AD-17", "S", "stated", "roster and details each carry their own ttlMs and cacheScope"),
    Clause("AD-18", "S", "SHOULD", "cacheScope is private unless the answer is the same and safe for everyone"),
    Clause("AD-19", "S", "MUST", "an unknown or invisible agent is refused with -32602 and reason agent_not_found"),
    Clause("AD-20", "S", "MUST NOT", "an unknown agent and a hidden one are not told apart, in any way"),
    Clause(
        "AD-21",
        "S",
        "MUST",
        "an agent that names a tool the server lacks is refused with -32603 and reason invalid_agent_definition",
        "tests/agent_discovery/server/test_extension.py",
    ),
    Clause("AD-22", "H", "SHOULD NOT", "after invalid_agent_definition nothing is retried by itself", _CACHE),
    Clause("AD-23", "H", "MAY", "after agent_not_found the roster may be read anew", _CACHE),
    Clause(
        "AD-24",
        "S",
        "stated",
        "modelRoutingHint is advice: vision is a boolean, and role, where there is one, small, medium or large",
    ),
    Clause("AD-25", "S", "MUST NOT", "the server does not count on a host having followed the hint", _CONTRACT),
    Clause(
        "AD-26",
        "H",
        "stated",
        "a hint that is absent, unknown or cannot be met falls back to the host's default",
        f"{_HOST}/test_roles.py",
    ),
    Clause(
        "AD-27",
        "H",
        "discouraged",
        "the whole catalogue of tools and the scoped schemas together in one routing context",
        f"{_HOST}/test_delegate.py",
    ),
    Clause("AD-28", "S", "stated", "no method runs an agent; two methods and one notification are all that is new"),
    Clause("AD-29", "S", "SHOULD", "descriptions, labels and instructions hold no operational secrets", _CONTRACT),
    Clause(
        "AD-30",
        "H",
        "stated",
        "instructions and cards are untrusted: shown, never executed or taken for markup",
        "tests/e2e/test_output.py",
    ),
    Clause("EV-1", "S, H", "MUST", "an extension version is MAJOR.MINOR.PATCH, with all three parts"),
    Clause("EV-2", "S, H", "MUST", "no version means 1.0.0"),
    Clause("EV-3", "S", "MUST NOT", "no two listed versions share a major"),
    Clause(
        "EV-4",
        "S",
        "MUST",
        "a major that the server lacks, on a request that uses the extension: -32005 with HTTP 400, naming the "
        "requested version and the supported ones",
    ),
    Clause("EV-5", "S", "SHOULD", "a request that does not use the extension is served whatever version is declared"),
    Clause("EV-6", "S", "MUST NOT", "a minor or a patch is never a reason to refuse"),
    Clause("EV-7", "S", "MUST", "where protocol and extension version both fail, the protocol version is reported"),
    Clause("EV-8", "H", "MUST", "after -32005 a shared major is declared and asked once more, or given up", _VERSIONS),
    Clause("EV-9", "H", "SHOULD", "below requires.protocolVersion the extension is left unused", _VERSIONS),
    Clause("EV-10", "S", "MUST NOT", "no request is refused only because of that floor"),
    Clause(
        "EV-11",
        "S",
        "MUST NOT",
        "a subscription gets nothing above the version that it was opened with",
        "tests/server/test_versions.py",
    ),
    Clause(
        "EV-12", "H", "MUST", "while the server's versions are not known, only the .0 minor is relied on", _VERSIONS
    ),
    Clause(
        "CO-1",
        "S",
        "MUST",
        "ttlMs is an integer of 0 or more, cacheScope is public or private and the same on all pages of a list",
    ),
    Clause("CO-2", "H", "SHOULD", "an absent or negative ttlMs counts as 0, and time runs from receipt", _CACHE),
    Clause("CO-3", "H", "MUST NOT", "a private entry is not shared, and no entry answers other parameters", _CACHE),
    Clause(
        "CO-4",
        "S",
        "MUST",
        "a listen stream begins with its acknowledgement, every frame names the subscription, nothing unasked comes",
    ),
    Clause(
        "CO-5",
        "S",
        "SHOULD",
        "a subscription that is closed on purpose ends with its result",
        "tests/server/test_streams.py",
    ),
    Clause("CO-6", "S", "SHOULD", "too little scope is a 403 with a Bearer challenge that names all scopes needed"),
    Clause(
        "CO-7",
        "H",
        "SHOULD",
        "a step-up asks for the scopes held and those missing, and ends after a few tries",
        f"{_HOST}/test_challenge.py",
    ),
    Clause("CO-8", "S", "MUST", "a bad Origin is refused with 403"),
    Clause(
        "CO-9",
        "S",
        "MUST",
        "on the stateless wire headers and body agree, an unknown method is a 404, and an unsupported version a 400 "
        "that lists the supported ones",
    ),
)


def clause_of(id: str) -> Clause:
    """The clause with this id; raises KeyError where there is none."""
    for entry in CLAUSES:
        if entry.id == id:
            return entry
    raise KeyError(f"no clause has the id {id!r}; the ids are those of demo.clauses.catalogue.CLAUSES")
