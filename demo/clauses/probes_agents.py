"""What opened agents show: their tools beside tools/list, hints, unknown names, and that nothing runs an agent."""

import secrets
from collections.abc import AsyncIterator, Mapping
from typing import Any, Final, get_args

from agent_discovery.wire import AGENT_NOT_FOUND, AGENTS_GET, INVALID_PARAMS, METHOD_NOT_FOUND, ModelRole
from demo.clauses.ground import Ground, Visit, made_up_name, read_pages
from demo.clauses.line import Seen
from demo.clauses.verdicts import Observation, broken, held, unexercised

__all__ = ["hints", "no_running", "scope_challenges", "tools", "unknown"]

_NONE_OPENED: Final = "no agent with tools could be opened"
_RUNNING: Final = ("agents/call", "agents/invoke", "agents/run")
_ROLES: Final = get_args(ModelRole)


async def tools(ground: Ground) -> AsyncIterator[Observation]:
    """AD-6, AD-7, AD-8 and AD-11."""
    opened = 0
    for visit in ground.visits:
        if not visit.tools.is_whole:
            continue
        for name in visit.agents:
            scoped = _scoped(visit.agents[name])
            if scoped is None:
                yield broken("AD-7", f"the details of {name} have no list of named tools", visit.opened[name])
                continue
            missing, differing = _compared(scoped, visit.tools.by_name)
            if missing or differing:
                missing, differing = await _again(ground, visit, name)
            opened += bool(scoped)
            async for observation in _judged(ground, visit, name, missing, differing):
                yield observation
    for visit in ground.visits:
        async for observation in _shared(visit):
            yield observation
    trouble = ground.first.tools.trouble
    for clause in ("AD-7", "AD-8", "AD-11"):
        yield unexercised(clause, f"tools/list cannot be read: {trouble}" if trouble else _NONE_OPENED)
    yield unexercised("AD-6", "no caller can open two agents that have a tool in common")


async def _judged(
    ground: Ground, visit: Visit, name: str, missing: list[str], differing: list[str]
) -> AsyncIterator[Observation]:
    scoped = _scoped(visit.agents[name]) or []
    cited = (visit.opened[name], *visit.tools.cited)
    if missing:
        yield broken("AD-7", f"tools of {name} are not in {visit.label}'s tools/list: {', '.join(missing)}", *cited)
        bare = set(ground.bare.tools.by_name) if ground.bare is not None else set()
        if set(missing) & bare:
            yield broken("AD-11", f"tools/list has {', '.join(missing)} only for who does not declare", *cited)
        elif len(missing) == len(scoped):
            yield broken("AD-11", f"no tool of {name} is in tools/list", *cited)
    elif scoped:
        yield held("AD-7", f"all tools of {name} are in {visit.label}'s tools/list", *cited)
        yield held("AD-11", f"tools/list has the tools of {name}", *cited)
    if differing:
        yield broken("AD-8", f"{name}: {'; '.join(differing[:3])}", *cited)
    elif len(missing) < len(scoped):
        yield held("AD-8", f"the tools of {name} equal their tools/list entries", *cited)


async def _again(ground: Ground, visit: Visit, name: str) -> tuple[list[str], list[str]]:
    """Compare once more, read anew: the server may have changed between the two answers."""
    seen = await visit.line.ask(AGENTS_GET, {"name": name})
    whole = await read_pages(visit.line, "tools/list", "tools", ground.patience)
    scoped = _scoped(seen.result or {})
    if scoped is None or not whole.is_whole:
        return _compared(_scoped(visit.agents[name]) or [], visit.tools.by_name)
    visit.opened[name], visit.tools = seen, whole
    return _compared(scoped, whole.by_name)


def _scoped(details: Mapping[str, Any]) -> list[Mapping[str, Any]] | None:
    """The agent's tools; None where that is no list of objects with a name."""
    given = details.get("tools")
    if not isinstance(given, list) or not all(isinstance(one, Mapping) and _is_text(one.get("name")) for one in given):
        return None
    return given


