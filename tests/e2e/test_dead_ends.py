"""Where a walk cannot go on: the exit code says which way, and the last line names the next move."""

import io

import pytest
from rich.console import Console

from demo.events import SceneStarted, WalkEnded
from demo.script import SCENES
from demo.stage import Stage
from demo.terminal import Terminal
from tests.broken_servers import Answer, Asked, TamperedServer
from tests.demo.tampering import capabilities, leaking_billing_agent, on, roster, withheld, without_extension
from tests.e2e.odd_servers import answering, closed_port
from tests.e2e.processes import Ended, checked_output, in_process, run, serving

_STOPS = "The walkthrough stops in scene 1 (Connect and look for the extension): "
HTML = b"<!doctype html><html><body>Welcome</body></html>"
_SITE = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: %d\r\n\r\n%s" % (len(HTML), HTML)
_MOVED = b"HTTP/1.1 302 Found\r\nLocation: https://example.org/\r\nContent-Length: 0\r\n\r\n"
_UNWILLING = b"HTTP/1.1 500 Internal Server Error\r\nContent-Type: text/plain\r\nContent-Length: 4\r\n\r\noops"
_CUT = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{"


def stopped_in_scene_1(ended: Ended) -> str:
    """Why, as the last line has it."""
    assert ended.code == 3, ended.output
    assert ended.last.startswith(_STOPS), ended.output
    assert ended.lines.count(ended.last) == 1
    return ended.last.removeprefix(_STOPS)


def test_nobody_there() -> None:
    why = stopped_in_scene_1(run("--url", f"http://127.0.0.1:{closed_port()}/mcp"))
    assert why.startswith("cannot reach http://127.0.0.1:")
    assert why.endswith("check the address and that the server is running")


def test_the_wrong_path_on_the_right_server(served: str) -> None:
    why = stopped_in_scene_1(run("--url", served.replace("/mcp", "/nothing")))
    assert "HTTP 404" in why
    assert why.endswith("Check the path (often /mcp)")


@pytest.mark.parametrize(
    ("raw", "says"),
    [
        pytest.param(_SITE, "not an MCP endpoint? Check the path (often /mcp)", id="a web site"),
        pytest.param(_MOVED, "redirects to https://example.org/", id="a redirect"),
        pytest.param(_UNWILLING, "oops", id="a server error"),
        pytest.param(_CUT, "start the walk again", id="an answer cut short"),
        pytest.param(b"SSH-2.0-OpenSSH_9.6\r\n", "start the walk again", id="another protocol"),
        pytest.param(b"", "start the walk again", id="a server that hangs up"),
        pytest.param(b"\x00\x1b[31m\xff\xfe\r\n\r\n", "check that the address is an HTTP server's", id="noise"),
    ],
)
def test_somebody_else_is_there(raw: bytes, says: str) -> None:
    with answering(raw) as url:
        ended = in_process("--url", url)
    assert says in stopped_in_scene_1(ended)
    assert "\x1b" not in ended.output


def test_a_server_that_never_answers_is_given_up_after_the_timeout() -> None:
    with answering(None) as url:
        why = stopped_in_scene_1(run("--url", url, "--timeout", "1"))
    assert why == "no answer to initialize within 1 s; check the address, or allow more time with --timeout"


@pytest.mark.parametrize("wire", ["session", "stateless"])
def test_a_server_that_knows_other_tokens(tampered: TamperedServer, wire: str) -> None:
    def strange(_: Asked, __: Answer) -> Answer:
        return Answer(
            401, {"www-authenticate": "Bearer", "content-type": "application/json"}, {"error": "invalid_token"}
        )

    tampered.tamper = strange
    why = stopped_in_scene_1(in_process("--url", tampered.url, "--wire", wire))
    assert why == (
        "the server refused the walkthrough's token: invalid_token; give a demo server, e.g. python -m server, "
        "or a token of this one with --token"
    )


def test_a_server_that_hangs_in_a_tool_fails_the_scene_that_calls_it(tampered: TamperedServer) -> None:
    tampered.tamper = on("tools/call", withheld, "list_failed_pipelines")
    ended = run("--url", tampered.url, "--timeout", "1")
    assert ended.code == 1
    assert any(
        line.startswith("Failed in scene 4 (Run it through tools/call): What travelled is what the script says: ")
        and "no answer to tools/call within 1 s" in line
        for line in ended.lines
    )


async def test_a_server_that_is_gone_between_two_scenes_stops_the_walk_there() -> None:
    told = io.StringIO()
    terminal = Terminal(Console(file=told))
    with serving() as server:
        async for event in Stage(server.url, timeout=5).play(SCENES):
            terminal.tell(event)
            if isinstance(event, SceneStarted) and event.scene.number == 3:
                server.kill()
    assert isinstance(event, WalkEnded)
    assert event.stopped is not None
    assert event.stopped.scene.number == 3
    last = checked_output(told.getvalue()).splitlines()[-1]
    assert last.startswith("The walkthrough stops in scene 3 (Open pipeline-agent): ")
    assert "check " in last


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--scene", "0"], "'0' names no scenes: give a number from 1 to 7, or a range such as 2-5"),
        (["--scene", "9"], "'9' names no scenes"),
        (["--scene", "x"], "'x' names no scenes"),
        (["--scene", "3-1"], "'3-1' names no scenes"),
        (["--scene", "3-9"], "'3-9' names no scenes"),
        (["--scene", "-1"], "'-1' names no scenes"),
        (["--scene", ""], "'' names no scenes"),
        (["--url", "127.0.0.1:8080/mcp"], "is no web address: give it as http://127.0.0.1:8080/mcp"),
        (["--url", "localhost"], "is no web address"),
        (["--url", "ftp://127.0.0.1/mcp"], "is no web address"),
        (["--url", "http:///mcp"], "is no web address"),
        (["--url", "http://[::1"], "is no web address"),
        (["--url", "http://127.0.0.1:99999/mcp"], "is no web address"),
        (["--url", "http://127.0.0.1:x/mcp"], "is no web address"),
        (["--url", " http://127.0.0.1:1/mcp"], "is no web address"),
        (["--url", "http://foo[::1]:1/mcp"], "is no web address"),
        (["--url", "http://[::1]foo:80/"], "is no web address"),
        (["--url", "http://127.0.0.1:1/" + "a" * 70_000], "is no web address"),
        (["--url", "http://xn--/mcp"], "is no web address"),
        (["--url", "http://127.0.0.1/\x1b[31m"], "is no web address"),
        (["--url", "http://me:secret@127.0.0.1/mcp"], "must not hold a user name or password"),
        (["--hidden-name", ""], "'' is no agent's name"),
        (["--hidden-name", "billing-agent"], "--hidden-name goes with --url or --clauses"),
        (["--call-tools"], "--call-tools goes with --url or --clauses"),
        (["--out", "there.md"], "--out and --check go with --doc md, --doc mermaid or --doc json"),
        (["--check"], "--out and --check go with --doc md, --doc mermaid or --doc json"),
        (["--timeout", "0"], "--timeout"),
        (["--timeout", "nan"], "--timeout"),
        (["--timeout", "soon"], "--timeout"),
        (["--wire", "both"], "--wire"),
        (["--sceen", "1"], "--scene"),
        (["more"], "more"),
    ],
)
def test_wrong_usage_is_told_before_anything_is_sent(arguments: list[str], says: str) -> None:
    ended = in_process(*arguments)
    assert ended.code == 2, ended.output
    assert says in ended.last
    assert "secret" not in ended.output
    assert "\x1b" not in ended.output


