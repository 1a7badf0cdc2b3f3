"""The report as a file: one pinned shape as JSON, JUnit XML that counts right, and no token in either."""

import json
import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from agent_discovery.host import RequestFrame
from demo.__main__ import main
from demo.clauses import Fault, Verdict, clause_of
from demo.clauses.line import Seen
from demo.masking import Mask
from demo.report import Report, ReportedCheck, ReportedScene, as_json, as_junit, write_report
from demo.script import SCENES
from server.tokens import DEMO_TOKENS
from tests.broken_servers import Answer, Asked, TamperedServer
from tests.demo.breaking import members
from tests.demo.surveys import WIRES
from tests.demo.tampering import on, tool_changed

TOP = "report url wire protocolVersion server callers summary scenes clauses faults exchanges"
SUMMARY = "exitCode scenes clauses warnings faults"
SCENE = "number title outcome text checks exchanges"
CHECK = "title held expected got"
CLAUSE = "id who strength text outcome fails detail proof exchanges"
EXCHANGE = "number caller request answer"
REQUEST = "label httpMethod headers message"
ANSWER = "label status headers body messages"
NO_MASK = Mask()


def _invoke(server: TamperedServer, report: Path, *arguments: str) -> tuple[int, str]:
    done = CliRunner().invoke(main, ["--url", server.url, "--report", str(report), *arguments])
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return done.exit_code, done.output


def _keys(value: dict[str, Any], names: str) -> None:
    assert list(value) == names.split()


def _check_shape(content: dict[str, Any]) -> None:
    _keys(content, TOP)
    assert content["report"] == 1
    _keys(content["summary"], SUMMARY)
    assert list(content["summary"]["scenes"]) == ["held", "failed", "played", "not applicable", "not reached"]
    assert list(content["summary"]["clauses"]) == ["held", "broken", "not exercised", "own"]
    for scene in content["scenes"]:
        _keys(scene, SCENE)
        for check in scene["checks"]:
            _keys(check, CHECK)
    for one in content["clauses"]:
        _keys(one, CLAUSE)
    for fault in content["faults"]:
        _keys(fault, "text exchanges")
    for exchange in content["exchanges"]:
        _keys(exchange, EXCHANGE)
        _keys(exchange["request"], REQUEST)
        _keys(exchange["answer"], ANSWER)
    assert [exchange["number"] for exchange in content["exchanges"]] == [*range(1, len(content["exchanges"]) + 1)]
    cited = {n for part in ("scenes", "clauses", "faults") for one in content[part] for n in one["exchanges"]}
    assert cited == {exchange["number"] for exchange in content["exchanges"]}


@pytest.mark.parametrize("wire", WIRES)
def test_a_scripted_walk_is_reported_scene_by_scene(server: TamperedServer, tmp_path: Path, wire: str) -> None:
    code, output = _invoke(server, tmp_path / "walk.json", "--wire", wire)
    content = json.loads((tmp_path / "walk.json").read_text())
    _check_shape(content)
    assert code == content["summary"]["exitCode"] == 0
    assert output.splitlines()[-1] == f"Report: {tmp_path / 'walk.json'}"
    assert [scene["outcome"] for scene in content["scenes"]] == ["held"] * len(SCENES)
    assert [len(scene["checks"]) for scene in content["scenes"]] == [len(scene.checks) + 1 for scene in SCENES]
    assert (content["wire"], content["server"]["name"]) == (wire, "agent-discovery-demo")
    assert content["clauses"] == content["faults"] == []
    assert any(exchange["request"]["headers"]["authorization"] == "Bearer ***" for exchange in content["exchanges"])


