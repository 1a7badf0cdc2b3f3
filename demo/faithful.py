"""Compares what travelled with what the script says: each request as scripted, each answer of the scripted kind.

This is the check that every scene has. It reads the same steps that the diagram and the curl lines are made from, so
that neither can tell a story that the run does not.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from agent_discovery.host import AnswerFrame, ServerRefused
from demo.arrows import Arrow, answer_label, request_label, scripted, seen
from demo.memory import Memory, Trace
from demo.scene import Answer, Exchange, Finding, Leave, Listen, Open, Result, Scene, Step

__all__ = ["as_scripted"]


def as_scripted(scene: Scene, memory: Memory) -> Finding:
    """One finding for all that the scene's steps sent and received."""
    played = [step for step in scene.steps if isinstance(step, Exchange | Open | Listen | Leave)]
    wrong = [text for step in played for text in _wrong(step, memory)]
    return Finding(not wrong, "requests and answers as told", "; ".join(wrong) or "as told")


def _wrong(step: Open | Exchange | Listen | Leave, memory: Memory) -> Iterator[str]:
    trace = memory.traces.get(step.key)
    arrows = scripted(step, memory.wire)
    if trace is None:
        yield f"not sent: {arrows[0].label}"
        return
    answered = isinstance(step, Exchange) and trace.answers and isinstance(trace.error, ServerRefused)
    if trace.error is not None and not answered:
        yield f"{arrows[0].label}: {trace.error}"
        return
    if not trace.requests and not _may_come_from_cache(step):
        yield f"not sent: {arrows[0].label}"
        return
    yield from _wrong_requests(step, arrows, trace)
    yield from _wrong_answers(step, arrows, trace, memory)


def _may_come_from_cache(step: Step) -> bool:
    return isinstance(step, Exchange) and step.through_cache


def _wrong_requests(step: Open | Exchange | Listen | Leave, arrows: tuple[Arrow, ...], trace: Trace) -> Iterator[str]:
    calls = {arrow.label for arrow in arrows if arrow.direction == "->>"}
    if isinstance(step, Open):
        # A host that leaves the choice of the wire open tries the session wire first.
        calls.add(request_label("initialize", None, step.caller.name))
    for request in trace.requests:
        if (label := seen(request).label) not in calls:
            yield f"sent {label} instead of {' or '.join(sorted(calls))}"


def _wrong_answers(
    step: Open | Exchange | Listen | Leave, arrows: tuple[Arrow, ...], trace: Trace, memory: Memory
) -> Iterator[str]:
    for answer in trace.answers:
        if isinstance(step, Exchange) and isinstance(step.answer, Result):
            missing = _missing_members(step.answer, answer, memory)
            if missing:
                yield f"{arrows[0].label}: expected {missing}, got {answer_label(answer)}"
        elif isinstance(step, Exchange) and answer_label(answer) != arrows[1].label:
            yield f"{arrows[0].label}: expected {arrows[1].label}, got {answer_label(answer)}"
    if not isinstance(step, Exchange) and trace.answers[-1:] and trace.answers[-1].status >= 400:
        yield f"{seen(trace.answers[-1].request).label}: got {answer_label(trace.answers[-1])}"


def _missing_members(expected: Answer, answer: AnswerFrame, memory: Memory) -> str:
    """Which members of the expected result are not there; in words, empty where all are."""
    assert isinstance(expected, Result)
    result: Any = (answer.message or {}).get("result")
    if not isinstance(result, Mapping):
        return "a result"
    missing = [member for member in expected.on(memory.wire) if member not in result]
    return f"a result with {', '.join(missing)}" if missing else ""
