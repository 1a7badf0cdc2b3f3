"""The script is of one piece: what a step or a check refers to is there."""

from pathlib import Path
from typing import Any

from demo.cast import CAST
from demo.scene import Exchange, Open, Ref
from demo.script import CLOSING, SCENES
from server.tokens import DEMO_TOKENS

ROOT = Path(__file__).resolve().parents[2]


def _refs(value: Any) -> list[Ref]:
    match value:
        case Ref():
            return [value]
        case dict():
            return [ref for item in value.values() for ref in _refs(item)]
        case _:
            return []


def test_there_are_seven_scenes_in_order() -> None:
    assert [scene.number for scene in SCENES] == [1, 2, 3, 4, 5, 6, 7]


def test_each_step_has_a_key_of_its_own() -> None:
    steps = [step for scene in SCENES for step in (*scene.steps, *scene.cleanup)]
    keys = [step.key for step in (*steps, *CLOSING) if hasattr(step, "key")]
    assert len(set(keys)) == len(keys)


def test_a_value_is_taken_from_an_earlier_step_of_the_same_scene() -> None:
    found = 0
    for scene in SCENES:
        earlier: set[str] = set()
        for step in scene.steps:
            if isinstance(step, Exchange):
                for ref in _refs(dict(step.params or {})):
                    found += 1
                    assert ref.key in earlier
                earlier.add(step.key)
    assert found


def test_each_scene_says_what_it_teaches_and_checks_something() -> None:
    for scene in SCENES:
        assert scene.lesson
        assert scene.note
        titles = [check.title for check in scene.checks]
        assert titles
        assert len(set(titles)) == len(titles)


def test_only_the_first_scene_is_a_gate() -> None:
    """A host must not assume the extension (draft, "Negotiation"); nothing else stops a walk."""
    assert [scene.number for scene in SCENES if scene.gate] == [1]


def test_the_code_that_a_scene_points_at_is_there() -> None:
    for scene in SCENES:
        assert scene.code
        for path in scene.code:
            assert (ROOT / path).is_file(), path


def test_the_cast_has_the_tokens_and_scopes_that_the_demo_server_knows() -> None:
    known = {token.token: (token.user, token.scopes) for token in DEMO_TOKENS}
    assert {caller.token: (caller.user, caller.scopes) for caller in CAST} == known


def test_whoever_acts_has_been_connected_in_this_scene_or_before() -> None:
    connected: set[str] = set()
    for scene in SCENES:
        for step in scene.steps:
            if isinstance(step, Open):
                connected.add(step.caller.user)
            elif (caller := getattr(step, "caller", None)) is not None:
                assert caller.user in connected