@pytest.mark.parametrize("wire", WIRES)
def test_a_scripted_walk_as_junit_has_a_testcase_a_check(server: TamperedServer, tmp_path: Path, wire: str) -> None:
    code, _ = _invoke(server, tmp_path / "walk.xml", "--wire", wire)
    suites = {suite.get("name"): suite for suite in ET.parse(tmp_path / "walk.xml").getroot()}
    assert code == 0
    assert len(suites["scenes"]) == sum(len(scene.checks) + 1 for scene in SCENES)
    assert [suites["scenes"].get(name) for name in ("failures", "skipped", "errors")] == ["0", "0", "0"]


@pytest.mark.parametrize("wire", WIRES)
def test_clauses_go_with_the_walk_when_asked_for(server: TamperedServer, tmp_path: Path, wire: str) -> None:
    code, output = _invoke(server, tmp_path / "all.json", "--wire", wire, "--clauses")
    content = json.loads((tmp_path / "all.json").read_text())
    _check_shape(content)
    assert code == 0, output
    assert len(content["scenes"]) == 7
    assert len(content["clauses"]) == 51
    assert output.splitlines()[-2].endswith("19 are shown by this project's tests.")


def test_a_failed_check_and_a_broken_clause_are_failures(server: TamperedServer, tmp_path: Path) -> None:
    server.tamper = tool_changed(lambda tool: {**tool, "description": "Another."})
    code, output = _invoke(server, tmp_path / "all.xml", "--clauses")
    assert code == 1
    root = ET.parse(tmp_path / "all.xml").getroot()
    failed = [str(case.get("name")).split(":")[0] for case in root.iter("testcase") if case.find("failure") is not None]
    assert failed == ["Open pipeline-agent", "AD-6 MUST", "AD-8 MUST"]
    for suite in root:
        cases = suite.findall("testcase")
        assert suite.get("tests") == str(len(cases))
        for kind, attribute in (("failure", "failures"), ("skipped", "skipped")):
            assert suite.get(attribute) == str(sum(case.find(kind) is not None for case in cases))
    assert any(line.startswith("Broken: AD-8 MUST: ") for line in output.splitlines())


def test_a_broken_should_warns_and_fails_nothing(server: TamperedServer, tmp_path: Path) -> None:
    server.tamper = members("agents/list", cacheScope="public")
    code, output = _invoke(server, tmp_path / "r.xml", "--token", "alice-read", "--token", "bob-billing")
    assert code == 0, output
    assert "1 broken (of these only warned of: AD-18)" in output
    cases = ET.parse(tmp_path / "r.xml").getroot().iter("testcase")
    (warned,) = [case for case in cases if str(case.get("name")).startswith("AD-18 ")]
    assert [child.tag for child in warned] == ["system-out"]
    assert str(warned[0].text).startswith("warning: public, though callers see different agents")


def _echoing(asked: Asked, answer: Answer) -> Answer:
    """Tells back which token it was sent, in every place that it can."""
    token = next(known.token for known in DEMO_TOKENS if known.user == asked.user)
    told = answer.with_header("location", f"/{token}")
    if isinstance(answer.message, dict) and isinstance(answer.message.get("error"), dict):
        return replace(
            told, message={**answer.message, "error": {"code": -32602, "message": token, "data": {token: 1}}}
        )
    if isinstance(answer.message, dict) and isinstance(answer.message.get("result"), dict):
        return told.with_result(**{"seen": token, "cacheScope": token, token: token})
    return told


@pytest.mark.parametrize("ending", ["json", "xml"])
@pytest.mark.parametrize("mode", [["--clauses"], ["--token", "alice-read", "--token", "bob=bob-billing"]])
def test_no_token_gets_into_a_report_even_where_the_server_sends_it_back(
    server: TamperedServer, tmp_path: Path, ending: str, mode: list[str]
) -> None:
    server.tamper = _echoing
    report = tmp_path / f"r.{ending}"
    code, output = (
        _invoke(server, report, "--scene", "2", *mode) if mode == ["--clauses"] else _invoke(server, report, *mode)
    )
    assert code == 1
    told = report.read_text() + (output if "--token" in mode else "")
    for known in DEMO_TOKENS:
        assert known.token not in told
    assert "***" in told


