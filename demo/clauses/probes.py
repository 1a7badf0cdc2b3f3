"""All probes of a survey, each with the clauses that it looks at.

Owns the list only. A probe asks what it needs, changes nothing, and yields what it observed; one that fails leaves its
clauses to a reason.
"""

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import Final

from demo.clauses import probes_agents, probes_callers, probes_roster, probes_versions, probes_wire
from demo.clauses.ground import Ground
from demo.clauses.verdicts import Observation

__all__ = ["PROBES", "Probe"]


@dataclass(frozen=True)
class Probe:
    """One look at a server."""

    look: Callable[[Ground], AsyncIterator[Observation]]
    clauses: tuple[str, ...]


PROBES: Final = (
    Probe(probes_wire.promise, ("AD-13",)),
    Probe(probes_versions.advertised_versions, ("EV-1", "EV-3")),
    Probe(probes_versions.no_declaration, ("AD-2", "AD-3")),
    Probe(probes_roster.names, ("AD-4",)),
    Probe(probes_roster.cards, ("AD-5",)),
    Probe(probes_roster.pages, ("AD-12",)),
    Probe(probes_agents.tools, ("AD-6", "AD-7", "AD-8", "AD-11")),
    Probe(probes_agents.hints, ("AD-24",)),
    Probe(probes_roster.caching, ("AD-17", "AD-18", "CO-1")),
    Probe(probes_agents.scope_challenges, ("CO-6",)),
    Probe(probes_callers.filtering, ("AD-9", "AD-19")),
    Probe(probes_callers.granting, ("AD-10",)),
    Probe(probes_agents.unknown, ("AD-19",)),
    Probe(probes_callers.hidden, ("AD-20",)),
    Probe(probes_agents.no_running, ("AD-28",)),
    Probe(probes_versions.no_version, ("EV-2",)),
    Probe(probes_versions.minors, ("EV-6",)),
    Probe(probes_versions.foreign_major, ("EV-4", "EV-5")),
    Probe(probes_versions.two_failures, ("EV-7",)),
    Probe(probes_versions.floor, ("EV-10",)),
    Probe(probes_wire.streams, ("AD-13", "AD-14", "CO-4")),
    Probe(probes_wire.bad_origin, ("CO-8",)),
    Probe(probes_wire.stateless_rules, ("CO-9",)),
)
