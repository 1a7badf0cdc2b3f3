"""What a walk or a survey found, as a file: JSON with the exchanges behind it, or JUnit XML for a CI to read.

Owns the report as a value and its two forms. What was found comes from `walk_report` and `demo.clauses`. The same input
gives the same bytes; no token gets in, and of the headers only those that the walkthrough is about.
"""

import json
import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal
from urllib.parse import urlsplit, urlunsplit

from demo.clauses.line import Seen
from demo.clauses.survey import Survey
from demo.clauses.verdicts import Fault, Verdict
from demo.masking import Mask
from demo.plain import printable

__all__ = [
    "ENDINGS",
    "Report",
    "ReportedCheck",
    "ReportedScene",
    "SceneEnd",
    "as_json",
    "as_junit",
    "surveyed_scenes",
    "write_report",
]

SHAPE: Final = 1
"""The number of the JSON report's shape; another one means that readers have to look again."""
_HEADERS: Final = (
    "accept",
    "authorization",
    "content-type",
    "location",
    "mcp-method",
    "mcp-name",
    "mcp-protocol-version",
    "origin",
    "www-authenticate",
)
_LONGEST_BODY: Final = 65_536

SceneEnd = Literal["held", "failed", "played", "not applicable", "not reached"]
"""`played`: at a foreign server, where what must hold is with the clauses."""


@dataclass(frozen=True)
class ReportedCheck:
    """A check of the script."""

    title: str
    held: bool
    expected: str
    got: str


@dataclass(frozen=True)
class ReportedScene:
    """A scene and what came of it."""

    number: int
    title: str
    outcome: SceneEnd
    text: str = ""
    checks: tuple[ReportedCheck, ...] = ()
    shown: tuple[Seen, ...] = ()


@dataclass(frozen=True)
class Report:
    """Everything that was found, ready to be written. `verdicts` is empty where no clause was looked at."""

    url: str
    exit_code: int
    wire: str | None = None
    protocol_version: str | None = None
    server: Mapping[str, Any] = field(default_factory=dict)
    callers: tuple[str, ...] = ()
    scenes: tuple[ReportedScene, ...] = ()
    verdicts: tuple[Verdict, ...] = ()
    faults: tuple[Fault, ...] = ()


def surveyed_scenes(found: Survey) -> tuple[ReportedScene, ...]:
    """The scenes of a survey as a report has them."""
    return tuple(
        ReportedScene(
            scene.number, scene.title, "played" if scene.applies else "not applicable", scene.text, shown=scene.shown
        )
        for scene in found.scenes
    )


class _Exchanges:
    """The exchanges that a report cites, each once, by number."""

    def __init__(self, mask: Mask) -> None:
        self._mask = mask
        self._numbers: dict[int, int] = {}
        self._cited: list[Seen] = []

    def cite(self, shown: Iterable[Seen]) -> list[int]:
        return [self._number(seen) for seen in shown]

    def _number(self, seen: Seen) -> int:
        if id(seen.request) not in self._numbers:
            self._cited.append(seen)
            self._numbers[id(seen.request)] = len(self._cited)
        return self._numbers[id(seen.request)]

    def as_json(self) -> list[dict[str, Any]]:
        return [self._one(number, seen) for number, seen in enumerate(self._cited, 1)]

    def _one(self, number: int, seen: Seen) -> dict[str, Any]:
        answer = seen.answer
        return {
            "number": number,
            "caller": seen.request.caller,
            "request": {
                "label": self._mask.text(seen.asked),
                "httpMethod": seen.request.http_method,
                "headers": self._headers(seen.request.headers),
                "message": self._body(seen.request.message),
            },
            "answer": {
                "label": self._mask.text(seen.answered),
                "status": None if answer is None else answer.status,
                "headers": {} if answer is None else self._headers(answer.headers),
                "body": None if answer is None else self._body(answer.message or answer.body),
                "messages": [self._body(frame.message) for frame in seen.told],
            },
        }

    def _headers(self, headers: Mapping[str, str]) -> dict[str, str]:
        kept = {name: self._mask.text(headers[name]) for name in _HEADERS if name in headers}
        return kept | ({"mcp-session-id": "***"} if "mcp-session-id" in headers else {})

    def _body(self, body: Any) -> Any:
        masked = self._mask.value(body)
        size = len(json.dumps(masked))
        return masked if size <= _LONGEST_BODY else f"{json.dumps(masked)[:2000]}... ({size} characters in all)"


def _without_query(url: str) -> str:
    """The address without what may hold a key."""
    parts = urlsplit(url)
    return urlunsplit((parts.scheme, parts.netloc, parts.path, "", ""))


def as_json(report: Report, mask: Mask) -> str:
    """The report as JSON, with the masked exchanges that scenes, clauses and faults cite by number."""
    exchanges = _Exchanges(mask)
    content = {
        "report": SHAPE,
        "url": mask.text(_without_query(report.url)),
        "wire": report.wire,
        "protocolVersion": report.protocol_version,
        "server": mask.value(report.server),
        "callers": list(report.callers),
        "summary": _summary(report),
        "scenes": [_scene(scene, exchanges, mask) for scene in report.scenes],
        "clauses": [_clause(verdict, exchanges, mask) for verdict in report.verdicts],
        "faults": [
            {"text": mask.text(fault.text), "exchanges": exchanges.cite(fault.shown)} for fault in report.faults
        ],
        "exchanges": exchanges.as_json(),
    }
    return json.dumps(content, indent=2) + "\n"