def test_a_walk_that_reaches_nobody_is_reported_too(server: TamperedServer, tmp_path: Path) -> None:
    server.tamper = on("initialize", lambda _, answer: answer.refused(-32603, "not today"))
    code, _ = _invoke(server, tmp_path / "r.json")
    content = json.loads((tmp_path / "r.json").read_text())
    _check_shape(content)
    assert code == content["summary"]["exitCode"] == 3
    assert [scene["outcome"] for scene in content["scenes"]] == ["failed"] + ["not reached"] * 6
    assert ["not today" in fault["text"] for fault in content["faults"]] == [True]


SEEN = Seen(
    RequestFrame(1, "Ann", "POST", "http://h/mcp", {"mcp-session-id": "s-1", "cookie": "c"}, {"method": "x"}, 0.0),
    None,
    None,
    note="odd \x1b[31m",
)
REPORT = Report(
    url="http://h/mcp?key=hidden-key",
    exit_code=1,
    wire="session",
    protocol_version="2025-11-25",
    server={"name": "a\ud800b"},
    callers=("Ann",),
    scenes=(ReportedScene(1, "One", "failed", checks=(ReportedCheck("c", False, "\x00", "\ufffe"),)),),
    verdicts=(Verdict(clause_of("AD-4"), "broken", "said secret-token", (SEEN,)),),
    faults=(Fault("said secret-token too", (SEEN,)),),
)


def test_the_same_input_gives_the_same_bytes_and_an_exchange_is_there_once() -> None:
    mask = Mask(["secret-token"])
    content = json.loads(as_json(REPORT, mask))
    assert as_json(REPORT, mask) == as_json(REPORT, mask)
    assert content["url"] == "http://h/mcp"
    assert content["exchanges"] == [
        {
            "number": 1,
            "caller": "Ann",
            "request": {
                "label": "x, as Ann (odd \\x1b[31m)",
                "httpMethod": "POST",
                "headers": {"mcp-session-id": "***"},
                "message": {"method": "x"},
            },
            "answer": {"label": "no answer: None", "status": None, "headers": {}, "body": None, "messages": []},
        }
    ]
    assert content["clauses"][0]["detail"] == "said ***"
    assert content["clauses"][0]["exchanges"] == content["faults"][0]["exchanges"] == [1]


def test_what_xml_cannot_hold_is_written_out() -> None:
    text = as_junit(REPORT, Mask(["secret-token"]))
    root = ET.fromstring(text.encode())
    assert [failure.get("message") for failure in root.iter("failure")] == [
        "expected \\x00, got \\ufffe",
        "said ***\nx, as Ann (odd \\x1b[31m) -> no answer: None",
        "said *** too",
    ]
    assert "secret-token" not in text


def test_a_large_body_is_cut_and_says_how_large_it_was() -> None:
    large = replace(SEEN, request=replace(SEEN.request, message={"text": "x" * 100_000}))
    content = json.loads(as_json(Report(url="http://h/", exit_code=0, faults=(Fault("f", (large,)),)), NO_MASK))
    message = content["exchanges"][0]["request"]["message"]
    assert len(message) < 2100
    assert message.endswith("... (100012 characters in all)")


def test_the_files_ending_decides(tmp_path: Path) -> None:
    for name, begins in (("r.json", "{"), ("r.XML", "<?xml version='1.0' encoding='utf-8'?>")):
        write_report(REPORT, tmp_path / name, NO_MASK)
        assert (tmp_path / name).read_text(encoding="utf-8").startswith(begins)


def test_a_mask_replaces_longer_secrets_first_and_leaves_what_is_too_short() -> None:
    mask = Mask(["token", "token-more", "abc", ""])
    assert mask.text("token-more, token and abc") == "***, *** and abc"
    assert mask.value({"token": ["token", 1, None, True]}) == {"***": ["***", 1, None, True]}
