"""`--roster FILE.toml`: another roster, with tokens, scopes, policies and tools of its own.

Owns the file's format and the error that lists all mistakes in it, each with its line. It leaves the reading of single
values to `roster_table`, the tools' part to `roster_tools`, and publishing to `published`. Nothing in a file is run.
"""

import re
import stat
import tomllib
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, get_args

from agent_discovery.server import Access, AgentDef, ModelRoutingHint, holders_of
from agent_discovery.wire import ModelRole
from server.roster import Provider, Roster
from server.roster_table import Notes, Problem, Table, did_you_mean
from server.roster_tools import access_of, read_tools
from server.tokens import DemoToken
from server.toml_lines import LineIndex

__all__ = ["MAX_BYTES", "RosterFileError", "load_roster", "parse_roster"]

MAX_BYTES: Final = 4_000_000
"""The largest file that is read."""

_SHOWN: Final = 8
"""Problems that the error's text lists; `problems` has them all."""

_BEARER: Final = re.compile(r"[A-Za-z0-9._~+/-]+=*")
_POSITION: Final = re.compile(r"\s*\(at (?:line (\d+), column \d+|end of document)\)$")
_QUOTED: Final = re.compile(r"\(.*\)|'[^']{2,}'|\"[^\"]{2,}\"", re.DOTALL)


class RosterFileError(ValueError):
    """The file is no roster. `path` is the file as it was named, `problems` all that is wrong, by line.

    The text has a line `FILE:LINE: FIELD: what to do` for each of the first problems. No token is in it.
    """

    def __init__(self, path: str, problems: Sequence[Problem]) -> None:
        lines = [f"{path}:{problem}" if problem.line else f"{path}: {problem.text}" for problem in problems[:_SHOWN]]
        if len(problems) > _SHOWN:
            lines.append(f"{path}: {len(problems) - _SHOWN} more; mend these first")
        super().__init__("\n".join(lines))
        self.path = path
        self.problems = tuple(problems)


def load_roster(path: Path) -> Roster:
    """The roster in a file.

    Raises:
        RosterFileError: the file cannot be read, or is no roster.
    """
    try:
        mode = path.stat().st_mode
        if not stat.S_ISREG(mode):
            # Opening a pipe would wait for whoever writes to it.
            raise _whole(path, "is not a regular file; name a TOML file")
        with path.open("rb") as file:
            raw = file.read(MAX_BYTES + 1)
    except (OSError, ValueError) as error:
        if isinstance(error, RosterFileError):
            raise
        reason = error.strerror if isinstance(error, OSError) and error.strerror else "its name is not valid"
        raise _whole(path, f"cannot be read: {reason}; check the name and its rights") from error
    if len(raw) > MAX_BYTES:
        raise _whole(path, f"is larger than {MAX_BYTES} bytes; split the roster over several servers")
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise RosterFileError(str(path), [Problem(line, "", "is not UTF-8; save the file as UTF-8")]) from error
    return parse_roster(text, str(path))


def parse_roster(text: str, name: str = "roster") -> Roster:
    """The roster in a TOML text; `name` is what errors call it.

    Raises:
        RosterFileError: the text is no roster.
    """
    try:
        data = tomllib.loads(text)
        notes = Notes(LineIndex(text), _secrets(data))
    except RecursionError as error:
        raise RosterFileError(name, [Problem(1, "", "is nested too deeply; a roster needs a few levels")]) from error
    except ValueError as error:
        raise RosterFileError(name, [_syntax_problem(str(error), text)]) from error
    roster = _read(Table(data, (), notes))
    if notes.problems or roster is None:
        raise RosterFileError(name, notes.problems)
    return roster


def _read(root: Table) -> Roster | None:
    root.only("scopes", "tokens", "agents", "tools", "provider")
    scopes = _scopes(root)
    tokens = _tokens(root, scopes)
    tools = read_tools(root.tables("tools"), scopes)
    agents = _agents(root, scopes, {tool.name: tool for tool in tools})
    provider = _provider(root)
    return (
        None
        if root.notes.problems
        else Roster(agents=agents, tools=tools, tokens=tokens, scopes=scopes, provider=provider)
    )


def _scopes(root: Table) -> tuple[str, ...]:
    scopes = root.texts("scopes")
    for number, scope in enumerate(scopes):
        try:
            holders_of(scope)
        except ValueError:
            text = f"must be printable ASCII without space, quote or backslash, got {root.notes.show(scope)}; rename it"
            root.problem("scopes", text, number)
    return scopes


