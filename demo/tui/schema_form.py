"""A tool's input schema as a form: which fields there are, and what they want. Pure values, no screen.

Owns the reading of a JSON Schema (2020-12, as far as tools use it) into fields, and of a filled form into arguments.
What one field makes of its text is `field_values`' business; how a field looks is `tool_form`'s. A schema that says
more than a field can hold becomes a field for JSON, never an error: the server has the last word anyway.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from demo.tui.field_values import FieldKind, FieldProblem, FormField, Limits, read_field

__all__ = ["WHOLE", "Form", "Reading"]

WHOLE: Final = ""
"""The name of the one field of a form whose schema cannot be told apart into fields: it holds all arguments."""

_SCALARS: Final[Mapping[str, FieldKind]] = {
    "string": "string",
    "integer": "integer",
    "number": "number",
    "boolean": "boolean",
}
_TOO_MUCH: Final = ("allOf", "oneOf", "anyOf", "not", "if", "$ref", "patternProperties", "dependentRequired")
"""What a root schema may say beside its properties that fields cannot show."""
_LONGEST_CHAIN: Final = 16
"""How many references may lead to each other before they count as a circle."""

Schema = Mapping[str, Any]


@dataclass(frozen=True)
class Reading:
    """A filled form: the arguments to send, or what is wrong, by field."""

    arguments: Mapping[str, Any]
    problems: Mapping[str, str]


@dataclass(frozen=True)
class Form:
    """The fields of one tool, required ones first and otherwise in the schema's order."""

    fields: tuple[FormField, ...]

    @classmethod
    def of(cls, schema: object) -> "Form":
        """The form for an input schema; never raises, whatever the schema is."""
        if not isinstance(schema, Mapping) or any(word in schema for word in _TOO_MUCH):
            return cls((_whole(),))
        properties = schema.get("properties", {})
        if not isinstance(properties, Mapping) or not all(isinstance(name, str) and name for name in properties):
            return cls((_whole(),))
        if not properties and schema.get("additionalProperties"):
            return cls((_whole(),))
        wanted = schema.get("required")
        required = set(filter(_is_text, wanted)) if isinstance(wanted, list) else set()
        fields = [_field(name, part, name in required, schema) for name, part in properties.items()]
        return cls(tuple(sorted(fields, key=lambda field: not field.required)))

    def read(self, texts: Mapping[str, str]) -> Reading:
        """The arguments that these texts mean; a field without a text counts as empty."""
        arguments: dict[str, Any] = {}
        problems: dict[str, str] = {}
        for field in self.fields:
            try:
                given, value = read_field(field, texts.get(field.name, ""))
            except FieldProblem as problem:
                problems[field.name] = str(problem)
                continue
            if given:
                arguments[field.name] = value
        if WHOLE in arguments:
            arguments = arguments[WHOLE]
        return Reading(arguments, problems)


def _whole() -> FormField:
    text = "All arguments as one JSON object: this tool's schema is more than fields can show."
    return FormField(WHOLE, "json", description=text, json_types=frozenset({"object"}), hint="a JSON object")


def _field(name: str, schema: object, required: bool, root: Schema) -> FormField:
    resolved, nullable = _told_apart(schema, root)
    description = _text(resolved.get("description")) or (
        _text(schema.get("description")) if isinstance(schema, Mapping) else ""
    )
    default = schema.get("default") if isinstance(schema, Mapping) and "default" in schema else resolved.get("default")
    stated = "default" in resolved or (isinstance(schema, Mapping) and "default" in schema)
    kind, choices, items = _kind(resolved, root)
    types = _types(resolved)
    return FormField(
        name=name,
        kind=kind,
        title=_text(resolved.get("title")),
        description=description,
        required=required,
        nullable=nullable or "null" in types or None in choices,
        has_default=stated,
        default=default,
        choices=tuple(choice for choice in choices if choice is not None),
        items=items,
        limits=Limits.of(resolved),
        json_types=frozenset(types) if kind == "json" else frozenset(),
        hint=_hint(kind, items),
    )


def _kind(schema: Schema, root: Schema) -> tuple[FieldKind, tuple[Any, ...], FormField | None]:
    """The kind of field, its choices where there is a list of them, and what an array holds."""
    if "const" in schema:
        return "enum", (schema["const"],), None
    choices = schema.get("enum")
    if isinstance(choices, list) and choices:
        return "enum", tuple(choices), None
    types = [kind for kind in _types(schema) if kind != "null"]
    if len(types) != 1 or any(word in schema for word in ("allOf", "oneOf", "anyOf", "not", "if")):
        return "json", (), None
    if types[0] in _SCALARS:
        return _SCALARS[types[0]], (), None
    if types[0] == "array" and "prefixItems" not in schema:
        part = schema.get("items")
        item = _field("", part, True, root) if isinstance(part, Mapping) else None
        if item is not None and item.kind not in ("json", "array"):
            return "array", (), item
    return "json", (), None


def _told_apart(schema: object, root: Schema) -> tuple[Schema, bool]:
    """The schema behind references and "this or null", with what was said beside them; and whether null is allowed."""
    nullable = False
    found: Schema = schema if isinstance(schema, Mapping) else {}
    for _ in range(_LONGEST_CHAIN):
        inner, null = _one_step(found, root)
        nullable = nullable or null
        if inner is None:
            return found, nullable
        beside = {key: value for key, value in found.items() if key not in ("$ref", "anyOf", "oneOf", "allOf")}
        found = {**inner, **beside}
    return {}, nullable


def _one_step(schema: Schema, root: Schema) -> tuple[Schema | None, bool]:
    if _is_text(schema.get("$ref")):
        return _at(schema["$ref"], root), False
    for word in ("anyOf", "oneOf", "allOf"):
        ways = schema.get(word)
        if not isinstance(ways, list) or not all(isinstance(way, Mapping) for way in ways):
            continue
        others = [way for way in ways if way.get("type") != "null"]
        if len(others) == 1 and (word != "allOf" or len(ways) == 1):
            return others[0], len(others) < len(ways)
    return None, False


def _at(reference: str, root: Schema) -> Schema:
    """What a reference inside the same document names (RFC 6901); nothing where it leads elsewhere."""
    if not reference.startswith("#"):
        return {}
    found: Any = root
    for part in reference.lstrip("#").split("/")[1:]:
        key = part.replace("~1", "/").replace("~0", "~")
        found = found.get(key) if isinstance(found, Mapping) else None
    return found if isinstance(found, Mapping) else {}


def _types(schema: Schema) -> tuple[str, ...]:
    stated = schema.get("type")
    if isinstance(stated, str):
        return (stated,)
    return tuple(filter(_is_text, stated)) if isinstance(stated, list) else ()


def _hint(kind: FieldKind, items: FormField | None) -> str:
    if kind == "array" and items is not None:
        example = {"string": "a, b", "boolean": "true, false"}.get(items.kind, "1, 2")
        if items.kind == "enum":
            example = ", ".join(item if isinstance(item, str) else json.dumps(item) for item in items.choices[:2])
        return f"separated by commas: {example}"
    return {"integer": "a whole number", "number": "a number", "json": "JSON"}.get(kind, "")


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _is_text(value: object) -> bool:
    return isinstance(value, str)
