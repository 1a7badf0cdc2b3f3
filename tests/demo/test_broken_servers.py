"""A server that breaks a promise is caught: by the check that looks at it, in its scene, and by no other."""

import pytest
from click.testing import CliRunner

from demo.__main__ import main
from demo.events import SceneDisturbed
from demo.scene import Wire
from demo.script import SCENES
from server.settings import Settings
from tests.broken_servers import TamperedServer, running_tampered_server
from tests.demo.broken import CASES, Broken
from tests.demo.walks import chosen, probe_name, walk

_QUICK = 0.1
"""Seconds to wait for a notification that will not come."""


@pytest.mark.parametrize(
    ("case", "wire"),
    [pytest.param(case, wire, id=f"{case.name}, {wire}") for case in CASES for wire in case.wires],
)
async def test_a_broken_server_fails_just_the_checks_that_look_at_what_it_breaks(
    server: TamperedServer, no_rest: None, monkeypatch: pytest.MonkeyPatch, case: Broken, wire: Wire
) -> None:
    if case.silent:
        monkeypatch.setattr("demo.stage.HEARING_SECONDS", _QUICK)
    server.tamper = case.tamper
    told = await walk(server.url, chosen(*case.scenes), wire=wire, timeout=case.timeout)
    assert told.failed == case.failed
    assert (told.ended.stopped is not None) == (case.exit_code == 3)
    assert any(isinstance(event, SceneDisturbed) for event in told.events) == case.disturbs
    assert all(check.finding.expected and check.finding.got for check in told.checked)


def test_each_check_of_the_script_is_failed_by_some_server() -> None:
    """Together with the test above: no check is there that nothing can fail."""
    seen = {failed for case in CASES for failed in case.failed}
    checks = {(scene.number, check.probe.__name__) for scene in SCENES for check in scene.checks}
    faithful = {(scene.number, "as_scripted") for scene in SCENES}
    assert seen == checks | faithful


def test_probes_can_be_told_apart() -> None:
    """The cases name probes; one probe under two titles of a scene would hide one of the two."""
    for scene in SCENES:
        probes = {probe_name(scene, check.title) for check in scene.checks}
        assert len(probes) == len(scene.checks)


@pytest.mark.parametrize("case", [pytest.param(case, id=case.name) for case in CASES])
def test_the_last_lines_name_the_scene_and_the_check(
    server: TamperedServer, no_rest: None, monkeypatch: pytest.MonkeyPatch, case: Broken
) -> None:
    monkeypatch.setattr("demo.stage.ATTEMPTS", 2)
    if case.silent:
        monkeypatch.setattr("demo.stage.HEARING_SECONDS", _QUICK)
    server.tamper = case.tamper
    first, *_, last = sorted({number for number, _ in case.failed}) * 2
    wanted = ["--wire", case.wires[0], "--timeout", str(case.timeout), "--scene", f"{first}-{last}"]
    result = CliRunner().invoke(main, ["--url", server.url, *wanted])
    assert result.exit_code == case.exit_code, result.output
    lines = result.output.splitlines()
    if case.exit_code == 3:
        assert lines.pop().startswith(f"The walkthrough stops in scene {first} (")
    told = lines[-1 - len(case.failed) :]
    for number, probe in case.failed:
        (scene,) = chosen(number)
        titles = [check.title for check in scene.checks if check.probe.__name__ == probe]
        title = titles[0] if titles else "What travelled is what the script says"
        assert any(line.startswith(f"Failed in scene {number} ({scene.title}): {title}: ") for line in told), told
    assert told[-1].endswith(" checks held.")


@pytest.mark.parametrize("wire", ["session", "stateless"])
async def test_an_honest_server_that_answers_with_streams_passes(wire: Wire) -> None:
    with running_tampered_server(settings=Settings(json_response=False)) as streaming:
        told = await walk(streaming.url, wire=wire)
    assert not told.ended.failed
    assert len(told.checked) == sum(len(scene.checks) + 1 for scene in SCENES)