def test_wrong_usage_in_a_shell() -> None:
    ended = run("--scene", "0")
    assert ended.code == 2
    assert ended.last.startswith("Error: Invalid value for '--scene'")


def test_a_wire_that_the_server_does_not_have(served_session_only: str, served_stateless_only: str) -> None:
    for url, wire in ((served_session_only, "stateless"), (served_stateless_only, "session")):
        why = stopped_in_scene_1(in_process("--url", url, "--wire", wire))
        assert why.endswith("; choose the wire that it speaks, or --wire auto")


def test_a_server_without_the_extension_is_told_so(tampered: TamperedServer) -> None:
    tampered.tamper = capabilities(without_extension)
    why = stopped_in_scene_1(run("--url", tampered.url))
    assert why.endswith(
        " does not advertise io.modelcontextprotocol/agents; give a server that does, e.g. python -m server"
    )


def test_a_server_that_leaks_a_hidden_agent_fails_the_scene_that_looks(tampered: TamperedServer) -> None:
    tampered.tamper = roster(leaking_billing_agent)
    ended = run("--url", tampered.url)
    assert ended.code == 1
    assert ended.lines[-2].startswith("Failed in scene 2 (List what Alice can see): Alice does not see billing-agent: ")
    assert ended.last == "32 of 33 checks held."
