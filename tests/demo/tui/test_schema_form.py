"""Forms made from input schemas: which fields, and what a filled form means."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from demo.tui.schema_form import WHOLE, Form


def one(schema: dict[str, Any], *, required: bool = False, defs: dict[str, Any] | None = None) -> Form:
    properties = {"x": schema}
    return Form.of(
        {"type": "object", "properties": properties, "required": ["x"] if required else [], "$defs": defs or {}}
    )


def value(form: Form, text: str) -> Any:
    reading = form.read({"x": text})
    assert not reading.problems
    return reading.arguments["x"]


def problem(form: Form, text: str) -> str:
    reading = form.read({"x": text})
    assert "x" not in reading.arguments
    return reading.problems["x"]


@pytest.mark.parametrize(
    ("schema", "text", "expected"),
    [
        ({"type": "string"}, "plain", "plain"),
        ({"type": "string"}, "null", "null"),
        ({"type": "string"}, '""', ""),
        ({"type": "string"}, "  ", "  "),
        ({"type": "string"}, "[/b] [0]", "[/b] [0]"),
        ({"type": "integer"}, " -7 ", -7),
        ({"type": "number"}, "1.5", 1.5),
        ({"type": "number"}, "3", 3),
        ({"type": "boolean"}, "Yes", True),
        ({"type": "boolean"}, "false", False),
        ({"enum": ["a", 1, True]}, "1", 1),
        ({"enum": ["a", 1, True]}, "true", True),
        ({"const": "only"}, "only", "only"),
        ({"type": ["string", "null"]}, "null", None),
        ({"anyOf": [{"type": "integer"}, {"type": "null"}]}, "null", None),
        ({"anyOf": [{"type": "integer"}, {"type": "null"}]}, "4", 4),
        ({"type": "array", "items": {"type": "string"}}, "a, b", ["a", "b"]),
        ({"type": "array", "items": {"type": "string"}}, '["a, b", "null"]', ["a, b", "null"]),
        ({"type": "array", "items": {"type": "integer"}}, "1,2", [1, 2]),
        ({"type": "array", "items": {"enum": ["x", "y"]}}, "y, x", ["y", "x"]),
        ({"type": "array", "items": {"type": "boolean"}}, "[true, false]", [True, False]),
        ({"type": "array", "items": {"type": "string"}}, "[]", []),
        ({"type": "object"}, '{"a": [1]}', {"a": [1]}),
        ({"type": "array", "items": {"type": "object"}}, "[{}]", [{}]),
        ({}, "[1, null]", [1, None]),
        ({"type": ["string", "integer"]}, "3", 3),
    ],
)
def test_text_becomes_the_value_that_the_schema_means(schema: dict[str, Any], text: str, expected: Any) -> None:
    read = value(one(schema), text)
    assert read == expected
    assert type(read) is type(expected)


@pytest.mark.parametrize(
    ("schema", "text", "said"),
    [
        ({"type": "integer"}, "1.5", "a whole number is wanted, got '1.5'"),
        ({"type": "integer"}, "null", "a whole number is wanted"),
        ({"type": "integer", "minimum": 1}, "0", "at least 1 is wanted, got 0"),
        ({"type": "integer", "maximum": 50}, "51", "at most 50 is wanted, got 51"),
        ({"type": "number", "exclusiveMinimum": 0}, "0", "more than 0 is wanted"),
        ({"type": "number", "exclusiveMaximum": 1}, "1", "less than 1 is wanted"),
        ({"type": "number", "multipleOf": 0.5}, "0.7", "a multiple of 0.5 is wanted"),
        ({"type": "number"}, "nan", "a finite number is wanted"),
        ({"type": "number"}, "many", "a number is wanted"),
        ({"type": "boolean"}, "maybe", "true or false is wanted"),
        ({"enum": ["api", "web"]}, "db", "one of api, web is wanted, got 'db'"),
        ({"type": "string", "pattern": r"^\d+\.\d+\.\d+$"}, "1.2", "must match"),
        ({"type": "string", "pattern": r"^\d+$"}, "1\n", "must match"),
        ({"type": "string", "minLength": 3}, "ab", "at least 3 characters"),
        ({"type": "string", "maxLength": 3}, "abcd", "at most 3 characters"),
        ({"type": "array", "items": {"type": "integer"}}, "1, two", "item 2: a whole number is wanted"),
        ({"type": "array", "items": {"type": "integer"}, "minItems": 2}, "1", "at least 2 items"),
        ({"type": "array", "items": {"type": "integer"}, "maxItems": 1}, "1, 2", "at most 1 items"),
        ({"type": "array", "items": {"type": "integer"}, "uniqueItems": True}, "1, 1", "only once"),
        ({"type": "object"}, "[1]", "JSON of type object is wanted"),
        ({"type": "object"}, "{", "not JSON at column"),
        ({"type": "object"}, '{"a": NaN}', "not JSON: NaN is no JSON value"),
        ({}, "[" * 100_000, "nested too deeply"),
    ],
)
def test_what_does_not_fit_is_said_at_the_field(schema: dict[str, Any], text: str, said: str) -> None:
    assert said in problem(one(schema), text)


def test_an_empty_field_is_left_out_unless_it_is_required() -> None:
    assert one({"type": "string", "default": "x"}).read({}).arguments == {}
    assert problem(one({"type": "string"}, required=True), "") == "required: fill this in"
    assert problem(one({"type": "integer"}, required=True), " ") == "required: fill this in"


def test_required_fields_come_first_and_otherwise_the_order_is_the_schemas() -> None:
    form = Form.of(
        {"type": "object", "properties": {"a": {}, "b": {}, "c": {}, "d": {}}, "required": ["d", "b", 7, "gone"]}
    )
    assert [field.name for field in form.fields] == ["b", "d", "a", "c"]


def test_a_label_says_kind_null_and_required_and_the_placeholder_the_default() -> None:
    form = one({"anyOf": [{"type": "string"}, {"type": "null"}], "default": None, "description": "Which."})
    (field,) = form.fields
    assert field.label == "x (string, or null)"
    assert field.placeholder == "left empty: null"
    assert field.description == "Which."
    (field,) = one({"type": "array", "items": {"type": "integer"}}, required=True).fields
    assert (field.label, field.placeholder) == ("x (array of integer, required)", "separated by commas: 1, 2")


def test_references_are_followed_and_what_stands_beside_them_wins() -> None:
    form = one(
        {"$ref": "#/$defs/Colour", "description": "Of the roof."},
        defs={"Colour": {"$ref": "#/$defs/Real~1One"}, "Real/One": {"enum": ["red"], "description": "Any."}},
    )
    (field,) = form.fields
    assert (field.kind, field.choices, field.description) == ("enum", ("red",), "Of the roof.")


@pytest.mark.parametrize("reference", ["#/$defs/Loop", "#/$defs/Missing", "https://example.com/schema", "#/$defs/x/y"])
def test_a_reference_that_leads_nowhere_or_in_a_circle_becomes_a_json_field(reference: str) -> None:
    form = one({"$ref": reference}, defs={"Loop": {"$ref": "#/$defs/Loop"}, "x": [1]})
    assert form.fields[0].kind == "json"


def test_a_pattern_that_may_run_for_ever_is_left_to_the_server() -> None:
    assert value(one({"type": "string", "pattern": "^(a+)+$"}), "a" * 60 + "!") == "a" * 60 + "!"
    assert value(one({"type": "string", "pattern": "(unclosed"}), "x") == "x"


@pytest.mark.parametrize(
    "schema",
    [None, [], "x", {"anyOf": []}, {"properties": []}, {"properties": {"": {}}}, {"additionalProperties": True}],
)
def test_a_schema_beyond_fields_becomes_one_field_for_all_arguments(schema: Any) -> None:
    form = Form.of(schema)
    assert [field.name for field in form.fields] == [WHOLE]
    assert form.read({WHOLE: '{"a": 1}'}).arguments == {"a": 1}
    assert form.read({WHOLE: ""}).arguments == {}
    assert form.read({WHOLE: "[1]"}).problems


def test_a_tool_without_arguments_has_no_fields() -> None:
    assert Form.of({"type": "object", "properties": {}}).fields == ()


WORDS = st.sampled_from(
    [
        *("type", "properties", "required", "enum", "const", "anyOf", "oneOf", "allOf", "items", "$ref", "$defs"),
        *("default", "minimum", "multipleOf", "pattern", "minLength", "maxItems", "title", "description"),
    ]
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS | st.text(max_size=4), inner, max_size=4),
    max_leaves=12,
)


@settings(max_examples=150, deadline=None)
@given(schema=st.fixed_dictionaries({"properties": st.dictionaries(st.text(min_size=1, max_size=3), JSON, max_size=3)}))
def test_no_schema_and_no_text_makes_a_form_raise(schema: dict[str, Any]) -> None:
    form = Form.of(schema)
    for text in ("", "1", "null", "[1,2]", "{}", '"', "9" * 320, "[/]"):
        reading = form.read({field.name: text for field in form.fields})
        assert not set(reading.problems) & set(reading.arguments)
    assert all(isinstance(field.label + field.placeholder, str) for field in form.fields)
