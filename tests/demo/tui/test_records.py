"""Exchange records and the log that keeps them: what they say, and that they are found again."""

import shlex
import subprocess

import pytest

from agent_discovery.host import ServerFault, StreamLost, TimedOut, Unreachable
from demo.tui.records import ExchangeRecord, TrafficLog
from tests.demo.tui.frames import TRAPS, TWO_LINES, URL, answer, challenged, failed, fill, notified, request


def _log() -> TrafficLog:
    return TrafficLog()


def test_each_frame_lands_in_the_record_of_its_request() -> None:
    log = _log()
    observe = log.observer(lambda: "stateless", URL, lambda: 2)
    first, second = request(number=1), request("agents/get", {"name": "a"}, number=1)
    observe(first)
    observe(second)
    observe(answer(second, {"agent": {}}))
    observe(notified(first, "notifications/agents/list_changed"))
    one, two = log.records
    assert (one.number, one.answer, len(one.notifications)) == (1, None, 1)
    assert (two.number, two.outcome, two.status, two.elapsed_ms) == (2, "{agent}", 200, 12.4)
    assert (two.wire, two.scene, two.title) == ("stateless", 2, 'agents/get {name: "a"}, as Alice')
    assert log.record_of(second) is two


def test_a_request_without_an_answer_is_under_way() -> None:
    log = _log()
    log.observer(lambda: "session", URL)(request())
    record = log.records[0]
    assert record.under_way
    assert record.outcome == "under way"
    assert record.lines_answer() == ["under way: no answer yet"]
    assert record.why_failed() is None


def test_subscribers_hear_of_every_new_and_changed_record_until_they_leave() -> None:
    log = _log()
    heard: list[ExchangeRecord] = []
    leave = log.subscribe(heard.append)
    observe = log.observer(lambda: "session", URL)
    sent = request()
    observe(sent)
    observe(answer(sent))
    leave()
    observe(request())
    assert heard == [log.records[0], log.records[0]]


def test_the_log_drops_the_oldest_and_goes_on_counting() -> None:
    log = TrafficLog(keep=3)
    fill(log, 5)
    assert [record.number for record in log.records] == [3, 4, 5]
    assert log.total == 5


def test_a_frame_for_a_dropped_record_is_ignored() -> None:
    log = TrafficLog(keep=1)
    observe = log.observer(lambda: "session", URL)
    first = request()
    observe(first)
    observe(request("tools/list"))
    assert log.record_of(first) is None
    observe(answer(first))
    assert [record.method for record in log.records] == ["tools/list"]
    assert log.records[0].under_way


def test_a_log_that_keeps_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="keep must be at least 1, got 0"):
        TrafficLog(keep=0)


@pytest.mark.parametrize(
    ("text", "found"),
    [("", 6), ("bob", 3), ("BOB 403", 3), ("alice 403", 0), ("agent-5", 1), ("insufficient_scope", 3), ("scene 3", 6)],
)
def test_the_filter_finds_records_that_hold_every_word(text: str, found: int) -> None:
    log = _log()
    fill(log, 6)
    assert len(log.filtered(text)) == found


def test_the_filter_finds_what_arrived_after_it_first_looked() -> None:
    log = _log()
    observe = log.observer(lambda: "session", URL)
    sent = request()
    observe(sent)
    assert log.filtered("late") == []
    observe(answer(sent, {"agents": [{"name": "late"}]}))
    assert len(log.filtered("late")) == 1


def test_filtering_again_makes_no_text_again() -> None:
    """Ten thousand records are filtered at each key; what that takes is measured by the benchmark."""
    log = _log()
    fill(log, 100, size=500)
    log.filtered("agent-9")
    made = [record.haystack for record in log.records]
    log.filtered("nowhere at all")
    assert all(record.haystack is text for record, text in zip(log.records, made, strict=True))


def test_the_request_is_told_as_it_was_sent_with_its_token_masked() -> None:
    log = _log()
    log.observer(lambda: "session", URL)(request())
    record = log.records[0]
    assert record.lines_request()[:4] == [
        "POST /mcp HTTP/1.1",
        "authorization: Bearer ***",
        "content-type: application/json",
        "mcp-session-id: abc",
    ]
    assert "authorization: Bearer alice-read" in record.lines_request(show_token=True)


def test_a_challenge_is_told_field_by_field() -> None:
    log = _log()
    fill(log, 2)
    lines = log.records[1].lines_answer()
    assert lines[0] == "HTTP 403 after 3 ms"
    assert lines[-4:] == [
        "challenge: Bearer",
        "  error = insufficient_scope",
        "  scope = ops:read ops:deploy",
        "  error_description = more, please",
    ]


def test_what_arrives_on_a_stream_and_how_it_broke_are_told() -> None:
    log = _log()
    observe = log.observer(lambda: "session", URL)
    sent = request()
    for frame in (sent, answer(sent), notified(sent, "notifications/x"), failed(sent, StreamLost("gone"))):
        observe(frame)
    lines = log.records[0].lines_answer()
    assert "arrived after 7 ms:" in lines
    assert '  "method": "notifications/x"' in lines
    assert lines[-2:] == ["then the stream broke", str(StreamLost("gone"))]


