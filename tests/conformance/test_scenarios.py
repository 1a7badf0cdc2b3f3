"""The table of scenarios and the pinned npm packages keep their own rules; nothing here needs npm."""

import json
from collections import Counter
from pathlib import Path

import pytest

from tests.conformance import toolbox
from tests.conformance.scenarios import EXPECTED_FAILURES, LEFT_OUT, RUNS
from tests.conformance.suite import Check


def test_the_table_names_nothing_twice() -> None:
    names = [("run", str(one)) for one in RUNS] + [(one.side, one.scenario) for one in LEFT_OUT]
    assert [name for name, count in Counter(names).items() if count > 1] == []
    run = {(one.side, one.scenario) for one in RUNS}
    assert [one for one in LEFT_OUT if (one.side, one.scenario) in run] == []


def test_what_is_left_out_or_expected_to_fail_has_a_reason() -> None:
    reasons = [one.reason for one in LEFT_OUT] + [one.reason for one in EXPECTED_FAILURES]
    assert [reason for reason in reasons if not reason.endswith(".")] == []
    assert [one for one in EXPECTED_FAILURES if one.run not in RUNS] == []


@pytest.mark.parametrize(
    ("status", "complains"),
    [("FAILURE", True), ("WARNING", True), ("SUCCESS", False), ("SKIPPED", False), ("INFO", False)],
)
def test_a_warning_is_a_complaint_too(status: str, complains: bool) -> None:
    assert Check("any", status, "").complains is complains


def test_the_lock_holds_hashes_and_no_download_addresses() -> None:
    text = (toolbox.HERE / "package-lock.json").read_text()
    assert "://" not in text
    packages = json.loads(text)["packages"]
    assert [name for name, package in packages.items() if name and not package.get("integrity")] == []


def test_without_npm_the_reason_says_what_to_install(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(toolbox, "MODULES", tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(toolbox.ToolboxMissing, match="apt install npm"):
        toolbox.installed()


def test_a_failed_installation_is_named_with_what_npm_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    npm = tmp_path / "npm"
    npm.write_text("#!/bin/sh\necho no such registry >&2\nexit 1\n")
    npm.chmod(0o755)
    monkeypatch.setattr(toolbox, "MODULES", tmp_path / "none")
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    with pytest.raises(toolbox.ToolboxMissing, match="no such registry"):
        toolbox.installed()
