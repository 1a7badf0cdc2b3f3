"""The command against servers that are not the demo's: what their rosters can play, exit codes, and what is told."""

import json
import socket
import threading
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import uvicorn
from click.testing import CliRunner
from mcp.server.mcpserver import MCPServer
from starlette.types import ASGIApp

from agent_discovery.server import AgentDef, AgentDiscovery, AgentRegistry, HttpOptions
from demo.__main__ import main
from demo.cast import DEMO_SERVER
from server.embedded import running_server
from server.settings import Settings
from tests.broken_servers import TamperedServer
from tests.demo.breaking import cards
from tests.e2e.odd_servers import closed_port
from tests.e2e.processes import ROOT, environment, run

LIBRARY = ROOT / "examples/library.toml"
READERS = ("rosa-reader", "felix-front-desk", "vera-buyer")
WIRES = ("session", "stateless")
SUM = "are shown by this project's tests."


@pytest.fixture(scope="module")
def library() -> Iterator[str]:
    """The demo server with the roster of another domain and tokens of its own."""
    with running_server(Settings(roster_file=LIBRARY)) as server:
        yield server.url


@contextmanager
def serving_app(app: ASGIApp) -> Iterator[str]:
    """Any ASGI app on a free port."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP) as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()  # who connects before uvicorn is up waits for it
        config = uvicorn.Config(app, log_config=None, log_level="critical", lifespan="on", timeout_graceful_shutdown=1)
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, args=([listener],), name="any-server")
        thread.start()
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}/mcp"
        finally:
            server.should_exit = True
            thread.join(10)
            assert not thread.is_alive()


def dice(*agents: AgentDef) -> ASGIApp:
    """A server on the official SDK that knows nothing of the demo, without authentication."""
    discovery = AgentDiscovery(AgentRegistry(agents))
    server = MCPServer("dice", version="3.1", extensions=[discovery])
    rolled: list[int] = []

    @server.tool()
    async def roll(sides: int = 6) -> int:
        """Throw a die."""
        rolled.append(sides)
        return len(rolled)

    discovery.attach(server)
    return discovery.streamable_http_app(HttpOptions())


def check(*arguments: str, env: dict[str, str] | None = None) -> tuple[int, list[str]]:
    done = CliRunner().invoke(main, list(arguments), env=env, prog_name="python -m demo")
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    assert "Traceback" not in done.output
    for token in READERS:
        assert token not in done.output
    return done.exit_code, done.output.splitlines()


@pytest.mark.parametrize("wire", WIRES)
def test_another_roster_is_played_with_its_own_names(library: str, tmp_path: Path, wire: str) -> None:
    tokens = ("--token", "rosa=rosa-reader", "--token", "felix=felix-front-desk", "--token", "vera=vera-buyer")
    report = tmp_path / "r.json"
    code, lines = check("--url", library, *tokens, "--wire", wire, "--report", str(report))
    assert code == 0, lines
    content = json.loads(report.read_text())
    assert [(scene["title"], scene["outcome"]) for scene in content["scenes"]] == [
        ("Connect and look for the extension", "played"),
        ("List what rosa can see", "played"),
        ("Open catalogue-agent", "played"),
        ("Run it through tools/call", "not applicable"),
        ("Another caller sees another roster", "played"),
        ("Step up", "played"),
        ("The roster changes", "not applicable"),
    ]
    outcomes = {clause["id"]: clause["outcome"] for clause in content["clauses"]}
    assert {outcomes[id] for id in ("AD-6", "AD-9", "AD-10", "AD-20", "CO-6")} == {"held"}
    assert content["callers"] == ["rosa", "felix", "vera"]
    assert "   not applicable: every tool of the agent requires arguments, and a walk makes none up" in lines
    assert lines[-2].endswith(SUM)
    assert not any(token in report.read_text() for token in READERS)


def test_another_roster_with_the_demos_own_tokens_is_not_taken_for_the_demo(tmp_path: Path) -> None:
    text = LIBRARY.read_text(encoding="utf-8")
    for ours, theirs in (
        ("alice-read", "rosa-reader"),
        ("alice-deploy", "vera-buyer"),
        ("bob-billing", "felix-front-desk"),
    ):
        text = text.replace(f'"{theirs}"', f'"{ours}"')
    roster = tmp_path / "library.toml"
    roster.write_text(text, encoding="utf-8")
    with running_server(Settings(roster_file=roster)) as server:
        code, lines = check("--url", server.url)
    assert "This is not the demo server, so its own scenes are played, as far as they apply." in lines
    assert (code, lines[-1].endswith(SUM)) == (0, True)


def test_tokens_may_come_from_the_environment_and_stay_out_of_the_process_list(library: str) -> None:
    ended = run("--url", library, env={**environment(), "MCP_TOKEN": "rosa=rosa-reader felix-front-desk"})
    assert ended.code == 0, ended.output
    assert "   looked at as rosa, caller 2" in ended.lines
    assert not any(token in ended.output for token in READERS)


def test_the_environment_does_not_decide_where_no_server_or_a_scene_is_named(served: str) -> None:
    code, lines = check("--url", served, "--scene", "2", env={"MCP_TOKEN": "alice-read"})
    assert code == 0
    assert lines[-1] == "6 of 6 checks held."


def test_without_tokens_a_server_of_another_name_is_found_out(tmp_path: Path) -> None:
    croupier = AgentDef(name="croupier", description="Throws dice.", capabilities=["dice"], tools=["roll"])
    with serving_app(dice(croupier)) as url:
        code, lines = check("--url", url, "--report", str(tmp_path / "r.xml"))
        assert code == 0, lines
        assert "This is not the demo server, so its own scenes are played, as far as they apply." in lines
        assert "   dice 3.1, on the session wire, protocol 2025-11-25" in lines
        reasons = [line.removeprefix("   not applicable: ") for line in lines if line.startswith("   not applicable: ")]
        assert reasons == [
            "calling may have effects and no tool says that it is read-only; allow it with --call-tools",
            "these 3 callers see the same agents",
            "every agent that is listed opens without more scope",
            "nothing that a walk may do changes this server's roster; see AD-13 and AD-14",
        ]
        code, lines = check("--url", url, "--token", "any-token-at-all", "--call-tools")
        assert code == 0, lines
        assert "   1 of its tools called, each once" in lines
    suites = {suite.get("name"): suite for suite in ET.parse(tmp_path / "r.xml").getroot()}
    assert [suites["scenes"].get(name) for name in ("tests", "failures", "skipped")] == ["7", "0", "4"]


def test_a_server_whose_roster_is_empty_plays_one_scene() -> None:
    with serving_app(dice()) as url:
        code, lines = check("--url", url, "--token", "any-token-at-all")
    assert code == 0, lines
    assert "   not applicable: caller 1 sees no agent" in lines


@pytest.mark.parametrize("arguments", [[], ["--token", "any-token-at-all"]])
def test_a_server_without_agents_is_exit_3(arguments: list[str]) -> None:
    with serving_app(MCPServer("plain").streamable_http_app()) as url:
        code, lines = check("--url", url, *arguments)
    assert code == 3
    assert "does not advertise io.modelcontextprotocol/agents" in lines[-1]


def test_a_token_that_the_server_does_not_know_is_exit_3_and_named_by_its_label(library: str) -> None:
    code, lines = check("--url", library, "--token", "rosa=rosa-reader", "--token", "eve=made-up-token")
    assert (code, lines) == (3, ["error: the server refuses the token of eve; give one that it accepts with --token"])


def test_nobody_there_is_exit_3_and_a_report(tmp_path: Path) -> None:
    report = tmp_path / "r.json"
    code, lines = check(
        "--url", f"http://127.0.0.1:{closed_port()}/mcp", "--token", "t-o-k-e-n", "--report", str(report)
    )
    assert code == 3
    assert lines[0].startswith("error: cannot reach http://127.0.0.1:")
    assert json.loads(report.read_text())["summary"]["exitCode"] == 3


def test_what_is_broken_is_named_at_the_end_and_the_older_shape_as_such(tampered: TamperedServer) -> None:
    tampered.tamper = cards(lambda given: [{"agentId": card["name"], "delegateTool": "x"} for card in given])
    code, lines = check("--url", tampered.url, "--token", "alice-read")
    assert code == 1
    assert lines[-2].startswith("Broken: AD-5 stated: this is the older roster shape, with agentId and delegateTool")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--token", "t-o-k-e-n"], "--token goes with --url: name the server that the token is for"),
        (["--url", "http://h/mcp", "--token", "s p a c e"], "token 1 is not visible ASCII without spaces"),
        (["--url", "http://h/mcp", "--token", "a=token-a", "--token", "a=token-b"], "two tokens have the label 'a'"),
        (["--url", "http://h/mcp", "--token", "t-o-k-e-n", "--scene", "2"], "--scene picks from the script"),
        (["--url", "http://h/mcp", "--token", "t-o-k-e-n", "--tui"], "--token goes with the plain walk"),
        (["--clauses", "--explore"], "--clauses goes with the plain walk"),
        (["--report", "r.json", "--doc", "md"], "--report goes with the plain walk"),
        (["--report", "r.txt"], "'r.txt' ends in neither .json nor .xml (JUnit)"),
        (["--report", "no/such/place/r.json"], "there is no directory 'no/such/place'"),
    ],
)
def test_wrong_usage_is_exit_2_and_shows_no_token(arguments: list[str], says: str) -> None:
    code, lines = check(*arguments)
    assert code == 2
    assert says in lines[-1]
    assert not any(secret in "\n".join(lines) for secret in ("s p a c e", "token-a", "t-o-k-e-n"))


def test_a_bad_token_in_the_environment_is_told_of_there() -> None:
    code, lines = check("--url", "http://h/mcp", env={"MCP_TOKEN": "caf\u00e9"})
    assert code == 2
    assert "in MCP_TOKEN: token 1 is not visible ASCII" in lines[-1]


def test_a_report_that_cannot_be_written_is_said_so(served: str, tmp_path: Path) -> None:
    place = tmp_path / "taken.json"
    place.mkdir()
    code, lines = check("--url", served, "--scene", "1", "--report", str(place))
    assert code == 2
    assert "taken.json" in lines[-1]


@pytest.mark.parametrize(
    ("value", "label"),
    [("YWJj=", "caller 1"), ("YWJj==", "caller 1"), ("a.b-c=YWJj==", "a.b-c"), ("1=YWJj", "caller 1")],
)
def test_a_label_is_told_from_a_tokens_padding(value: str, label: str) -> None:
    with serving_app(dice()) as url:
        _, lines = check("--url", url, "--token", value)
    assert f"   looked at as {label}" in lines


def test_the_demo_servers_name_is_the_one_that_the_walk_knows_it_by(served: str, tmp_path: Path) -> None:
    report = tmp_path / "r.json"
    check("--url", served, "--scene", "1", "--report", str(report))
    assert json.loads(report.read_text())["server"]["name"] == DEMO_SERVER
