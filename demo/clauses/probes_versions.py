"""What a server does with declarations: none at all, versions of the extension, and the floor that it advertises."""

from collections.abc import AsyncIterator, Iterator, Mapping
from typing import Any, Final

from agent_discovery.versions import DEFAULT_VERSION, InvalidVersion, Version
from agent_discovery.wire import (
    AGENTS_LIST,
    EXTENSION_ID,
    EXTENSION_VERSION_NOT_SUPPORTED,
    METHOD_NOT_FOUND,
    MISSING_CLIENT_CAPABILITY,
    PROTOCOL_VERSION_NOT_SUPPORTED,
)
from demo.clauses.ground import NO_PROTOCOL, Ground
from demo.clauses.line import Line, Seen
from demo.clauses.verdicts import Observation, broken, held, unexercised

__all__ = ["advertised_versions", "floor", "foreign_major", "minors", "no_declaration", "no_version", "two_failures"]

FOREIGN: Final = "99.0.0"
"""A version whose major no server has."""
_UNCALLED: Final = (METHOD_NOT_FOUND, MISSING_CLIENT_CAPABILITY)


async def no_declaration(ground: Ground) -> AsyncIterator[Observation]:
    """AD-2 and AD-3: a client that does not declare the extension."""
    bare = ground.bare
    if bare is None or bare.opening.result is None:
        opening = () if bare is None else (bare.opening,)
        yield broken("AD-2", "a client that does not declare the extension cannot even open", *opening)
        yield unexercised("AD-3", "a client that does not declare the extension cannot open")
        return
    if not ground.first.tools.is_whole:
        yield unexercised("AD-2", f"tools/list cannot be read: {ground.first.tools.trouble}")
    elif not bare.tools.is_whole:
        yield broken("AD-2", f"without the extension, {bare.tools.trouble}", *bare.tools.cited)
    elif lost := sorted(set(ground.first.tools.by_name) - set(bare.tools.by_name)):
        yield broken("AD-2", f"without the extension, tools/list lacks {', '.join(lost[:5])}", *bare.tools.cited)
    else:
        yield held("AD-2", "tools/list answers without the extension too, with the same tools", *bare.tools.cited)
    seen = await bare.line.ask(AGENTS_LIST, note="not declared")
    if seen.code in _UNCALLED:
        yield held("AD-3", "tools/list goes on, and agents/list is refused", *bare.tools.cited, seen)
    else:
        yield broken("AD-3", f"agents/list without negotiation: -32021 or -32601, got {seen.answered}", seen)


async def advertised_versions(ground: Ground) -> AsyncIterator[Observation]:
    """EV-1 and EV-3, by the settings."""
    settings = ground.settings
    if not isinstance(settings, Mapping) or "versions" not in settings:
        for clause in ("EV-1", "EV-3"):
            yield unexercised(clause, "the server names no versions of the extension, neither offered nor in a refusal")
        return
    for observation in _listed("advertised", settings["versions"], ground.first.opening):
        yield observation


def _listed(where: str, versions: Any, shown: Seen) -> Iterator[Observation]:
    """EV-1 and EV-3 for a list of versions."""
    try:
        parsed = [Version.parse(text) for text in versions] if isinstance(versions, list) and versions else None
    except InvalidVersion as error:
        yield broken("EV-1", f"{where}: {error}", shown)
        return
    if parsed is None:
        yield broken("EV-1", f"{where}: versions are a list of at least one, got {str(versions)[:60]}", shown)
        return
    texts = ", ".join(map(str, parsed[:8]))
    yield held("EV-1", f"{where}: {texts}", shown)
    if len({version.major for version in parsed}) < len(parsed):
        yield broken("EV-3", f"{where}: two versions of one major among {texts}", shown)
    else:
        yield held("EV-3", f"{where}: one version for each major", shown)


async def foreign_major(ground: Ground) -> AsyncIterator[Observation]:
    """EV-4 and EV-5, and the versions that the refusal names."""
    line, opening = await ground.another_line({"version": FOREIGN})
    note = f"declaring {FOREIGN}"
    if opening.result is None and line.wire == "session":
        yield broken("EV-5", f"opening with {FOREIGN} is refused, though it does not use the extension", opening)
        yield unexercised("EV-4", f"opening with {FOREIGN} is refused already")
        return
    used = await line.ask(AGENTS_LIST, note=note)
    refusal = _refused_version(used)
    supported = refusal.get("supported")
    if used.code == EXTENSION_VERSION_NOT_SUPPORTED and isinstance(supported, list):
        for observation in _listed("in the refusal", supported, used):
            yield observation
    wrong = _wrong_refusal(used, refusal)
    yield broken("EV-4", f"agents/list, {note}: {wrong}", used) if wrong else held("EV-4", f"{note} is refused", used)
    other = await line.ask("tools/list", note=note)
    if other.result is not None:
        yield held("EV-5", f"tools/list answers whoever declares {FOREIGN} too", other)
    elif ground.first.tools.is_whole:
        yield broken("EV-5", f"tools/list, {note}: expected a result, got {other.answered}", other)
    else:
        yield unexercised("EV-5", "tools/list cannot be read in any case")


