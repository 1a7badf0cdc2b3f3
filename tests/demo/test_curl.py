"""The shell commands: their quoting, what they derive from, and that those of WALKTHROUGH.md really run."""

import html
import json
import os
import re
import signal
import subprocess
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from agent_discovery.wire import LIST_CHANGED
from demo.arrows import scripted, scripted_scene
from demo.cast import ALICE, ALICE_STEPPED_UP, BOB, CAST, DEFAULT_ORIGIN
from demo.curl import quoted, session_variable, shell_commands
from demo.documents import PLACES
from demo.recording import SentRequest
from demo.scene import Challenged, Exchange, Hear, Leave, Listen, Open, Recall, Result, Unlisten, Wire
from demo.script import CLOSING, SCENES
from server.embedded import RunningServer, running_server

WIRES: tuple[Wire, ...] = ("session", "stateless")
JSON_HEADERS = {"authorization": "Bearer ***", "content-type": "application/json"}


def sent(message: Mapping[str, Any] | None, http_method: str = "POST", **headers: str) -> SentRequest:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return SentRequest("Alice", http_method, "/mcp", {**JSON_HEADERS, **named}, message)


def shell(script: str, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = {"PATH": os.environ["PATH"], **variables}
    return subprocess.run(
        ["sh", "-eu", "-c", script], env=environment, capture_output=True, text=True, timeout=20, check=False
    )


@pytest.mark.parametrize(
    "text",
    ["plain", "", "it's", "''", "'", "$HOME `id` $(id)", 'say "hi"', "back\\slash", "two\nlines", "!x *?[a]", "snow ☃"],
)
def test_a_quoted_text_reaches_the_command_unchanged(text: str) -> None:
    assert shell(f"printf %s {quoted(text)}").stdout == text


def test_the_body_of_a_command_is_the_message_that_was_sent() -> None:
    message = {"jsonrpc": "2.0", "id": 7, "method": "agents/get", "params": {"name": "it's $HOME"}}
    step = Exchange("get", ALICE, "agents/get", Result(("agent",)))
    (command,) = shell_commands(step, "session", [sent(message)])

    printed = shell(
        f'curl() {{ for word in "$@"; do printf "%s\\0" "$word"; done; }}\n{command}', URL="u", ALICE="secret"
    )

    words = printed.stdout.split("\0")
    assert json.loads(words[words.index("-d") + 1]) == message
    assert "Authorization: Bearer secret" in words
    assert words[:2] == ["-sS", "u"]


def test_a_command_says_the_token_and_the_session_as_variables_only() -> None:
    step = Exchange("get", ALICE_STEPPED_UP, "agents/get", Result(("agent",)))
    request = sent({"method": "agents/get"}, mcp_session_id="<Alice's session>", mcp_protocol_version="2025-11-25")

    (command,) = shell_commands(step, "session", [request])

    assert '-H "Authorization: Bearer $ALICE_STEPPED_UP"' in command
    assert '-H "Mcp-Session-Id: $ALICE_SESSION"' in command
    assert "-H 'MCP-Protocol-Version: 2025-11-25'" in command
    assert "<Alice" not in command


def test_callers_of_one_user_share_the_session_variable() -> None:
    assert session_variable(ALICE) == session_variable(ALICE_STEPPED_UP) == "ALICE_SESSION"
    assert session_variable(BOB) == "BOB_SESSION"


def test_a_challenged_request_shows_status_and_headers() -> None:
    step = Exchange("get", ALICE, "agents/get", Challenged("ops:deploy"))
    (command,) = shell_commands(step, "stateless", [sent({"method": "agents/get"})])
    assert command.startswith('curl -sSi "$URL"')


def test_initialize_keeps_the_session_id_without_its_carriage_return(tmp_path: Path) -> None:
    (command,) = shell_commands(Open(ALICE, "open"), "session", [sent({"method": "initialize"})])
    (tmp_path / "headers.txt").write_bytes(b"HTTP/1.1 200 OK\r\nMCP-session-id: no\r\nMcp-Session-Id: abc-1\r\n\r\n")
    kept = shell(f"cd {tmp_path}\ncurl() {{ :; }}\n{command}\nprintf '[%s]' \"$ALICE_SESSION\"", URL="u", ALICE="a")
    assert kept.stdout == "[abc-1]"


def test_leaving_deletes_the_session_and_shows_the_status() -> None:
    (command,) = shell_commands(Leave(BOB, "leave"), "session", [sent(None, "DELETE", mcp_session_id="x")])
    assert command.startswith('curl -sS -X DELETE "$URL"')
    assert "$BOB_SESSION" in command
    assert r"-w 'HTTP %{http_code}\n'" in command


def test_a_stream_that_does_not_open_ends_the_script_after_a_bounded_wait(tmp_path: Path) -> None:
    (command,) = shell_commands(Listen(ALICE, "listen"), "session", [sent(None, "GET")])
    got = shell(f"cd {tmp_path}\ncurl() {{ :; }}\nsleep() {{ echo waited; }}\n{command}", URL="u", ALICE="a")
    assert (got.returncode, got.stdout.count("waited")) == (1, 10)
    assert "within ten seconds" in got.stderr


def test_steps_in_which_nothing_is_typed_have_no_command() -> None:
    assert shell_commands(Recall("recall", ALICE, None), "session") == ()
    assert shell_commands(Leave(ALICE, "leave"), "stateless") == ()


def test_hearing_waits_for_the_notification_and_closing_ends_the_stream() -> None:
    (heard,) = shell_commands(Hear("hear", ALICE, LIST_CHANGED), "session")
    (closed,) = shell_commands(Unlisten(), "session")
    assert heard.startswith(f"wait_for {LIST_CHANGED} changes.txt\n")
    assert 'kill "$STREAM"' in closed


# The commands of WALKTHROUGH.md


@pytest.fixture(scope="module")
def server() -> Iterator[RunningServer]:
    with running_server() as running:
        yield running


def lines(wire: Wire) -> list[str]:
    """The lines of the scenes on one wire, in order, read off the Markdown alone."""
    scenes = PLACES.walkthrough.read_text(encoding="utf-8").split("\n## 1. ")[1].split("\n## Run it")[0]
    found: list[str] = []
    depth, folded = 0, 0
    for line in scenes.splitlines():
        depth += (line == "<details>") - (line == "</details>")
        if line == "<summary>The same on the stateless wire</summary>":
            folded = depth
        elif depth < folded:
            folded = 0
        if bool(folded) == (wire == "stateless"):
            found.append(line)
    assert depth == 0
    return found


def blocks(wire: Wire) -> list[tuple[str, str]]:
    """The fenced blocks of the scenes on one wire: language and text."""
    return re.findall(r"^```(\w+)\n(.*?\n)```$", "\n".join(lines(wire)), re.MULTILINE | re.DOTALL)


def documented(wire: Wire) -> list[tuple[str, str, Any]]:
    """Each command with the HTTP head and the JSON that the document shows as its answer."""
    commands: list[tuple[str, str, Any]] = []
    for language, text in blocks(wire):
        if language == "sh":
            commands.append((text, "", None))
        elif language == "http":
            commands[-1] = (commands[-1][0], text, commands[-1][2])
        else:
            assert language == "json"
            commands[-1] = (*commands[-1][:2], json.loads(text))
    return commands


MARK = "@@ the next command"


def run_script(script: str, where: Path, variables: Mapping[str, str]) -> tuple[int, str, str]:
    """Exit code, output and errors of the script; whatever it left running is ended with it."""
    process = subprocess.Popen(
        ["sh", "-eu"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=where,
        env={"PATH": os.environ["PATH"], **variables},
        start_new_session=True,
    )
    with process:
        timer = threading.Timer(40, os.killpg, (process.pid, signal.SIGKILL))
        timer.start()
        try:
            output, errors = process.communicate(script)
        finally:
            timer.cancel()
    return process.returncode, output, errors


@pytest.mark.parametrize("wire", WIRES)
def test_the_documented_commands_run_as_one_script_and_answer_as_documented(
    wire: Wire, server: RunningServer, tmp_path: Path
) -> None:
    commands = documented(wire)
    script = "".join(f"echo '{MARK}'\n{command}" for command, _, _ in commands)
    tokens = {caller.variable: caller.token for caller in CAST}

    code, output, errors = run_script(script, tmp_path, {"URL": server.url, **tokens})

    assert (code, errors) == (0, "")
    printed = [text.strip() for text in output.replace(server.base_url, DEFAULT_ORIGIN).split(MARK + "\n")[1:]]
    assert len(printed) == len(commands) > 15
    for (command, head, body), text in zip(commands, printed, strict=True):
        answer = text.splitlines()[-1] if text else ""
        if body is not None:
            assert json.loads(answer) == body, command
        if command.startswith("curl -sSi"):
            assert head.startswith("HTTP/1.1 403 Forbidden\nwww-authenticate: Bearer "), command
            assert set(head.splitlines()) <= set(text.splitlines()), command
        if "%{http_code}" in command:
            assert re.fullmatch(r"HTTP 20[02]", answer), command
    assert list(tmp_path.iterdir()) == []


def test_every_command_that_asks_for_an_answer_has_one_documented() -> None:
    for wire in WIRES:
        for command, _, body in documented(wire):
            silent = "%{http_code}" in command or command.startswith("kill") or "GET" in command
            listens = wire == "session" and "STREAM=" in command
            assert (body is None) == (silent or listens), command


@pytest.mark.parametrize("wire", WIRES)
def test_the_documented_calls_and_answers_are_the_diagrams_arrows(wire: Wire) -> None:
    told = [arrow for scene in SCENES for arrow in scripted_scene(scene, wire)]
    told += [arrow for step in CLOSING for arrow in scripted(step, wire)]
    text = html.unescape("\n".join(lines(wire)))

    calls = re.findall(r"^\*\*`(.*)`\*\*$", text, re.MULTILINE)
    answers = re.findall(r"^(?:<summary>)?Answer: (?:`|<code>)(.*?)(?:`|</code></summary>)$", text, re.MULTILINE)

    assert calls == [arrow.label for arrow in told if arrow.direction == "->>"]
    # Of a stream that opens and is acknowledged, the document shows the acknowledgement.
    opening = "HTTP 200, a stream opens" if wire == "stateless" else ""
    assert answers == [arrow.label for arrow in told if arrow.direction == "-->>" and arrow.label != opening]
