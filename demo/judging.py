"""What came of a scene: its findings, and whether somebody else disturbed it. Looks at memory, sends next to nothing.

Owns what becomes of an answer that no check can read: a failed check, never a crash and never an excuse. It leaves what
must hold to the script, and playing again to `demo.stage`.
"""

from collections.abc import Sequence

from agent_discovery.host import HostError
from demo.faithful import as_scripted
from demo.memory import UNREADABLE, Memory, NotReached
from demo.scene import Check, Disturbance, Finding, Scene

__all__ = ["Findings", "disturbance", "findings"]

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