def _compared(scoped: list[Mapping[str, Any]], listed: Mapping[str, Mapping[str, Any]]) -> tuple[list[str], list[str]]:
    missing = [tool["name"] for tool in scoped if tool["name"] not in listed]
    differing = []
    for tool in scoped:
        other = listed.get(tool["name"], tool)
        fields = sorted(str(field) for field in {*tool, *other} if not _same(tool, other, field))
        if fields:
            differing.append(f"{tool['name']} differs from tools/list in {', '.join(fields[:5])}")
    return missing, differing


def _same(one: Mapping[str, Any], other: Mapping[str, Any], field: str) -> bool:
    return (field in one) == (field in other) and one.get(field) == other.get(field)


async def _shared(visit: Visit) -> AsyncIterator[Observation]:
    """AD-6: the same name under two agents that this caller opened."""
    first: dict[str, tuple[str, Mapping[str, Any]]] = {}
    for agent, details in visit.agents.items():
        for tool in _scoped(details) or []:
            other, known = first.setdefault(tool["name"], (agent, tool))
            if other == agent:
                continue
            cited = (visit.opened[other], visit.opened[agent])
            if known == tool:
                yield held("AD-6", f"{tool['name']} is the same in {other} and {agent}", *cited)
            else:
                yield broken("AD-6", f"{tool['name']} differs between {other} and {agent}", *cited)


async def hints(ground: Ground) -> AsyncIterator[Observation]:
    """AD-24."""
    for visit in ground.visits:
        for name, details in visit.agents.items():
            if "modelRoutingHint" not in details:
                continue
            hint = details["modelRoutingHint"]
            well = isinstance(hint, Mapping) and isinstance(hint.get("vision"), bool)
            if well and hint.get("role", "small") in _ROLES:
                yield held("AD-24", "hints are well-formed", visit.opened[name])
            else:
                yield broken("AD-24", f"{name} hints {str(hint)[:80]}", visit.opened[name])
    yield unexercised("AD-24", "no agent that was opened has a modelRoutingHint")


async def unknown(ground: Ground) -> AsyncIterator[Observation]:
    """AD-19."""
    seen = await ground.first.line.ask(AGENTS_GET, {"name": made_up_name()})
    if (seen.code, seen.reason) == (INVALID_PARAMS, AGENT_NOT_FOUND):
        yield held("AD-19", "a name of nobody's is refused as the draft has it", seen)
    else:
        yield broken("AD-19", f"a name of nobody's: -32602 with agent_not_found, got {seen.answered}", seen)


async def no_running(ground: Ground) -> AsyncIterator[Observation]:
    """AD-28. The names asked for are nobody's, so that even a server with such a method runs nothing."""
    line = ground.first.line
    made_up = await line.ask(f"agents/{secrets.token_hex(6)}", {"name": made_up_name()}, note="a method of nobody's")
    seen = [await line.ask(method, {"name": made_up_name()}) for method in _RUNNING]
    for one in seen:
        if one.code != METHOD_NOT_FOUND and (one.code is None or one.code != made_up.code):
            yield broken("AD-28", f"{one.asked.split()[0]}: no such method, got {one.answered}", one, made_up)
            return
    yield held("AD-28", f"{', '.join(_RUNNING)} are no methods", *seen)


async def scope_challenges(ground: Ground) -> AsyncIterator[Observation]:
    """CO-6, where opening a listed agent was refused."""
    for visit in ground.visits:
        for name, seen in visit.refused_for_scope.items():
            challenge = seen.challenge
            if seen.status == 403 and challenge is not None and challenge.scope:
                yield held("CO-6", f"{name} asks {visit.label} for {' '.join(challenge.scope)}", seen)
            else:
                yield broken("CO-6", _lacking(name, seen), seen)
    yield unexercised("CO-6", "every agent that is listed opens: nobody was refused for lack of scope")


def _lacking(name: str, seen: Seen) -> str:
    if seen.status != 403:
        return f"{name} is refused with HTTP {seen.status}, not 403"
    what = "a Bearer challenge with insufficient_scope" if seen.challenge is None else "a scope in its challenge"
    return f"{name} is refused without {what}"


def _is_text(value: object) -> bool:
    return isinstance(value, str) and bool(value)
