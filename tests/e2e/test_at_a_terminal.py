"""A reader at a terminal: steps, leaves, interrupts. The server is put back as it was, and nothing stays running."""

import os
import re
import signal
import socket

import pytest

from agent_discovery.host import Credential, connect
from tests.broken_servers import TamperedServer
from tests.demo.tampering import on, withheld
from tests.e2e.odd_servers import answering
from tests.e2e.processes import Ended, environment, serving
from tests.e2e.terminals import InTerminal, in_terminal

pytestmark = pytest.mark.skipif(os.name != "posix", reason="pseudo-terminals are POSIX")

PROMPT = "[Enter next, q quit]"
CONTROL = re.compile(r"\x1b\[[0-9;]*m|   \[Enter next, q quit\] \r {24}\r")
"""Colors, and prompts that were wiped out again."""


async def roster_of(url: str) -> list[str]:
    async with await connect(url, Credential("alice-read")) as connection:
        page = await connection.request("agents/list")
    return [card["name"] for card in page["agents"]]


async def assert_put_back(server: TamperedServer) -> None:
    assert server.sessions == set()
    assert server.streams == 0
    assert "release-agent" not in await roster_of(server.url)


def assert_interrupted(ended: Ended) -> None:
    assert ended.code == 130, ended.output
    lines = CONTROL.sub("", ended.output).replace("^C", "").splitlines()
    assert lines[-1] == "Interrupted."
    assert lines.count("Interrupted.") == 1


def step(reader: InTerminal, times: int) -> None:
    for _ in range(times):
        reader.prompted(PROMPT)
        reader.type("\r")


async def test_enter_steps_through_a_scene_to_its_end(tampered: TamperedServer) -> None:
    with in_terminal("--url", tampered.url, "--scene", "2") as reader:
        reader.prompted(PROMPT)
        assert tampered.sessions == set()  # nothing was sent while the reader rests
        reader.type("\r")
        reader.prompted(PROMPT)
        reader.type(" ")
        ended = reader.end()
    assert ended.code == 0
    assert "6 of 6 checks held." in ended.output
    await assert_put_back(tampered)


@pytest.mark.parametrize(("key", "wire"), [("q", "session"), ("Q", "stateless"), ("\x04", "session")])
async def test_q_leaves_and_puts_things_back(tampered: TamperedServer, wire: str, key: str) -> None:
    with in_terminal("--url", tampered.url, "--wire", wire, "--scene", "7") as reader:
        step(reader, 4)
        reader.expect("notifications/agents/list_changed")
        reader.prompted(PROMPT)
        assert "release-agent" in await roster_of(tampered.url)
        reader.type(key)
        ended = reader.end()
    assert ended.code == 0
    assert "Interrupted" not in ended.output
    await assert_put_back(tampered)


async def test_q_after_a_failed_check_exits_1(tampered: TamperedServer) -> None:
    tampered.tamper = on("agents/list", lambda _, answer: answer.with_result(cacheScope="public"))
    with in_terminal("--url", tampered.url, "--scene", "2-3") as reader:
        step(reader, 2)
        reader.expect("FAILED")
        reader.prompted(PROMPT)
        reader.type("q")
        ended = reader.end()
    assert ended.code == 1
    await assert_put_back(tampered)


async def test_ctrl_c_at_the_prompt(tampered: TamperedServer) -> None:
    with in_terminal("--url", tampered.url) as reader:
        step(reader, 2)
        reader.prompted(PROMPT)
        reader.type("\x03")
        ended = reader.end()
    assert_interrupted(ended)
    await assert_put_back(tampered)


