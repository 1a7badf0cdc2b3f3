"""What several callers show beside each other: filtering, what is hidden, and what membership does not grant."""

from collections.abc import AsyncIterator, Iterator
from itertools import permutations
from typing import Any, Final

from agent_discovery.wire import AGENT_NOT_FOUND, AGENTS_GET, AGENTS_LIST, INVALID_PARAMS
from demo.clauses.ground import Ground, Visit, made_up_name, read_pages
from demo.clauses.line import Seen
from demo.clauses.verdicts import Observation, broken, held, unexercised
from demo.likeness import VARYING, comparable

__all__ = ["filtering", "granting", "hidden"]

_MOST_HIDDEN: Final = 5
_ONE_TOKEN: Final = "one token only: give another caller's with --token"


def _hidden_from(ground: Ground) -> Iterator[tuple[Visit, str]]:
    """Who cannot see which name that another caller sees."""
    for visit, other in permutations(ground.visits, 2):
        if visit.roster.is_whole and other.roster.is_whole:
            for name in [name for name in other.names if name not in visit.names][:_MOST_HIDDEN]:
                yield visit, name


async def filtering(ground: Ground) -> AsyncIterator[Observation]:
    """AD-9: names that only some see do not open for the others; AD-19, by how they are refused."""
    for visit, name in dict.fromkeys(_hidden_from(ground)):
        seen = await visit.line.ask(AGENTS_GET, {"name": name})
        if seen.result is not None:
            if not await _came_meanwhile(ground, visit, name):
                yield broken("AD-9", f"{visit.label} opens {name}, which is not in {visit.label}'s roster", seen)
        elif seen.is_answered:
            yield held("AD-9", f"{name} is not listed for {visit.label} and does not open", *visit.roster.cited, seen)
            if (seen.code, seen.reason) != (INVALID_PARAMS, AGENT_NOT_FOUND):
                text = f"{name}, hidden from {visit.label}: -32602 with agent_not_found, got {seen.answered}"
                yield broken("AD-19", text, seen)
    yield unexercised("AD-9", _why_not_filtered(ground))


def _why_not_filtered(ground: Ground) -> str:
    if len(ground.visits) < 2:
        return _ONE_TOKEN
    if troubles := [visit.roster.trouble for visit in ground.visits if visit.roster.trouble is not None]:
        return f"the rosters could not be read to their ends: {troubles[0]}"
    return f"these {len(ground.visits)} callers see the same agents"


async def _came_meanwhile(ground: Ground, visit: Visit, name: str) -> bool:
    """Whether the agent was published after this caller's roster was read."""
    return name in (await read_pages(visit.line, AGENTS_LIST, "agents", ground.patience)).by_name


async def hidden(ground: Ground) -> AsyncIterator[Observation]:
    """AD-20: a hidden name beside one that was never registered. How long an answer takes is not looked at."""
    asked = list(dict.fromkeys(_hidden_from(ground)))[:_MOST_HIDDEN]
    if ground.hidden_name is not None:
        asked.insert(0, (ground.first, ground.hidden_name))
    for visit, name in asked:
        known = await visit.line.ask(AGENTS_GET, {"name": name})
        if known.result is not None:
            yield unexercised("AD-20", f"{name} is not hidden from {visit.label}, who can open it")
            continue
        nobody = made_up_name(max(len(name), 8))
        never = await visit.line.ask(AGENTS_GET, {"name": nobody}, note="a name of nobody's")
        one, other = _comparable(known, name), _comparable(never, nobody)
        if apart := [part for part in one if one[part] != other[part]]:
            yield broken("AD-20", f"{name} is told from a name of nobody's by its {', '.join(apart)}", known, never)
        else:
            yield held("AD-20", f"to {visit.label}, {name} answers as a name of nobody's does", known, never)
    missing = "no hidden name is known: give one with --hidden-name, or a second caller with --token"
    yield unexercised("AD-20", missing)


def _comparable(seen: Seen, name: str) -> dict[str, Any]:
    if seen.answer is None:
        return {"answer": str(seen.error)}
    # Whatever stands in front of a foreign server may set a cookie of its own on each answer.
    return comparable(seen.answer, name, varying=VARYING | {"set-cookie"})


async def granting(ground: Ground) -> AsyncIterator[Observation]:
    """AD-10: seeing a card does not open the agent, and opening it brings no tool that the caller does not have."""
    for visit in ground.visits:
        for name, seen in visit.refused_for_scope.items():
            yield held("AD-10", f"{visit.label} sees the card of {name} and still needs scope", seen)
    for visit, other in permutations(ground.visits, 2):
        if not (visit.tools.is_whole and other.tools.is_whole):
            continue
        lacking = set(other.tools.by_name) - set(visit.tools.by_name)
        for name in set(visit.agents) & set(other.agents):
            mine, theirs = _tool_names(visit, name), _tool_names(other, name)
            if gained := sorted(mine & lacking):
                text = f"{name} brings {visit.label} tools that only {other.label} has: {', '.join(gained)}"
                yield broken("AD-10", text, visit.opened[name], *visit.tools.cited)
            elif (theirs - mine) & lacking:
                yield held("AD-10", f"{name} leaves out what {visit.label} may not see", visit.opened[name])
    if len(ground.visits) < 2:
        yield unexercised("AD-10", _ONE_TOKEN)
    yield unexercised("AD-10", "no agent that is listed is refused, or has a tool that only some callers see")


def _tool_names(visit: Visit, agent: str) -> set[str]:
    given = visit.agents[agent].get("tools")
    names = [tool.get("name") for tool in given if isinstance(tool, dict)] if isinstance(given, list) else []
    return {name for name in names if isinstance(name, str)}
