"""A survey: everything that can be shown of a server from outside, on one wire, with the tokens at hand.

Owns the order, the bounds, and what becomes of a probe that fails: its clauses get a reason, the survey goes on. It
changes nothing at the server and ends every session that it opened.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

import anyio

from agent_discovery.host import (
    ClientInfo,
    Credential,
    ExtensionMissing,
    FailureFrame,
    Frame,
    HostError,
    NotAuthenticated,
    Opening,
    TimedOut,
    Unreachable,
    Wire,
    connect,
)
from agent_discovery.host.exchange import Channel
from demo.cast import CLIENT_NAME
from demo.clauses.ground import Ground, Visit, declared_for, read_pages
from demo.clauses.probes import PROBES, Probe
from demo.clauses.scenes import SceneOutcome, call_tools, played_scenes
from demo.clauses.verdicts import Fault, Observation, Verdict, judge, unexercised
from demo.memory import UNREADABLE

__all__ = ["CallerRefused", "Survey", "survey"]

_MOST_TIMEOUTS: Final = 5


class CallerRefused(Exception):
    """The server does not accept one of the tokens; `label` names the caller, `error` is the refusal."""

    def __init__(self, label: str, error: HostError) -> None:
        self.label = label
        self.error = error
        super().__init__(f"the server refuses the token of {label}; give one that it accepts with --token")


@dataclass(frozen=True)
class Survey:
    """What a survey found."""

    url: str
    wire: Wire
    protocol_version: str
    server: Mapping[str, Any]
    callers: tuple[str, ...]
    scenes: tuple[SceneOutcome, ...]
    verdicts: tuple[Verdict, ...]
    faults: tuple[Fault, ...]

    @property
    def failed(self) -> bool:
        """Whether a clause that demands something is broken, or an answer did not come or could not be read."""
        return bool(self.faults) or any(verdict.fails for verdict in self.verdicts)


async def survey(
    url: str,
    credentials: Sequence[Credential],
    *,
    wire: Literal["auto"] | Wire = "auto",
    timeout: float = 10.0,
    hidden_name: str | None = None,
    call_tools: bool = False,
) -> Survey:
    """Look at a server with one token for each caller, the first one's roster in the leading part.

    Raises:
        HostError: nobody answers, or without the extension (`ExtensionMissing`); also where the server goes away.
        CallerRefused: it does not accept one of the tokens.
    """
    opening = await _opening(url, credentials[0], wire, timeout)
    channel = Channel(url, None)
    ground = Ground(
        channel,
        opening.wire,
        tuple(credentials),
        timeout,
        hidden_name=hidden_name,
        call_tools=call_tools,
        declared=declared_for(opening.settings),
    )
    try:
        return await _looked_at(ground, url, opening.server_info)
    finally:
        await ground.aclose()
        await channel.aclose()


async def _opening(url: str, credential: Credential, wire: Literal["auto"] | Wire, timeout: float) -> Opening:
    """What the server says of itself, on the wire that it has."""
    info = ClientInfo(CLIENT_NAME)
    try:
        async with await connect(url, credential, wire=wire, timeout=timeout, client_info=info) as connection:
            opening = connection.opening
    except NotAuthenticated as error:
        raise CallerRefused(credential.label, error) from error
    if opening is None or not opening.has_agents:
        raise ExtensionMissing(url)
    return opening


async def _looked_at(ground: Ground, url: str, server: Mapping[str, Any]) -> Survey:
    strikes: list[Frame] = []
    ground.channel.observe(lambda frame: strikes.append(frame) if _is_timeout(frame) else None)
    await ground.read()
    for visit in ground.visits:
        if isinstance(visit.opening.error, NotAuthenticated):
            raise CallerRefused(visit.label, visit.opening.error)
    faults = [fault for visit in ground.visits for fault in _faults_of(visit, await _gone(ground, visit))]
    observations: list[Observation] = []
    for probe in PROBES:
        if len(strikes) >= _MOST_TIMEOUTS:
            observations += [unexercised(clause, "the server had stopped answering") for clause in probe.clauses]
            continue
        found, fault = await _look(probe, ground)
        observations += found
        faults += [] if fault is None else [fault]
    called, why_not, callable_ = await call_tools(ground)
    return Survey(
        url=url,
        wire=ground.wire,
        protocol_version=ground.first.line.protocol_version,
        server=server,
        callers=tuple(visit.label for visit in ground.visits),
        scenes=played_scenes(ground, called, why_not),
        verdicts=judge([*observations, *callable_]),
        faults=tuple(faults),
    )


async def _look(probe: Probe, ground: Ground) -> tuple[list[Observation], Fault | None]:
    """What a probe observed, and the fault that ended it early."""
    observed: list[Observation] = []
    try:
        with anyio.fail_after(2 * ground.patience):
            async for observation in probe.look(ground):
                observed.append(observation)  # noqa: PERF401 - what was seen before a failure counts
    except Unreachable:
        raise
    except (HostError, TimeoutError, *UNREADABLE) as problem:
        clauses = ", ".join(probe.clauses)
        fault = Fault(f"looking at {clauses} ended in {type(problem).__name__}: {str(problem)[:200]}")
        return [*observed, *(unexercised(clause, "looking at it failed") for clause in probe.clauses)], fault
    return observed, None


def _is_timeout(frame: Frame) -> bool:
    return isinstance(frame, FailureFrame) and isinstance(frame.error, TimedOut)


async def _gone(ground: Ground, visit: Visit) -> frozenset[str]:
    """Agents that were listed and then not found because they are not listed any more."""
    lost = [name for name, seen in visit.opened.items() if seen.reason == "agent_not_found"]
    if not lost:
        return frozenset()
    now = await read_pages(visit.line, "agents/list", "agents", ground.patience)
    return frozenset(lost) - set(now.by_name)


def _faults_of(visit: Visit, gone: frozenset[str]) -> Iterator[Fault]:
    """What is wrong with a caller's own answers, whatever the clauses say."""
    if visit.opening.result is None:
        yield Fault(f"{visit.label} cannot open: {visit.opening.answered}", (visit.opening,))
    for pages in (visit.roster, visit.tools):
        if pages.trouble is not None and not pages.in_cursors and pages.seen[-1].status not in (401, 403):
            yield Fault(f"{visit.label}: {pages.trouble}", pages.cited)
    for name, seen in visit.opened.items():
        if seen.result is not None:
            for text in _wrong_details(name, seen.result):
                yield Fault(f"{visit.label}: {text}", (seen,))
        elif name not in visit.refused_for_scope and name not in gone:
            yield Fault(f"{name} is listed for {visit.label} and does not open: {seen.answered}", (seen,))


def _wrong_details(name: str, details: Mapping[str, Any]) -> Iterator[str]:
    agent = details.get("agent")
    if not isinstance(agent, Mapping):
        yield f"the details of {name} have no agent"
    elif agent.get("name") != name:
        yield f"asked for {name}, the server sent {str(agent.get('name'))[:60]!r}"
    if not isinstance(details.get("instructions", ""), str):
        yield f"the instructions of {name} are no text"
    given = details.get("tools")
    if not isinstance(given, list):
        yield f"the details of {name} have no list of tools"