@pytest.mark.parametrize(
    ("number", "wire"),
    [
        (signal.SIGINT, "session"),
        (signal.SIGINT, "stateless"),
        (signal.SIGTERM, "session"),
        (signal.SIGHUP, "stateless"),
    ],
)
async def test_an_interrupt_in_the_middle_of_the_scene_that_changes_the_roster(
    tampered: TamperedServer, wire: str, number: signal.Signals
) -> None:
    with in_terminal("--url", tampered.url, "--wire", wire, "--scene", "7") as reader:
        step(reader, 4)
        reader.expect("notifications/agents/list_changed")
        reader.prompted(PROMPT)
        assert "release-agent" in await roster_of(tampered.url)
        reader.signal(number)
        ended = reader.end()
    assert_interrupted(ended)
    await assert_put_back(tampered)


@pytest.mark.parametrize(("number", "wire"), [(signal.SIGINT, "session"), (signal.SIGTERM, "stateless")])
async def test_an_interrupt_while_a_request_hangs(tampered: TamperedServer, wire: str, number: signal.Signals) -> None:
    tampered.tamper = on("tools/call", withheld, "list_failed_pipelines")
    with in_terminal("--url", tampered.url, "--wire", wire, "--scene", "4", "--non-interactive") as reader:
        reader.expect("->> tools/call list_failed_pipelines")
        assert tampered.waiting.wait(10)
        reader.signal(number)
        ended = reader.end()
    assert_interrupted(ended)
    await assert_put_back(tampered)


def test_ctrl_c_while_nobody_answers_the_opening() -> None:
    with answering(None) as url, in_terminal("--url", url, "--non-interactive") as reader:
        reader.expect("->> initialize")
        reader.type("\x03")
        ended = reader.end()
    assert_interrupted(ended)


@pytest.fixture
def nobody_at_the_default_address() -> None:
    with socket.socket() as probe:
        if probe.connect_ex(("127.0.0.1", 8080)) == 0:
            pytest.skip("something runs at the default address, so the walk would not start a server of its own")


@pytest.mark.usefixtures("nobody_at_the_default_address")
@pytest.mark.parametrize("keys", ["\x03", ""])
def test_an_interrupt_while_the_server_of_its_own_starts(keys: str) -> None:
    with in_terminal("--non-interactive") as reader:
        reader.expect("starting a demo server for this walk.")
        if keys:
            reader.type(keys)
        else:
            reader.signal(signal.SIGTERM)
        ended = reader.end()
    assert_interrupted(ended)


@pytest.mark.usefixtures("nobody_at_the_default_address")
def test_ctrl_c_with_a_server_of_its_own_leaves_no_process() -> None:
    with in_terminal() as reader:
        step(reader, 3)
        reader.prompted(PROMPT)
        reader.type("\x03")
        ended = reader.end()
        with pytest.raises(ProcessLookupError):
            os.killpg(reader.process.pid, 0)
    assert_interrupted(ended)


def test_a_server_that_dies_while_the_reader_rests_stops_the_walk() -> None:
    with serving() as server, in_terminal("--url", server.url) as reader:
        step(reader, 2)
        reader.prompted(PROMPT)
        server.kill()
        reader.type("\r")
        ended = reader.end()
    assert ended.code == 3
    lines = CONTROL.sub("", ended.output).splitlines()
    assert lines[-1].startswith("The walkthrough stops in scene 3 (Open pipeline-agent): ")


@pytest.mark.parametrize(
    ("arguments", "env", "colored"),
    [
        ([], {}, True),
        ([], {"NO_COLOR": "1"}, False),
        ([], {"TERM": "dumb"}, False),
        (["--color", "never"], {}, False),
    ],
)
def test_color_at_a_terminal(served: str, arguments: list[str], env: dict[str, str], colored: bool) -> None:
    """NO_COLOR is about color: bold may stay."""
    with in_terminal(
        "--url", served, "--scene", "1", "--non-interactive", *arguments, env=environment(**env)
    ) as reader:
        ended = reader.end()
    assert ended.code == 0
    assert bool(re.search(r"\x1b\[(?:\d+;)*3[0-7]m", ended.output)) == colored
    assert "3 of 3 checks held." in CONTROL.sub("", ended.output)
