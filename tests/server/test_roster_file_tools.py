"""Tools with written-down answers: what they take, and how their templates are filled."""

import json
from typing import Any

import pytest
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]  # it ships no types

from server.canned import MAX_TEXT, Argument, CannedTool

ARGUMENTS = (
    Argument(name="word"),
    Argument(name="count", type="integer", minimum=1, maximum=9, default=3),
    Argument(name="share", type="number", optional=True, minimum=0),
    Argument(name="loud", type="boolean", default=False),
    Argument(name="size", choices=("small", "large"), default="small"),
)


def _tool(result: Any) -> CannedTool:
    return CannedTool(name="t", description="d", arguments=ARGUMENTS, result=result)


def _structured(result: dict[str, Any], **given: Any) -> dict[str, Any]:
    answered = _tool(result).answer({"word": "w", **given})
    assert answered.structured_content is not None
    assert json.loads(answered.content[0].text) == answered.structured_content  # type: ignore[union-attr]
    structured: dict[str, Any] = answered.structured_content
    return structured


def _text(result: str, **given: Any) -> str:
    answered = _tool(result).answer({"word": "w", **given})
    assert not answered.is_error
    text: str = answered.content[0].text  # type: ignore[union-attr]
    return text


def test_an_argument_alone_keeps_its_type_and_among_text_becomes_text() -> None:
    template = {"a": "{count}", "b": ["{loud}", "{share}"], "c": {"d": "{word}, {count}, {loud}, {share}!"}, "e": 1}
    assert _structured(template) == {"a": 3, "b": [False, None], "c": {"d": "w, 3, false, !"}, "e": 1}
    assert _structured(template, count=9, loud=True, share=0.5)["c"]["d"] == "w, 9, true, 0.5!"


def test_a_text_result_is_text_even_where_it_is_one_number() -> None:
    assert _text("{count}") == "3"


@pytest.mark.parametrize("word", ["{count}", "{{count}}", "{word}", "{0.__class__}", "%s $count", "\\", '"'])
def test_what_a_caller_sends_is_never_a_template(word: str) -> None:
    assert _text("<{word}>", word=word) == f"<{word}>"
    assert _structured({"a": "{word}", "b": "{word}{word}"}, word=word) == {"a": word, "b": word + word}


def test_braces_are_written_twice_and_others_left_alone() -> None:
    assert _text("{{word}} { {word} } {0} {word.x} {}") == "{word} { w } {0} {word.x} {}"


WRONG: list[tuple[dict[str, Any], str]] = [
    ({}, "word is missing"),
    ({"word": 1}, "word must be a text"),
    ({"word": None}, "word must be a text"),
    ({"word": "x" * (MAX_TEXT + 1)}, f"word must have {MAX_TEXT} characters at most"),
    ({"word": "w", "count": "3"}, "count must be an integer"),
    ({"word": "w", "count": True}, "count must be an integer"),
    ({"word": "w", "count": 2.5}, "count must be an integer"),
    ({"word": "w", "count": 0}, "count must be 1 or more"),
    ({"word": "w", "count": 10}, "count must be 9 or less"),
    ({"word": "w", "share": -0.5}, "share must be 0 or more"),
    ({"word": "w", "loud": 1}, "loud must be true or false"),
    ({"word": "w", "size": "huge"}, "size must be one of: small, large"),
    ({"word": "w", "size": ["small"]}, "size must be a text"),
    ({"word": "w", "weird": 1}, "there is no argument 'weird'; there are: word, count, share, loud, size"),
]


@pytest.mark.parametrize(("given", "fault"), WRONG)
def test_wrong_arguments_are_named_and_the_schema_refuses_them_too(given: dict[str, Any], fault: str) -> None:
    answered = _tool("x").answer(given)
    assert answered.is_error
    assert answered.content[0].text == f"t: {fault}"  # type: ignore[union-attr]
    assert not Draft202012Validator(_tool("x").definition().input_schema).is_valid(given)


@pytest.mark.parametrize("given", [{"word": "w"}, {"word": "w", "count": 9, "share": 1, "loud": True, "size": "large"}])
def test_right_arguments_pass_and_the_schema_takes_them_too(given: dict[str, Any]) -> None:
    assert not _tool("x").answer(given).is_error
    schema = _tool("x").definition().input_schema
    Draft202012Validator.check_schema(schema)
    assert Draft202012Validator(schema).is_valid(given)


def test_all_that_is_wrong_is_said_at_once() -> None:
    answered = _tool("x").answer({"count": 0, "nope": 1})
    text: str = answered.content[0].text  # type: ignore[union-attr]
    assert text.count(";") == 3
    assert all(name in text for name in ("nope", "word", "count"))