def _refused_version(seen: Seen) -> Mapping[str, Any]:
    extensions = seen.data.get("extensions")
    ours = extensions.get(EXTENSION_ID) if isinstance(extensions, Mapping) else None
    return ours if isinstance(ours, Mapping) else {}


def _wrong_refusal(seen: Seen, refusal: Mapping[str, Any]) -> str | None:
    if seen.code != EXTENSION_VERSION_NOT_SUPPORTED:
        return f"expected -32005, got {seen.answered}"
    if seen.status != 400:
        return f"expected HTTP 400, got HTTP {seen.status}"
    if refusal.get("requested") != FOREIGN:
        return f"the refusal names {str(refusal.get('requested'))[:40]!r} as requested"
    if not isinstance(refusal.get("supported"), list):
        return "the refusal does not name the supported versions"
    return None


async def minors(ground: Ground) -> AsyncIterator[Observation]:
    """EV-6: a minor and a patch that no server has, of a major that this one has."""
    major = Version.parse(ground.declared.get("version", str(DEFAULT_VERSION))).major
    async for observation in _served(ground, "EV-6", {"version": f"{major}.9.9"}, f"declaring {major}.9.9"):
        yield observation


async def no_version(ground: Ground) -> AsyncIterator[Observation]:
    """EV-2: settings without a version count as 1.0.0."""
    if not ground.declared:
        async for observation in _served(ground, "EV-2", {}, "declaring no version"):
            yield observation
        return
    line, _ = await ground.another_line({})
    seen = await line.ask(AGENTS_LIST, note="declaring no version")
    if seen.code == EXTENSION_VERSION_NOT_SUPPORTED and _refused_version(seen).get("requested") == "1.0.0":
        yield held("EV-2", "this server has no 1.x, and refuses who names no version for asking for 1.0.0", seen)
    else:
        yield broken("EV-2", f"without 1.x, no version is refused as 1.0.0; got {seen.answered}", seen)


async def _served(ground: Ground, clause: str, settings: Mapping[str, Any], note: str) -> AsyncIterator[Observation]:
    if (trouble := ground.first.roster.trouble) is not None and ground.first.roster.seen[-1].result is None:
        yield unexercised(clause, f"no roster could be read in any case: {trouble}")
        return
    line, opening = await ground.another_line(settings)
    seen = await line.ask(AGENTS_LIST, note=note) if _is_open(line, opening) else opening
    if seen.result is not None:
        yield held(clause, f"agents/list answers, {note}", seen)
    else:
        yield broken(clause, f"agents/list, {note}: expected a result, got {seen.answered}", seen)


def _is_open(line: Line, opening: Seen) -> bool:
    return line.wire == "stateless" or opening.result is not None


async def two_failures(ground: Ground) -> AsyncIterator[Observation]:
    """EV-7."""
    if ground.wire == "session":
        yield unexercised("EV-7", "a session agrees on a protocol version first; check it with --wire stateless")
        return
    line, _ = await ground.another_line({"version": FOREIGN})
    note = f"protocol {NO_PROTOCOL}, declaring {FOREIGN}"
    seen = await line.ask(AGENTS_LIST, protocol_version=NO_PROTOCOL, note=note)
    if seen.code == PROTOCOL_VERSION_NOT_SUPPORTED:
        yield held("EV-7", "of the two the protocol version is reported", seen)
    else:
        yield broken("EV-7", f"expected -32022, got {seen.answered}", seen)


async def floor(ground: Ground) -> AsyncIterator[Observation]:
    """EV-10: agents/list below `requires.protocolVersion`."""
    settings = ground.settings
    requires = settings.get("requires") if isinstance(settings, Mapping) else None
    lowest = requires.get("protocolVersion") if isinstance(requires, Mapping) else None
    spoken = ground.first.line.protocol_version
    if not isinstance(lowest, str) or lowest <= spoken:
        yield unexercised("EV-10", f"the server requires nothing above {spoken}, which is spoken here")
        return
    seen = ground.first.roster.seen[-1]
    if seen.result is not None:
        yield held("EV-10", f"it requires {lowest}, and answers {spoken} all the same", seen)
    else:
        yield broken("EV-10", f"it requires {lowest}; at {spoken}, agents/list got {seen.answered}", seen)
