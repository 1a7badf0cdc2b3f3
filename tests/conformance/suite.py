"""The MCP conformance suite as Python values: what it offers, and what it found.

Owns calling the suite's program and reading its files. It leaves which scenarios matter to `scenarios`, and judging to
the tests.
"""

import json
import re
import shlex
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from tests.conformance.scenarios import Run
from tests.conformance.toolbox import Toolbox

__all__ = ["Check", "Offer", "Verdict", "offered", "run_client_scenario", "run_server_scenarios"]

_SCRIPT: Final = "@modelcontextprotocol/conformance/dist/index.js"
_SIDES: Final = {"Server scenarios": "server", "Client scenarios": "client", "Authorization server": "authorization"}
_OFFER: Final = re.compile(r"  - (?P<name>\S+) \[(?P<tags>[^]]*)\]")
_SECONDS: Final = 240
_RAN_ON: Final = re.compile(r"-\d{4}-\d\d-\d\dT[\dZ-]+$")
"""How the suite ends the name of a folder of results."""


@dataclass(frozen=True)
class Offer:
    """A scenario that the suite has: `versions` are the protocol versions it applies to, none for an extension's."""

    side: str
    name: str
    versions: frozenset[str]


@dataclass(frozen=True)
class Check:
    """One thing that the suite looked at. `status` is SUCCESS, FAILURE, WARNING, SKIPPED or INFO."""

    id: str
    status: str
    text: str

    @property
    def complains(self) -> bool:
        """Whether something is wrong; a warning is about a SHOULD and counts as well."""
        return self.status in ("FAILURE", "WARNING")


Verdict = Callable[[Run], tuple[Check, ...]]
"""What the suite found in one scenario."""


def offered(tools: Toolbox) -> tuple[Offer, ...]:
    """All scenarios of the installed suite."""
    offers: list[Offer] = []
    side = ""
    for line in _suite(tools, "list").splitlines():
        side = next((name for title, name in _SIDES.items() if line.startswith(title)), side)
        if found := _OFFER.fullmatch(line):
            tags = frozenset(tag for tag in found["tags"].split(",") if tag != "extension")
            offers.append(Offer(side, found["name"], tags))
    return tuple(offers)


def run_server_scenarios(tools: Toolbox, url: str, version: str, results: Path) -> Mapping[str, tuple[Check, ...]]:
    """What the suite found at a server, by scenario: one run of all that apply to a protocol version."""
    _suite(tools, "server", "--url", url, "--suite", "all", "--spec-version", version, "-o", str(results))
    return {
        _RAN_ON.sub("", folder.name).removeprefix("server-"): _checks(folder)
        for folder in results.iterdir()
        if folder.is_dir()
    }


def run_client_scenario(tools: Toolbox, scenario: str, version: str, results: Path) -> tuple[Check, ...]:
    """What the suite found at this project's host connections in one scenario."""
    adapter = shlex.join([sys.executable, "-m", "tests.conformance.client_adapter"])
    scenario_options = ["--scenario", scenario, "--spec-version", version]
    _suite(tools, "client", "--command", adapter, *scenario_options, "-o", str(results))
    (folder,) = results.iterdir()
    checks = _checks(folder)
    errors = (folder / "stderr.txt").read_text().strip()
    if errors:
        return (*checks, Check("adapter-ended-well", "FAILURE", errors[-2_000:]))
    return checks


def _suite(tools: Toolbox, *arguments: str) -> str:
    """Run the suite; its exit code is not looked at, as it knows nothing of what is left out and why."""
    done = tools.run(str(tools.modules / _SCRIPT), *arguments, timeout=_SECONDS, NO_COLOR="1")
    said = done.stdout + done.stderr
    assert said, "the suite said nothing"
    return said


def _checks(folder: Path) -> tuple[Check, ...]:
    found: list[dict[str, Any]] = json.loads((folder / "checks.json").read_text())
    return tuple(
        Check(one["id"], one["status"], one.get("errorMessage") or one.get("description") or "") for one in found
    )