def _tokens(root: Table, scopes: Sequence[str]) -> tuple[DemoToken, ...]:
    tokens: dict[str, DemoToken] = {}
    if not root.data.get("tokens"):
        root.problem("tokens", "are missing, so nobody could ask; add [[tokens]] with token, user and scopes")
    for table in root.tables("tokens", secret=True):
        table.only("token", "user", "scopes")
        token, user = table.text("token", required=True), table.text("user", required=True)
        held = table.texts("scopes")
        for number, scope in enumerate(held):
            if scope not in scopes:
                remedy = did_you_mean(scope, scopes) or " add it to scopes at the top of the file"
                table.problem("scopes", f"names a scope that is not in scopes;{remedy}", number)
        if token is None or user is None:
            continue
        if not _BEARER.fullmatch(token):
            table.problem("token", "must be letters, digits and -._~+/ only (RFC 6750); choose another")
        elif token in tokens:
            table.problem("token", "is there twice; each token stands for one user")
        tokens[token] = DemoToken(token, user, held)
    return tuple(tokens.values())


def _agents(root: Table, scopes: Sequence[str], tools: Collection[str]) -> tuple[AgentDef, ...]:
    agents: dict[str, AgentDef] = {}
    for table in root.tables("agents"):
        table.only("name", "description", "capabilities", "instructions", "tools", "visible_to", "challenge", "model")
        name = table.text("name", required=True)
        if name is not None and name in agents:
            table.problem("name", f"{table.notes.show(name)} is there twice; agents need names of their own")
        agent = _agent(table, name, access_of(table, scopes), tools)
        if agent is not None:
            agents.setdefault(agent.name, agent)
    return tuple(agents.values())


def _agent(table: Table, name: str | None, access: Access, known_tools: Collection[str]) -> AgentDef | None:
    capabilities, tools = table.texts("capabilities"), table.texts("tools")
    for number, tool in enumerate(tools):
        if tool not in known_tools:
            remedy = did_you_mean(tool, known_tools) or " add [[tools]] with that name, or take it out"
            table.problem("tools", f"there is no tool {table.notes.show(tool)};{remedy}", number)
    for number, label in enumerate(capabilities):
        if label in tools:
            text = (
                f"{table.notes.show(label)} is one of its tools; capabilities are labels that say what it is good for"
            )
            table.problem("capabilities", text, number)
    hint = _hint(table)
    description, instructions = table.text("description"), table.text("instructions")
    if name is None:
        return None
    try:
        AgentDef(name=name)
    except ValueError:
        rule = "must be 1 to 128 visible characters without whitespace"
        table.problem("name", f"{rule}, got {table.notes.show(name)}; write a short handle")
        return None
    return AgentDef(
        name=name,
        description=description,
        capabilities=[label for label in capabilities if label not in tools],
        instructions=instructions,
        tools=tools,
        model_routing_hint=hint,
        access=access,
    )


def _hint(agent: Table) -> ModelRoutingHint | None:
    model = agent.table("model")
    if model is None:
        return None
    model.only("role", "vision")
    role = model.choice("role", get_args(ModelRole))
    return ModelRoutingHint.model_validate({"role": role, "vision": model.flag("vision", default=False)})


def _provider(root: Table) -> Provider:
    table = root.table("provider")
    if table is None:
        return Provider()
    table.only("organization", "url", "version", "documentation_url")
    for key in ("url", "documentation_url"):
        url = table.text(key)
        if url is not None and not re.fullmatch(r"https?://[^\s/]\S*", url):
            table.problem(key, f"must be an http or https URL, got {table.notes.show(url)}; write it out in full")
    built_in = Provider()
    return Provider(
        organization=table.text("organization") or built_in.organization,
        url=table.text("url"),
        version=table.text("version") or built_in.version,
        documentation_url=table.text("documentation_url"),
    )


def _secrets(data: Mapping[str, Any]) -> Iterator[str]:
    """Whatever may be a token: the values of `token`, and what stands where a table of tokens should."""
    tokens = data.get("tokens")
    for item in tokens if isinstance(tokens, list) else [tokens]:
        if isinstance(item, dict):
            yield from (value for key, value in item.items() if key == "token" and isinstance(value, str))
        elif isinstance(item, str):
            yield item


def _syntax_problem(message: str, text: str) -> Problem:
    """What `tomllib` says, without what it quotes: a token might be in there."""
    found = _POSITION.search(message)
    line = int(found[1]) if found and found[1] else text.count("\n") + 1 if found else 1
    said = _QUOTED.sub("…", _POSITION.sub("", message))
    return Problem(line, "", f"is not valid TOML: {said}; mend the syntax here")


def _whole(path: Path, text: str) -> RosterFileError:
    return RosterFileError(str(path), [Problem(0, "", text)])
