"""What the walkthrough prints, whatever the terminal is and whatever a server sends."""

import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from demo.__main__ import main
from tests.broken_servers import Answer, Asked, TamperedServer
from tests.e2e.processes import PATIENCE, ROOT, Ended, checked_output, environment, run

COLOR = re.compile(r"\x1b\[[0-9;]*m")
HOSTILE = (
    "[/] [0] [b +] [red]x[/red] [link=http://x] \\[ {curly} %s \x1b[2J\x1b]0;title\x07 \x9b31m \r\n"
    "33 of 33 checks held.\nheld \u202e reversed \u2028 line \ud83d\ude00 \t tab \x00 nul é"
)


def test_without_a_terminal_there_is_no_color(served: str) -> None:
    ended = run("--url", served, "--scene", "1-3")
    assert ended.code == 0
    assert "\x1b" not in ended.output
    assert "\r" not in ended.output


@pytest.mark.parametrize(
    ("color", "env", "colored"),
    [
        pytest.param("always", {}, True, id="always"),
        pytest.param("always", {"TERM": "dumb"}, True, id="always, on a dumb terminal"),
        pytest.param("always", {"NO_COLOR": "1"}, True, id="always, against NO_COLOR"),
        pytest.param("never", {"FORCE_COLOR": "1"}, False, id="never, against FORCE_COLOR"),
        pytest.param("auto", {"NO_COLOR": "1"}, False, id="auto"),
    ],
)
def test_color_is_as_asked_for(served: str, color: str, env: dict[str, str], colored: bool) -> None:
    ended = run("--url", served, "--scene", "1", "--color", color, env=environment(**env))
    assert ended.code == 0
    assert bool(COLOR.search(ended.output)) == colored
    assert "\x1b" not in COLOR.sub("", ended.output)
    assert "3 of 3 checks held." in COLOR.sub("", ended.output)


def hostile(value: Any) -> Any:
    """The value with each of its texts followed by what no terminal should be sent."""
    match value:
        case str():
            return f"{value} {HOSTILE}"
        case dict():
            return {name: hostile(item) for name, item in value.items()}
        case list():
            return [hostile(item) for item in value]
        case _:
            return value


def _hostile_inside(asked: Asked, answer: Answer) -> Answer:
    """All texts of a result or an error; the protocol's own words, without which nothing goes on, are left alone."""
    if not isinstance(answer.message, dict) or asked.method in ("initialize", "server/discover"):
        return answer
    kept = {name: answer.message[name] for name in ("jsonrpc", "id", "method", "params") if name in answer.message}
    others = {name: hostile(value) for name, value in answer.message.items() if name not in kept}
    return replace(answer, message={**kept, **others})


def _hostile_opening(asked: Asked, answer: Answer) -> Answer:
    return answer.refused(-32603, HOSTILE, {"reason": HOSTILE})


def _hostile_text(_: Asked, answer: Answer) -> Answer:
    return Answer(500, {"content-type": "text/plain; charset=utf-8"}, None, raw=HOSTILE.encode(errors="replace"))


def _hostile_challenge(asked: Asked, answer: Answer) -> Answer:
    challenge = 'Bearer error="insufficient_scope", scope="[/] \x9b31m [0] a"'
    return answer.with_header("www-authenticate", challenge) if answer.status == 403 else answer


@pytest.mark.parametrize("color", ["never", "always"])
@pytest.mark.parametrize("wire", ["session", "stateless"])
@pytest.mark.parametrize("tamper", [_hostile_inside, _hostile_opening, _hostile_text, _hostile_challenge])
def test_nothing_that_a_server_sends_gets_through_to_the_terminal(
    tampered: TamperedServer, monkeypatch: pytest.MonkeyPatch, tamper: Any, wire: str, color: str
) -> None:
    """AD-30."""
    monkeypatch.setattr("demo.stage.ATTEMPTS", 1)
    tampered.tamper = tamper
    done = CliRunner().invoke(main, ["--url", tampered.url, "--wire", wire, "--color", color])
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    assert done.exit_code in (1, 3)
    plain = COLOR.sub("", checked_output(done.output))
    assert not [c for c in plain if not c.isprintable() and c != "\n"]
    assert plain.splitlines().count("33 of 33 checks held.") == 0
    if color == "never":
        assert plain == done.output
    assert "[/]" in plain  # shown as it is: not taken for markup


def test_what_the_terminal_cannot_show_is_written_out(tampered: TamperedServer) -> None:
    tampered.tamper = _hostile_inside
    ended = run("--url", tampered.url, "--scene", "2", env=environment(PYTHONIOENCODING="ascii", PYTHONUTF8="0"))
    assert ended.code == 1
    assert "\\xe9" in ended.output


def test_a_reader_who_leaves_is_no_reason_for_a_traceback(served: str) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "demo", "--url", served],
        cwd=ROOT,
        env=environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout is not None
    assert process.stderr is not None
    with process:
        assert process.stdout.readline() == b"Agent discovery over MCP, step by step\n"
        process.stdout.close()
        errors = process.stderr.read().decode()
        assert process.wait(PATIENCE) == 1
    assert errors == ""


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no device here that is always full")
@pytest.mark.parametrize("arguments", [["--scene", "1"], ["--doc", "json"], ["--help"]], ids=" ".join)
def test_output_that_has_no_room_is_told_in_one_line(served: str, arguments: list[str]) -> None:
    done = _in_a_shell("> /dev/full", "--url", served, *arguments)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
    assert done.stderr.startswith("error: cannot write standard output: ")


@pytest.mark.parametrize("closed", ["<&-", ">&-", "<&- >&-"])
def test_closed_standard_streams_do_not_hinder_a_walk(served: str, closed: str) -> None:
    done = _in_a_shell(closed, "--url", served, "--scene", "1")
    assert (done.returncode, done.stderr) == (0, "")
    assert ("3 of 3 checks held." in done.stdout) == (">" not in closed)


def _in_a_shell(redirected: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["sh", "-c", f'exec "$@" {redirected}', "sh", sys.executable, "-m", "demo", *arguments],
        cwd=ROOT,
        env=environment(),
        text=True,
        capture_output=True,
        timeout=PATIENCE,
        check=False,
    )


@pytest.mark.parametrize("columns", ["0", "1", "10", "none"])
def test_a_terminal_of_any_width_shows_the_walk(served: str, columns: str) -> None:
    ended = run("--url", served, "--scene", "1", env=environment(COLUMNS=columns))
    assert ended.code == 0
    assert ended.last == "3 of 3 checks held."


def test_the_help_fits_and_names_every_exit_code() -> None:
    done = CliRunner().invoke(main, ["--help"])
    ended = Ended(done.exit_code, checked_output(done.output))
    assert ended.code == 0
    assert max(len(line) for line in ended.lines) <= 100
    for code in ("0 all checks held", "1 a check failed", "2 wrong usage", "3 no server", "130"):
        assert code in " ".join(ended.output.split())
