"""The catalogue is whole: no clause can be lost, weakened or left without somebody who looks at it."""

import ast
import re
from pathlib import Path

import pytest

from demo.clauses.catalogue import CLAUSES, Clause, clause_of
from demo.clauses.probes import PROBES

ROOT = Path(__file__).resolve().parents[2]

RUN = """
AD-2 MUST NOT|AD-3 stated|AD-4 MUST|AD-5 stated|AD-6 MUST|AD-7 MUST|AD-8 MUST|AD-9 MUST|AD-10 MUST NOT|AD-11 MUST NOT
AD-12 stated|AD-13 stated|AD-14 stated|AD-17 stated|AD-18 SHOULD|AD-19 MUST|AD-20 MUST NOT|AD-24 stated|AD-28 stated
EV-1 MUST|EV-2 MUST|EV-3 MUST NOT|EV-4 MUST|EV-5 SHOULD|EV-6 MUST NOT|EV-7 MUST|EV-10 MUST NOT
CO-1 MUST|CO-4 MUST|CO-6 SHOULD|CO-8 MUST|CO-9 MUST
"""
OWN = """
AD-1 MUST NOT|AD-15 SHOULD|AD-16 SHOULD|AD-21 MUST|AD-22 SHOULD NOT|AD-23 MAY|AD-25 MUST NOT|AD-26 stated
AD-27 discouraged|AD-29 SHOULD|AD-30 stated|EV-8 MUST|EV-9 SHOULD|EV-11 MUST NOT|EV-12 MUST
CO-2 SHOULD|CO-3 MUST NOT|CO-5 SHOULD|CO-7 SHOULD
"""
TEXTS = {
    "AD-7": "every tool of agents/get is in the same caller's tools/list and can be called",
    "AD-19": "an unknown or invisible agent is refused with -32602 and reason agent_not_found",
    "AD-20": "an unknown agent and a hidden one are not told apart, in any way",
    "AD-28": "no method runs an agent; two methods and one notification are all that is new",
    "EV-6": "a minor or a patch is never a reason to refuse",
    "CO-8": "a bad Origin is refused with 403",
}


def _table(text: str) -> set[str]:
    return {entry for line in text.split("\n") for entry in line.split("|") if entry}


def test_every_clause_is_there_with_its_strength() -> None:
    assert {f"{entry.id} {entry.strength}" for entry in CLAUSES if entry.proof is None} == _table(RUN)
    assert {f"{entry.id} {entry.strength}" for entry in CLAUSES if entry.proof is not None} == _table(OWN)
    assert len(CLAUSES) == len({entry.id for entry in CLAUSES}) == 51


def test_the_texts_say_what_they_are_known_for() -> None:
    assert {id: clause_of(id).text for id in TEXTS} == TEXTS
    assert len({entry.text for entry in CLAUSES}) == len(CLAUSES)


def test_a_clause_that_nobody_wrote_is_not_found() -> None:
    with pytest.raises(KeyError, match="no clause has the id 'AD-31'"):
        clause_of("AD-31")


def test_what_a_run_cannot_show_is_shown_by_a_test_that_cites_it() -> None:
    for entry in CLAUSES:
        if entry.proof is not None:
            assert entry.id in _cited(ROOT / entry.proof), f"no test in {entry.proof} cites {entry.id}"


def _cited(file: Path) -> set[str]:
    """The clauses that the docstrings of a file's tests name."""
    tests = [
        node for node in ast.parse(file.read_text()).body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    named = [ast.get_docstring(test) or "" for test in tests if test.name.startswith("test_")]
    return {id for text in named for id in re.findall(r"[A-Z]{2}-\d+", text)}


def test_what_a_run_shows_is_looked_at_by_a_probe() -> None:
    looked_at = {id for probe in PROBES for id in probe.clauses}
    assert looked_at == {entry.id for entry in CLAUSES if entry.proof is None}


def test_a_clause_for_hosts_needs_a_proof() -> None:
    with pytest.raises(ValueError, match="Clause XX-1: a run cannot look at a host, got no proof"):
        Clause("XX-1", "H", "MUST", "something is done")
