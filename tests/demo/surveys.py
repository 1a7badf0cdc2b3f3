"""Surveys as tests make them: with the demo's tokens, and what came of each clause at a glance."""

from collections.abc import Sequence
from typing import Any

from agent_discovery.host import Credential
from demo.cast import CAST
from demo.clauses import Survey, survey
from demo.scene import Wire

__all__ = ["EVERYBODY", "WIRES", "broken", "looked_at", "outcomes", "unexercised"]

EVERYBODY = tuple(caller.credential for caller in CAST)
WIRES: tuple[Wire, ...] = ("session", "stateless")


async def looked_at(url: str, wire: Wire, credentials: Sequence[Credential] = EVERYBODY, **changes: Any) -> Survey:
    return await survey(url, credentials, wire=wire, **{"timeout": 5.0, **changes})


def outcomes(found: Survey) -> dict[str, str]:
    return {verdict.clause.id: verdict.outcome for verdict in found.verdicts}


def broken(found: Survey) -> set[str]:
    return {id for id, outcome in outcomes(found).items() if outcome == "broken"}


def unexercised(found: Survey) -> dict[str, str]:
    """The reasons."""
    return {verdict.clause.id: verdict.text for verdict in found.verdicts if verdict.outcome == "not exercised"}