@pytest.mark.parametrize(
    ("code", "reason", "words"),
    [
        (-32602, "agent_not_found", ["refused", "agent_not_found", "no such agent"]),
        (-32602, None, ["refused, -32602", "params"]),
        (-32601, None, ["does not know this method"]),
        (-32020, None, ["header and body disagree"]),
        (-32021, None, ["does not declare io.modelcontextprotocol/agents"]),
        (-1, None, ["refused, -1: they said so"]),
    ],
)
def test_a_refusal_says_why_in_one_line(code: int, reason: str | None, words: list[str]) -> None:
    data = {"reason": reason} if reason else None
    log = _log()
    observe = log.observer(lambda: "session", URL)
    sent = request()
    observe(sent)
    observe(answer(sent, status=400, error={"code": code, "message": "they said\nso", "data": data}))
    why = log.records[0].why_failed() or ""
    assert all(word in why for word in words)
    assert "\n" not in why


def test_each_other_way_to_fail_has_its_own_line() -> None:
    sent, opening = request(), request("initialize")
    gone = answer(sent, status=404, headers={"content-type": "text/plain"})
    told = {
        "403": _why(challenged(sent)),
        "401": _why(answer(sent, status=401)),
        "404": _why(gone),
        "500": _why(answer(sent, status=500)),
        "tool": _why(answer(sent, {"isError": True, "content": [{"type": "text", "text": "no [such] build"}]})),
        "advert": _why(answer(opening, {"capabilities": {"tools": {}}})),
        "timeout": _why(failed(sent, TimedOut("agents/list", 5))),
        "unreachable": _why(failed(sent, Unreachable(URL, "refused"))),
        "fault": _why(failed(sent, ServerFault("not JSON"))),
    }
    expected = {
        "403": 'step up to a token that also has "ops:read ops:deploy"',
        "401": "not authenticated",
        "404": "connect again",
        "500": "the server is at fault",
        "tool": "the tool reports an error: no [such] build",
        "advert": "not advertised",
        "timeout": "within 5 s",
        "unreachable": "cannot reach",
        "fault": "not JSON",
    }
    assert {name: expected[name] in (why or "") for name, why in told.items()} == dict.fromkeys(expected, True)


def test_an_answer_as_asked_for_failed_in_no_way() -> None:
    assert _why(answer(request(), {"agents": []})) is None
    assert (
        _why(answer(request("initialize"), {"capabilities": {"extensions": {"io.modelcontextprotocol/agents": {}}}}))
        is None
    )


def _why(frame: object) -> str | None:
    log = _log()
    observe = log.observer(lambda: "session", URL)
    sent = frame.request  # type: ignore[attr-defined]
    observe(sent)
    observe(frame)  # type: ignore[arg-type]
    return log.records[0].why_failed()


def test_the_curl_command_is_quoted_for_a_shell_and_leaves_the_token_to_a_variable() -> None:
    nasty = 'it\'s $HOME `id` "x" \\ \n !'
    log = _log()
    log.observer(lambda: "session", URL)(request("agents/get", {"name": nasty}))
    command = log.records[0].curl()
    assert 'ALICE="${ALICE:?put the token here}"' in command
    assert "alice-read" not in command
    assert _seen_by_curl(command, {"ALICE": "secret"}) == _seen_by_curl(
        log.records[0].curl(token_variable=False), {}, "alice-read", "secret"
    )
    body = shlex.split(command)
    assert any(nasty.replace("\n", "\\n").replace("\\ ", "\\\\ ").replace('"', '\\"') in word for word in body)


def _seen_by_curl(command: str, variables: dict[str, str], token: str = "", instead: str = "") -> list[str]:
    """The arguments that curl would be called with, one a line."""
    stub = 'curl() { for word in "$@"; do printf \'%s\\0\' "$word"; done; }\n'
    shell = subprocess.run(
        ["sh", "-eu", "-c", stub + command],
        capture_output=True,
        text=True,
        env={"PATH": "/usr/bin:/bin", **variables},
        check=True,
    )
    return [word.replace(token, instead) if token else word for word in shell.stdout.split("\0")]


def test_without_the_token_the_command_says_what_is_missing_and_sends_nothing() -> None:
    log = _log()
    log.observer(lambda: "session", URL)(request())
    shell = subprocess.run(
        ["sh", "-c", log.records[0].curl()], capture_output=True, text=True, env={"PATH": "/usr/bin:/bin"}, check=False
    )
    assert shell.returncode != 0
    assert "put the token here" in shell.stderr


@pytest.mark.parametrize("trap", [*TRAPS, TWO_LINES])
def test_no_line_holds_anything_that_a_terminal_acts_on(trap: str) -> None:
    log = _log()
    observe = log.observer(lambda: "session", URL)
    sent = request("tools/call", {"name": trap, "arguments": {trap: trap}})
    observe(sent)
    observe(answer(sent, {trap: trap}, headers={"x-trap": trap}))
    record = log.records[0]
    for line in [*record.lines_request(), *record.lines_answer(), record.title, record.outcome]:
        assert line.isprintable()
