"""The smallest host that uses agents, run as its reader would run it."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from server.embedded import RunningServer, running_server
from server.settings import Settings

ROOT = Path(__file__).resolve().parent.parent.parent
SCRIPT = ROOT / "examples/minimal_host.py"


@pytest.fixture(scope="module", params=["session", "stateless"])
def one_wire(request: pytest.FixtureRequest) -> Iterator[RunningServer]:
    with running_server(Settings(port=0, wire=request.param)) as server:
        yield server


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    command: list[Any] = [sys.executable, "-m", "examples.minimal_host", *arguments]
    return subprocess.run(command, check=False, cwd=ROOT, capture_output=True, text=True, timeout=30)


def test_it_fits_on_a_page() -> None:
    lines = SCRIPT.read_text(encoding="utf-8").splitlines()
    assert len([line for line in lines if line.strip()]) <= 40


def test_it_finds_opens_and_runs_an_agent_by_its_labels(one_wire: RunningServer) -> None:
    done = run(one_wire.url, "alice-read", "ci", "diagnostics")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("pipeline-agent is told: You find out why pipelines fail.")
    assert "list_failed_pipelines: " in done.stdout
    assert "pl-1042" in done.stdout


def test_it_says_what_there_is_where_no_label_fits(one_wire: RunningServer) -> None:
    done = run(one_wire.url, "alice-read", "billing")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "no agent is labelled billing; there are pipeline-agent, deploy-agent\n"


def test_it_says_in_one_line_what_is_refused(one_wire: RunningServer) -> None:
    done = run(one_wire.url, "alice-read", "deployment")
    assert (done.returncode, done.stdout) == (1, "")
    assert 'also has scope "ops:deploy"' in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_without_an_address_it_says_how_to_call_it() -> None:
    done = run()
    assert done.returncode == 1
    assert "python -m examples.minimal_host URL TOKEN LABEL..." in done.stderr
