"""The tools' part of a roster file, and the two policies that tools and agents share.

Owns which of this server's tools a file may name, and how it writes tools of its own. It leaves their answering to
`canned`.
"""

import datetime
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, cast, get_args

from agent_discovery.server import Access, everyone, holders_of
from server.canned import Argument, ArgumentType, CannedTool, placeholders
from server.roster import RELEASE_AGENT, TOOL_NAMES, RosterTool
from server.roster_table import Table, did_you_mean

__all__ = ["access_of", "read_tools"]

_TOOL_NAME: Final = re.compile(r"[A-Za-z0-9_.-]{1,128}")
_ARGUMENT_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}")
_LARGEST: Final = 2**53
"""Beyond it numbers lose digits on their way through other people's JSON."""


def access_of(table: Table, scopes: Sequence[str]) -> Access:
    """The policies of an agent or a tool: `visible_to` (who may know of it) and `challenge` (what its use takes)."""
    policies: dict[str, tuple[str, ...]] = {}
    for key in ("visible_to", "challenge"):
        named = table.texts(key, may_be_empty=False)
        for number, scope in enumerate(named):
            if scope not in scopes:
                remedy = did_you_mean(scope, scopes) or " add it to scopes at the top of the file"
                table.problem(key, f"{table.notes.show(scope)} is not in scopes;{remedy}", number)
        policies[key] = tuple(scope for scope in named if scope in scopes)
    try:
        visible_to = holders_of(*policies["visible_to"]) if policies["visible_to"] else everyone
        return Access(visible_to=visible_to, challenge=policies["challenge"])
    except ValueError:
        # A scope that is none was noted where the file lists its scopes.
        return Access()


def read_tools(tables: Iterable[Table], scopes: Sequence[str]) -> tuple[RosterTool, ...]:
    """The tools of a file. One with mistakes keeps its name here, so that agents who name it are no mistakes too."""
    tools: dict[str, RosterTool] = {}
    publishing: Table | None = None
    for table in tables:
        name = table.text("name", required=True)
        access = access_of(table, scopes)
        if name is None:
            continue
        if name in tools:
            table.problem("name", f"{table.notes.show(name)} is there twice; tools need names of their own")
        if name in TOOL_NAMES:
            tool = RosterTool(name=name, access=access)
            _check_stock(table, name)
            publishing = table if name == "publish_release_agent" else publishing
        else:
            tool = RosterTool(name=name, canned=_canned(table, name), access=access)
        tools.setdefault(name, tool)
    missing = [name for name in RELEASE_AGENT.tools if name not in tools]
    if publishing is not None and missing:
        publishing.problem("name", f"publishes an agent that needs {' and '.join(missing)}; add those to [[tools]] too")
    return tuple(tools.values())


def _check_stock(table: Table, name: str) -> None:
    if "result" in table.data:
        table.problem(
            "result", f"{name} is a tool of this server and has its own answers; choose another name for yours"
        )
    else:
        table.only("name", "visible_to", "challenge")


def _canned(table: Table, name: str) -> CannedTool | None:
    if not _TOOL_NAME.fullmatch(name):
        text = f"must be 1 to 128 letters, digits and _.- only, got {table.notes.show(name)}; rename it"
        table.problem("name", text)
    if "result" not in table.data:
        guess = did_you_mean(name, TOOL_NAMES) or f" give it a result, or name one of: {', '.join(TOOL_NAMES)}"
        table.problem("name", f"this server has no tool {table.notes.show(name)};{guess}")
        return None
    table.only("name", "title", "description", "arguments", "result", "read_only", "visible_to", "challenge")
    arguments = _arguments(table)
    _check_template(table, table.data["result"], arguments, ())
    description = table.text("description", required=True)
    return CannedTool(
        name=name,
        title=table.text("title"),
        description=description or "",
        arguments=arguments,
        result=table.data["result"],
        read_only=table.flag("read_only", default=True),
    )


