"""The walkthrough's seven scenes at a server that is not ours: what can be played there, with that server's own names.

Owns which scenes apply and what each shows, out of what was read already. The one thing sent here is scene 4's calls,
and only of tools that may be called.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from demo.clauses.ground import Ground, Visit
from demo.clauses.line import Seen
from demo.clauses.verdicts import Observation, broken, held

__all__ = ["SceneOutcome", "call_tools", "played_scenes"]

_MOST_CALLED: Final = 3
_MOST_NAMED: Final = 8


@dataclass(frozen=True)
class SceneOutcome:
    """One scene: what it showed, or why it does not apply here."""

    number: int
    title: str
    text: str
    applies: bool = True
    shown: tuple[Seen, ...] = ()


def _not_applicable(number: int, title: str, reason: str) -> SceneOutcome:
    return SceneOutcome(number, title, reason, applies=False)


async def call_tools(ground: Ground) -> tuple[tuple[Seen, ...], str, tuple[Observation, ...]]:
    """Call tools of the first agent that may be called; gives the exchanges, why there are none, and AD-7."""
    scoped = _tools_of_first(ground.first)
    if not scoped:
        return (), "no agent with tools could be opened", ()
    plain = [tool for tool in scoped if not _required(tool)]
    if not plain:
        return (), "every tool of the agent requires arguments, and a walk makes none up", ()
    allowed = plain if ground.call_tools else [tool for tool in plain if _is_read_only(tool)]
    if not allowed:
        return (), "calling may have effects and no tool says that it is read-only; allow it with --call-tools", ()
    called = [await _call(ground.first, tool) for tool in allowed[:_MOST_CALLED]]
    return tuple(called), "", tuple(_callable(seen) for seen in called)


async def _call(visit: Visit, tool: Mapping[str, Any]) -> Seen:
    return await visit.line.ask("tools/call", {"name": tool["name"], "arguments": {}})


def _callable(seen: Seen) -> Observation:
    if seen.result is not None or seen.status in (401, 403) or seen.challenge is not None:
        return held("AD-7", f"{seen.asked} is answered", seen)
    return broken("AD-7", f"{seen.asked}: expected a result, got {seen.answered}", seen)


def _first_agent(visit: Visit) -> str | None:
    return next(iter(visit.agents), None)


def _tools_of_first(visit: Visit) -> list[Mapping[str, Any]]:
    for details in visit.agents.values():
        given = details.get("tools")
        if isinstance(given, list) and given:
            return [tool for tool in given if isinstance(tool, Mapping) and isinstance(tool.get("name"), str)]
    return []


def _required(tool: Mapping[str, Any]) -> bool:
    schema = tool.get("inputSchema")
    return not isinstance(schema, Mapping) or bool(schema.get("required"))


def _is_read_only(tool: Mapping[str, Any]) -> bool:
    annotations = tool.get("annotations")
    return isinstance(annotations, Mapping) and annotations.get("readOnlyHint") is True


def played_scenes(ground: Ground, called: tuple[Seen, ...], why_not_called: str) -> tuple[SceneOutcome, ...]:
    """The seven scenes, as far as they apply."""
    return (
        _connect(ground),
        _list(ground.first),
        _open(ground.first),
        _run(called, why_not_called),
        _other_roster(ground),
        _step_up(ground),
        _not_applicable(
            7, "The roster changes", "nothing that a walk may do changes this server's roster; see AD-13 and AD-14"
        ),
    )


def _connect(ground: Ground) -> SceneOutcome:
    settings = ground.settings
    said = (
        "and promises notifications"
        if isinstance(settings, Mapping) and settings.get("listChanged") is True
        else ("and promises no notifications")
    )
    text = f"the server advertises the extension, {said}"
    return SceneOutcome(1, "Connect and look for the extension", text, shown=(ground.first.opening,))


def _list(visit: Visit) -> SceneOutcome:
    title = f"List what {visit.label} can see"
    if not visit.names:
        return _not_applicable(2, title, visit.roster.trouble or f"{visit.label} sees no agent")
    return SceneOutcome(2, title, f"{visit.label} sees {_some(visit.names)}", shown=visit.roster.cited)


def _open(visit: Visit) -> SceneOutcome:
    name = _first_agent(visit)
    if name is None:
        return _not_applicable(3, "Open an agent", f"{visit.label} could open none")
    given = visit.agents[name].get("tools")
    names = [str(tool.get("name")) for tool in given if isinstance(tool, Mapping)] if isinstance(given, list) else []
    text = f"{name} has {_some(names)}" if names else f"{name} has no tools"
    return SceneOutcome(3, f"Open {name}", text, shown=(visit.opened[name], *visit.tools.cited[:1]))


def _run(called: tuple[Seen, ...], why_not: str) -> SceneOutcome:
    title = "Run it through tools/call"
    if not called:
        return _not_applicable(4, title, why_not)
    return SceneOutcome(4, title, f"{len(called)} of its tools called, each once", shown=called)


def _other_roster(ground: Ground) -> SceneOutcome:
    title = "Another caller sees another roster"
    if len(ground.visits) < 2:
        return _not_applicable(5, title, "one token only; give another caller's with --token")
    first = ground.first
    for other in ground.visits[1:]:
        apart = sorted(set(first.names) ^ set(other.names))
        if apart:
            text = f"{first.label} and {other.label} do not both see {_some(apart)}"
            return SceneOutcome(5, title, text, shown=(*first.roster.cited[:1], *other.roster.cited[:1]))
    return _not_applicable(5, title, f"these {len(ground.visits)} callers see the same agents")


def _step_up(ground: Ground) -> SceneOutcome:
    refused = [(visit, name, seen) for visit in ground.visits for name, seen in visit.refused_for_scope.items()]
    if not refused:
        return _not_applicable(6, "Step up", "every agent that is listed opens without more scope")
    visit, name, seen = refused[0]
    wanted = " ".join(seen.challenge.scope) if seen.challenge is not None else "nothing that can be read"
    for other in ground.visits:
        if name in other.agents:
            text = f"{name} asks {visit.label} for {wanted}, and opens for {other.label}"
            return SceneOutcome(6, "Step up", text, shown=(seen, other.opened[name]))
    return SceneOutcome(6, "Step up", f"{name} asks {visit.label} for {wanted}; no token here has it", shown=(seen,))


def _some(names: tuple[str, ...] | list[str]) -> str:
    more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    return ", ".join(names[:_MOST_NAMED]) + more
