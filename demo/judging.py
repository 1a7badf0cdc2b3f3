"""What came of a scene: its findings, whether somebody else disturbed it, and whether the walk can go on.

Owns what becomes of an answer that no check can read: a failed check, never a crash and never an excuse. It leaves what
must hold to the script, and playing again to `demo.stage`.
"""

from collections.abc import Sequence

from agent_discovery.host import ExtensionMissing, HostError, Unreachable
from demo.events import Stopped
from demo.faithful import as_scripted
from demo.memory import UNREADABLE, Memory, NotReached
from demo.scene import Check, Disturbance, Finding, Scene

__all__ = ["Findings", "disturbance", "findings", "reason_to_stop"]

Findings = Sequence[tuple[str, Finding]]
"""Each check's title, and what it found."""


def findings(scene: Scene, memory: Memory) -> Findings:
    """What every check of the scene found, the one that all scenes have last."""
    faithful = Check("What travelled is what the script says", lambda memory: as_scripted(scene, memory))
    return [(check.title, _found(check, memory)) for check in (*scene.checks, faithful)]


def _found(check: Check, memory: Memory) -> Finding:
    try:
        return check.probe(memory)
    except (NotReached, HostError) as problem:
        return Finding(False, "an answer to look at", str(problem))
    except UNREADABLE as problem:
        return Finding(False, "an answer of the draft's shape", f"{type(problem).__name__}: {problem}")


async def disturbance(scene: Scene, memory: Memory, found: Findings) -> Disturbance | None:
    """Who else was at work, where that may be why a check failed; None where nothing failed or nothing shows it."""
    if scene.disturbed is None or all(finding.held for _, finding in found):
        return None
    try:
        return await scene.disturbed(memory)
    except (HostError, *UNREADABLE):
        return None  # what cannot be read does not excuse a failed check


def reason_to_stop(scene: Scene, memory: Memory, found: Findings, url: str) -> Stopped | None:
    """Why the walk cannot go on after this scene: nobody answers, or the server does not offer what it is about."""
    errors = [trace.error for trace in memory.traces.values() if trace.error is not None]
    if not memory.connections and errors:
        return Stopped(scene, errors[-1])
    if lost := [error for error in errors if isinstance(error, Unreachable)]:
        return Stopped(scene, lost[-1])
    if scene.gate and not found[0][1].held:
        return Stopped(scene, ExtensionMissing(url))
    return None