def _arguments(tool: Table) -> tuple[Argument, ...]:
    table = tool.table("arguments")
    found = []
    for name in table.data if table else ():
        if table is None or (spec := table.table(name)) is None:
            continue
        if not _ARGUMENT_NAME.fullmatch(name):
            table.problem(name, "must be a letter or _, then letters, digits and _; rename it")
        found.append(_argument(spec, name))
    return tuple(found)


def _argument(spec: Table, name: str) -> Argument:
    spec.only("type", "description", "optional", "default", "choices", "minimum", "maximum")
    kind = cast(ArgumentType, spec.choice("type", get_args(ArgumentType)) or "string")
    bare = Argument(name=name, type=kind)
    limits = {key: _limit(spec, key, kind) for key in ("minimum", "maximum")}
    if None not in limits.values() and cast(float, limits["minimum"]) > cast(float, limits["maximum"]):
        spec.problem("maximum", "must not be less than minimum; swap the two")
    argument = Argument(
        name=name,
        type=kind,
        description=spec.text("description"),
        optional=spec.flag("optional", default=False),
        choices=_choices(spec, bare),
        minimum=limits["minimum"],
        maximum=limits["maximum"],
    )
    default = spec.data.get("default")
    if default is None:
        return argument
    if fault := argument.fault(default) or _number_fault(default):
        spec.problem("default", f"{fault}, got {spec.notes.show(default)}; mend it or leave it out")
        return argument
    return Argument(**{**vars(argument), "default": default})


def _choices(spec: Table, argument: Argument) -> tuple[Any, ...]:
    choices = spec.data.get("choices")
    if choices is None:
        return ()
    if not isinstance(choices, list) or not choices:
        spec.problem(
            "choices", f"must be an array with something in it, got {spec.notes.show(choices)}; list the choices"
        )
        return ()
    for number, choice in enumerate(choices):
        if fault := argument.fault(choice) or _number_fault(choice):
            spec.problem("choices", f"{fault}, as its type says, got {spec.notes.show(choice)}; mend it", number)
            return ()
    return tuple(choices)


def _limit(spec: Table, key: str, kind: ArgumentType) -> float | None:
    value = spec.data.get(key)
    if value is None:
        return None
    if kind not in ("integer", "number"):
        spec.problem(key, 'is for numbers; write type = "integer" or "number", or leave it out')
        return None
    if isinstance(value, bool) or not isinstance(value, (int, float)) or _number_fault(value):
        spec.problem(key, f"must be a number, got {spec.notes.show(value)}; write it without quotes")
        return None
    return value


def _number_fault(value: object) -> str | None:
    if isinstance(value, float) and not math.isfinite(value):
        return "must be a finite number"
    if isinstance(value, int) and abs(value) > _LARGEST:
        return "must not be beyond 2 to the power of 53"
    return None


def _check_template(tool: Table, value: object, arguments: Sequence[Argument], inside: tuple[str | int, ...]) -> None:
    """Note all that cannot be filled or sent: the result must be a text or a table, made of what JSON has."""
    if not inside and not isinstance(value, (str, dict)):
        text = f'must be a text or a table, got {tool.notes.show(value)}; write result = "…" or [tools.result]'
        tool.problem("result", text)
        return
    match value:
        case Mapping():
            for key, item in value.items():
                _check_template(tool, item, arguments, (*inside, key))
        case list():
            for number, item in enumerate(value):
                _check_template(tool, item, arguments, (*inside, number))
        case str():
            known = [argument.name for argument in arguments]
            for name in placeholders(value):
                if name not in known:
                    remedy = did_you_mean(name, known) or " add it to arguments, or write {{ for a brace"
                    tool.problem("result", f"there is no argument {tool.notes.show(name)};{remedy}", *inside)
        case datetime.date() | datetime.time():
            tool.problem("result", "dates and times have no place in JSON; put it in quotes", *inside)
        case _:
            if fault := _number_fault(value):
                tool.problem("result", f"{fault}; mend it or put it in quotes", *inside)
