"""The command line, as a process of its own."""

import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
from click.testing import CliRunner

from agent_discovery.wire import EXTENSION_ID
from server.__main__ import main
from tests.server.callers import Caller

ROOT = Path(__file__).resolve().parents[2]
SECONDS = 20


@contextmanager
def process(*options: str) -> Iterator[subprocess.Popen[str]]:
    """`python -m server` with `options`; killed if a test leaves it running."""
    command = [sys.executable, "-m", "server", *options]
    with subprocess.Popen(command, cwd=ROOT, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as started:
        try:
            yield started
        finally:
            if started.poll() is None:
                started.kill()


def _url(started: subprocess.Popen[str]) -> str:
    assert started.stdout is not None
    line = started.stdout.readline()
    found = re.search(r"ready on (http://127\.0\.0\.1:\d+/mcp)\b", line)
    assert found, line
    return found[1]


@pytest.mark.parametrize("name", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_open_streams_and_the_process_without_noise(name: signal.Signals) -> None:
    with process("--port", "0") as started:
        url = _url(started)
        alice, session = Caller(url, "stateless"), Caller(url, "session")
        message = alice.message("subscriptions/listen", {"notifications": {"agentsListChanged": True}})
        headers = alice.headers("subscriptions/listen")
        standing = {**session.headers("x"), "accept": "text/event-stream"}
        with (
            alice.http.stream("POST", url, json=message, headers=headers) as listen,
            session.http.stream("GET", url, headers=standing) as get,
        ):
            lines = listen.iter_lines()
            while "acknowledged" not in next(lines):
                pass
            started.send_signal(name)
            assert '"resultType":"complete"' in "".join(lines)
            assert get.read() == b""
        out, err = started.communicate(timeout=5)
        alice.http.close()
        session.http.close()
        assert (started.returncode, out, err) == (0, "", "")


def test_a_taken_port_is_one_line_with_the_next_move() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with process("--port", str(port)) as started:
            out, err = started.communicate(timeout=SECONDS)
    assert (started.returncode, out) == (2, "")
    assert len(err.splitlines()) == 1
    assert f"port {port}" in err
    assert "--port" in err


@pytest.mark.parametrize(
    "options",
    [
        ["--wire", "both"],
        ["--port", "99999"],
        ["--port", "x"],
        ["--ttl-ms", "-1"],
        ["--page-size", "0"],
        ["--synthetic", "-1"],
        ["--log-level", "loud"],
        ["--extension-version", "1.0"],
        ["--extension-version", "1.0.0", "--extension-version", "1.2.0"],
        ["--host", ""],
        ["--host", "a\nb"],
        ["--nonsense"],
        ["extra"],
    ],
)
def test_a_bad_option_is_usage_and_exit_2(options: list[str]) -> None:
    result = CliRunner().invoke(main, options)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith("Usage:")


def test_an_address_that_is_not_ours_is_one_line() -> None:
    with process("--host", "192.0.2.1", "--port", "0") as started:
        _out, err = started.communicate(timeout=SECONDS)
    assert started.returncode == 2
    assert len(err.splitlines()) == 1


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no device here that is always full")
def test_a_full_standard_output_is_not_taken_for_a_bad_address() -> None:
    with open("/dev/full", "w") as full:
        command = [sys.executable, "-m", "server", "--port", "0"]
        ended = subprocess.run(
            command, cwd=ROOT, text=True, stdout=full, stderr=subprocess.PIPE, timeout=SECONDS, check=False
        )
    assert ended.returncode == 2
    assert len(ended.stderr.splitlines()) == 1
    assert "standard output" in ended.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="closes a stream as a POSIX shell does")
def test_a_server_whose_standard_output_is_closed_serves() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = ["sh", "-c", 'exec "$@" >&-', "sh", sys.executable, "-m", "server", "--port", str(port)]
    with subprocess.Popen(command, cwd=ROOT, text=True, stderr=subprocess.PIPE) as started:
        try:
            transport = httpx.HTTPTransport(retries=6)
            with httpx.Client(transport=transport, timeout=SECONDS) as http:
                assert http.get(f"http://127.0.0.1:{port}/healthz").status_code == 200
        finally:
            started.terminate()
        assert started.wait(SECONDS) == 0


def test_no_token_is_ever_logged() -> None:
    with process("--port", "0", "--log-level", "debug", "--wire", "dual") as started:
        url = _url(started)
        for wire in ("session", "stateless"):
            with Caller(url, wire) as alice:
                alice.send("agents/get", {"name": "deploy-agent"})
                alice.send("agents/list", token="bob-billing")
                alice.send("agents/list", token="not-a-token")
        started.send_signal(signal.SIGTERM)
        out, err = started.communicate(timeout=5)
    assert started.returncode == 0
    assert err, "debug logs something"
    for token in ("alice-read", "bob-billing", "not-a-token"):
        assert token not in out + err


def test_extension_versions_reach_the_server() -> None:
    with process("--port", "0", "--extension-version", "1.2.0", "--extension-version", "2.0.0") as started:
        url = _url(started)
        with Caller(url, "stateless", settings={"version": "3.0.0"}) as alice:
            advertised = alice.call("server/discover")["capabilities"]["extensions"][EXTENSION_ID]
            assert advertised["versions"] == ["1.2.0", "2.0.0"]
            refused = alice.send("agents/list")
            assert (refused.status_code, refused.json()["error"]["code"]) == (400, -32005)
        started.send_signal(signal.SIGINT)
        started.communicate(timeout=5)
        assert started.returncode == 0


def test_options_reach_the_server() -> None:
    options = ("--port", "0", "--synthetic", "120", "--page-size", "100", "--ttl-ms", "7", "--wire", "stateless")
    with process(*options) as started:
        url = _url(started)
        with Caller(url, "stateless") as alice:
            first = alice.call("agents/list")
            second = alice.call("agents/list", {"cursor": first["nextCursor"]})
            assert first["ttlMs"] == 7
            assert [len(first["agents"]), len(second["agents"])] == [100, 22]
            assert second["agents"][-1]["name"] == "synthetic-00120"
            assert len(second["agents"][-1]["capabilities"]) == 2
        assert httpx.get(url.replace("/mcp", "/healthz")).status_code == 200
        started.send_signal(signal.SIGINT)
        started.communicate(timeout=5)
        assert started.returncode == 0