def _summary(report: Report) -> dict[str, Any]:
    def count(outcome: str) -> int:
        return sum(verdict.outcome == outcome for verdict in report.verdicts)

    return {
        "exitCode": report.exit_code,
        "scenes": {
            end: sum(scene.outcome == end for scene in report.scenes)
            for end in ("held", "failed", "played", "not applicable", "not reached")
        },
        "clauses": {outcome: count(outcome) for outcome in ("held", "broken", "not exercised", "own")},
        "warnings": sum(verdict.warns for verdict in report.verdicts),
        "faults": len(report.faults),
    }


def _scene(scene: ReportedScene, exchanges: _Exchanges, mask: Mask) -> dict[str, Any]:
    return {
        "number": scene.number,
        "title": mask.text(scene.title),
        "outcome": scene.outcome,
        "text": mask.text(scene.text),
        "checks": [
            {
                "title": check.title,
                "held": check.held,
                "expected": mask.text(check.expected),
                "got": mask.text(check.got),
            }
            for check in scene.checks
        ],
        "exchanges": exchanges.cite(scene.shown),
    }


def _clause(verdict: Verdict, exchanges: _Exchanges, mask: Mask) -> dict[str, Any]:
    return {
        "id": verdict.clause.id,
        "who": verdict.clause.who,
        "strength": verdict.clause.strength,
        "text": verdict.clause.text,
        "outcome": verdict.outcome,
        "fails": verdict.fails,
        "detail": mask.text(verdict.text),
        "proof": verdict.clause.proof,
        "exchanges": exchanges.cite(verdict.shown),
    }


def as_junit(report: Report, mask: Mask) -> str:
    """The report as JUnit XML: a testcase for each check of the script, each clause, and the server's answers at all.

    A broken clause that demands something is a failure; a broken SHOULD passes, with a warning in its `system-out`.
    """
    root = ET.Element("testsuites", name="agent discovery")
    if report.scenes:
        _suite(root, "scenes", [case for scene in report.scenes for case in _scene_cases(scene, mask)])
    clauses = [_clause_case(verdict, mask) for verdict in report.verdicts]
    text = "; ".join(fault.text for fault in report.faults)
    answers = _case("clauses", "The server answers, and its answers can be read", mask, "failure" if text else "", text)
    _suite(root, "clauses", [*clauses, answers])
    ET.indent(root)
    content: bytes = ET.tostring(root, encoding="utf-8", xml_declaration=True)
    return content.decode() + "\n"


def _suite(root: ET.Element, name: str, cases: list[ET.Element]) -> None:
    def count(kind: str) -> str:
        return str(sum(case.find(kind) is not None for case in cases))

    counts = {"tests": str(len(cases)), "failures": count("failure"), "skipped": count("skipped"), "errors": "0"}
    ET.SubElement(root, "testsuite", {"name": name, **counts}).extend(cases)


def _case(suite: str, name: str, mask: Mask, kind: str = "", text: str = "") -> ET.Element:
    case = ET.Element("testcase", {"classname": suite, "name": printable(mask.text(name))})
    shown = printable(mask.text(text))
    if kind == "system-out":
        ET.SubElement(case, kind).text = shown
    elif kind:
        ET.SubElement(case, kind, {"message": shown})
    return case


def _scene_cases(scene: ReportedScene, mask: Mask) -> list[ET.Element]:
    suite = f"scenes.{scene.number}"
    if not scene.checks:
        kind = "" if scene.outcome == "played" else "skipped"
        return [_case(suite, scene.title, mask, kind, scene.text)]
    return [
        _case(
            suite,
            f"{scene.title}: {check.title}",
            mask,
            "" if check.held else "failure",
            f"expected {check.expected}, got {check.got}",
        )
        for check in scene.checks
    ]


def _clause_case(verdict: Verdict, mask: Mask) -> ET.Element:
    name = f"{verdict.clause.id} {verdict.clause.strength}: {verdict.clause.text}"
    lines = [verdict.text, *(f"{seen.asked} -> {seen.answered}" for seen in verdict.shown)]
    if verdict.fails:
        return _case("clauses", name, mask, "failure", "\n".join(lines))
    if verdict.warns:
        return _case("clauses", name, mask, "system-out", "warning: " + "\n".join(lines))
    skipped = verdict.outcome in ("not exercised", "own")
    return _case("clauses", name, mask, "skipped" if skipped else "system-out", "\n".join(lines))


ENDINGS: Final[Mapping[str, Callable[[Report, Mask], str]]] = {".json": as_json, ".xml": as_junit}
"""How a file's name says which form is wanted."""


def write_report(report: Report, path: Path, mask: Mask) -> None:
    """Write the report in the form that the file's ending names. Raises OSError where it cannot be written."""
    path.write_text(ENDINGS[path.suffix.lower()](report, mask), encoding="utf-8")
