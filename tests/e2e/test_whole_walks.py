"""Walks that must succeed: on each wire, scene by scene, again and again, several at once, against odd settings."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from demo.script import SCENES
from server.embedded import running_server
from server.settings import Settings
from tests.e2e.processes import Ended, in_process, run

WIRES = ("session", "stateless")
ALL = sum(len(scene.checks) + 1 for scene in SCENES)


def assert_all_held(ended: Ended, checks: int = ALL) -> None:
    assert ended.code == 0, ended.output
    assert ended.last == f"{checks} of {checks} checks held."


def test_alone_it_brings_its_own_server() -> None:
    """Nobody at the default address: the walk starts a server, says so, and leaves nothing running."""
    ended = run("--scene", "1-2")
    assert_all_held(ended, sum(len(scene.checks) + 1 for scene in SCENES[:2]))


def test_one_after_the_other_against_one_server(served: str) -> None:
    for wire in (*WIRES, WIRES[0]):
        assert_all_held(run("--url", served, "--wire", wire, "--non-interactive"))


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("number", [scene.number for scene in SCENES])
def test_each_scene_can_be_played_alone(served: str, wire: str, number: int) -> None:
    assert_all_held(
        in_process("--url", served, "--wire", wire, "--scene", str(number)), len(SCENES[number - 1].checks) + 1
    )


@pytest.mark.parametrize("wire", WIRES)
def test_some_scenes_can_be_played(served: str, wire: str) -> None:
    ended = in_process("--url", served, "--wire", wire, "--scene", "2-5")
    assert_all_held(ended, sum(len(scene.checks) + 1 for scene in SCENES[1:5]))
    titles = [scene.title for scene in SCENES if f"{scene.number}. {scene.title}" in ended.lines]
    assert titles == [scene.title for scene in SCENES[1:5]]


def test_the_wire_is_found_out(served: str, served_session_only: str, served_stateless_only: str) -> None:
    for url, wire in ((served, "session"), (served_session_only, "session"), (served_stateless_only, "stateless")):
        ended = in_process("--url", url, "--wire", "auto")
        assert_all_held(ended)
        assert any(line.startswith(f"   connected on the {wire} wire, protocol 20") for line in ended.lines)


def test_two_at_once_do_not_fail_each_other(served: str) -> None:
    """Both change one roster; what one does to the other is told as a disturbance, and the scene starts again."""
    commands = [("--url", served, "--wire", wire, "--scene", "5-7") for wire in (*WIRES, *WIRES)]
    with ThreadPoolExecutor(2) as at_once:
        for ended in at_once.map(lambda command: run(*command), commands):
            assert_all_held(ended, sum(len(scene.checks) + 1 for scene in SCENES[4:]))


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_several_at_once_many_times_over(served: str) -> None:
    commands = [("--url", served, "--wire", wire, "--scene", "5-7") for wire in WIRES * 12]
    with ThreadPoolExecutor(3) as at_once:
        for ended in at_once.map(lambda command: run(*command, timeout=120), commands):
            assert_all_held(ended, sum(len(scene.checks) + 1 for scene in SCENES[4:]))


@pytest.mark.parametrize("wire", WIRES)
def test_a_roster_of_many_pages(wire: str) -> None:
    with running_server(Settings(page_size=1)) as server:
        assert_all_held(in_process("--url", server.url, "--wire", wire))


@pytest.mark.parametrize("wire", WIRES)
def test_a_large_roster(wire: str) -> None:
    with running_server(Settings(synthetic=500)) as server:
        assert_all_held(in_process("--url", server.url, "--wire", wire))


@pytest.mark.parametrize("wire", WIRES)
def test_a_server_that_forbids_keeping_fails_the_scene_that_is_about_the_cache(wire: str) -> None:
    """With `ttlMs` 0 there is nothing that a notification could drop early. Nothing else fails."""
    with running_server(Settings(ttl_ms=0)) as server:
        ended = in_process("--url", server.url, "--wire", wire)
    assert ended.code == 1
    failed = [line.split(": expected ")[0] for line in ended.lines if line.startswith("Failed in scene ")]
    assert failed == [
        "Failed in scene 7 (The roster changes): The cached roster answers without a request",
        "Failed in scene 7 (The roster changes): The notification alone drops the roster",
    ]
