"""`scenarios.toml` as Python values: what is run of the suite, what is expected to fail, and what is left out, and why.

Owns reading that table and its own rules: nothing is listed twice, and nothing is left out without a reason.
"""

import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

__all__ = ["EXPECTED_FAILURES", "LEFT_OUT", "RUNS", "VERSIONS", "ExpectedFailure", "LeftOut", "Run"]

VERSIONS: Final = ("2025-11-25", "2026-07-28")
"""The protocol versions that this project serves and speaks: the newest with a session, and the one without."""

_TABLE: Final[dict[str, Any]] = tomllib.loads((Path(__file__).with_name("scenarios.toml")).read_text())


@dataclass(frozen=True)
class Run:
    """One scenario against one subject: `fixture` and `demo` are servers, `host` is the client side."""

    subject: str
    version: str
    scenario: str

    @property
    def side(self) -> str:
        """The side of the suite that has this scenario."""
        return "client" if self.subject == "host" else "server"

    def __str__(self) -> str:
        return f"{self.subject}-{self.version}-{self.scenario}"


@dataclass(frozen=True)
class ExpectedFailure:
    """A check that complains in a scenario that is run, and why nothing is done about it."""

    run: Run
    check: str
    reason: str


@dataclass(frozen=True)
class LeftOut:
    """A scenario that is not run, in any version, and why."""

    side: str
    scenario: str
    reason: str


def _runs() -> Iterator[Run]:
    for subject, by_version in _TABLE["run"].items():
        for version, scenarios in by_version.items():
            for scenario in scenarios:
                yield Run(subject, version, scenario)


def _expected_failures() -> Iterator[ExpectedFailure]:
    for entry in _TABLE["expected_failure"]:
        run = Run(entry["subject"], entry["version"], entry["scenario"])
        for check in entry["checks"]:
            yield ExpectedFailure(run, check, entry["reason"])


def _left_out() -> Iterator[LeftOut]:
    for entry in _TABLE["left_out"]:
        for scenario in entry["scenarios"]:
            yield LeftOut(entry["side"], scenario, entry["reason"])


RUNS: Final = tuple(_runs())
EXPECTED_FAILURES: Final = tuple(_expected_failures())
LEFT_OUT: Final = tuple(_left_out())
