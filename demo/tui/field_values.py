"""What one field of a form makes of the text that was typed into it.

Owns the kinds of field, their limits, and the words in which a field says what is wrong. Where the fields come from is
`schema_form`'s business. The rules of typing are the same for every field: nothing typed means not given (the server
then takes its default), `null` means null where that is allowed, and text in double quotes is read as a JSON string.
"""

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal

__all__ = ["FieldKind", "FieldProblem", "FormField", "Limits", "read_field"]

FieldKind = Literal["string", "integer", "number", "boolean", "enum", "array", "json"]

_TRUE: Final = ("true", "yes", "on")
_FALSE: Final = ("false", "no", "off")
_LONGEST_TESTED: Final = 200
_RISKY: Final = re.compile(r"[+*}?]\)[+*{]|\|.*\)[+*{]|\\[1-9]")
"""A repeated group that repeats inside, or a reference back: such a pattern may take for ever on the wrong text."""
_JSON_TYPES: Final[Mapping[str, type | tuple[type, ...]]] = {
    "object": dict,
    "array": list,
    "string": str,
    "boolean": bool,
    "null": type(None),
    "integer": int,
    "number": (int, float),
}


class FieldProblem(ValueError):
    """The text is not what the field wants; the message says what it wants."""


@dataclass(frozen=True)
class Limits:
    """What a schema says of the size and shape of a value; None where it says nothing."""

    minimum: float | None = None
    maximum: float | None = None
    above: float | None = None
    below: float | None = None
    step: float | None = None
    shortest: float | None = None
    longest: float | None = None
    pattern: str | None = None
    fewest: float | None = None
    most: float | None = None
    unique: bool = False

    @classmethod
    def of(cls, schema: Mapping[str, Any]) -> "Limits":
        """The limits of a schema; members of the wrong type count as absent."""
        pattern = schema.get("pattern")
        return cls(
            minimum=_number(schema.get("minimum")),
            maximum=_number(schema.get("maximum")),
            above=_number(schema.get("exclusiveMinimum")),
            below=_number(schema.get("exclusiveMaximum")),
            step=_number(schema.get("multipleOf")),
            shortest=_number(schema.get("minLength")),
            longest=_number(schema.get("maxLength")),
            pattern=pattern if isinstance(pattern, str) else None,
            fewest=_number(schema.get("minItems")),
            most=_number(schema.get("maxItems")),
            unique=schema.get("uniqueItems") is True,
        )


@dataclass(frozen=True)
class FormField:
    """One argument of a tool. `default` counts only with `has_default`; `items` is what an array holds."""

    name: str
    kind: FieldKind
    title: str = ""
    description: str = ""
    required: bool = False
    nullable: bool = False
    has_default: bool = False
    default: Any = None
    choices: tuple[Any, ...] = ()
    items: "FormField | None" = None
    limits: Limits = field(default_factory=Limits)
    json_types: frozenset[str] = frozenset()
    hint: str = ""

    @property
    def label(self) -> str:
        """The name, the kind, and whether it must be given."""
        kind = f"array of {self.items.kind}" if self.items else {"enum": "one of a list"}.get(self.kind, self.kind)
        marks = [kind, *(["or null"] if self.nullable else []), *(["required"] if self.required else [])]
        return f"{self.name or 'arguments'} ({', '.join(marks)})"

    @property
    def placeholder(self) -> str:
        """What stands in the empty field: the default that the server takes, else how to fill it in."""
        return f"left empty: {_shown(self.default)}" if self.has_default else self.hint


def read_field(wanted: FormField, text: str) -> tuple[bool, Any]:
    """Whether the field was filled in, and the value. Raises `FieldProblem`."""
    typed = text.strip()
    if text == "" or (typed == "" and wanted.kind != "string"):
        if wanted.required:
            raise FieldProblem("required: fill this in")
        return False, None
    if typed == "null" and wanted.nullable:
        return True, None
    value = _value(wanted, text)
    _check(wanted, value)
    return True, value


def _value(wanted: FormField, text: str) -> Any:
    typed = text.strip()
    match wanted.kind:
        case "string":
            return _string(text)
        case "integer":
            if not re.fullmatch(r"[+-]?\d{1,300}", typed, re.ASCII):
                raise FieldProblem(f"a whole number is wanted, got {_short(typed)}")
            return int(typed)
        case "number":
            return _read_number(typed)
        case "boolean":
            if typed.lower() not in _TRUE + _FALSE:
                raise FieldProblem(f"true or false is wanted, got {_short(typed)}")
            return typed.lower() in _TRUE
        case "enum":
            return _choice(wanted, typed)
        case "array":
            return _items(wanted, typed)
        case "json":
            return _json(wanted, typed)


def _string(text: str) -> str:
    quoted = text.strip()
    if len(quoted) >= 2 and quoted[0] == quoted[-1] == '"':
        try:
            return str(json.loads(quoted))
        except ValueError:
            return text
    return text


def _read_number(typed: str) -> float | int:
    try:
        value = float(typed)
    except ValueError:
        raise FieldProblem(f"a number is wanted, got {_short(typed)}") from None
    if not math.isfinite(value):
        raise FieldProblem(f"a finite number is wanted, got {_short(typed)}")
    return int(typed) if re.fullmatch(r"[+-]?\d+", typed, re.ASCII) else value


def _choice(wanted: FormField, typed: str) -> Any:
    for choice in wanted.choices:
        if typed in (choice, json.dumps(choice, ensure_ascii=False)):
            return choice
    known = ", ".join(_shown(choice) for choice in wanted.choices)
    raise FieldProblem(f"one of {known} is wanted, got {_short(typed)}")


def _items(wanted: FormField, typed: str) -> list[Any]:
    item = wanted.items
    if item is None:
        raise FieldProblem("this array cannot be filled in here")
    parts = _json_items(typed) if typed.startswith("[") else [part.strip() for part in typed.split(",")]
    values = []
    for number, part in enumerate(parts, 1):
        try:
            values.append(read_field(item, part)[1])
        except FieldProblem as problem:
            raise FieldProblem(f"item {number}: {problem}") from None
    return values


def _json_items(typed: str) -> list[str]:
    parsed = _parsed(typed)
    if not isinstance(parsed, list):
        raise FieldProblem(f"a JSON array is wanted, got {_short(typed)}")
    return [json.dumps(part, ensure_ascii=False) for part in parsed]


def _json(wanted: FormField, typed: str) -> Any:
    value = _parsed(typed)
    known = [kind for kind in wanted.json_types if kind in _JSON_TYPES]
    if known and not any(_is(value, kind) for kind in known):
        raise FieldProblem(f"JSON of type {' or '.join(sorted(known))} is wanted, got {_short(typed)}")
    return value


def _parsed(typed: str) -> Any:
    try:
        return json.loads(typed, parse_constant=_no_constant)
    except RecursionError:
        raise FieldProblem("this JSON is nested too deeply") from None
    except json.JSONDecodeError as error:
        raise FieldProblem(f"not JSON at column {error.colno}: {error.msg}") from None
    except ValueError as error:
        raise FieldProblem(f"not JSON: {error}") from None


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON value")


def _is(value: object, kind: str) -> bool:
    if isinstance(value, bool):
        return kind == "boolean"
    return isinstance(value, _JSON_TYPES[kind])


def _check(wanted: FormField, value: Any) -> None:
    limits = wanted.limits
    if isinstance(value, str):
        _check_text(limits, value)
    elif isinstance(value, list):
        _check_count(limits, value)
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        _check_number(limits, value)


def _check_text(limits: Limits, value: str) -> None:
    if limits.shortest is not None and len(value) < limits.shortest:
        raise FieldProblem(f"at least {limits.shortest:g} characters are wanted, got {len(value)}")
    if limits.longest is not None and len(value) > limits.longest:
        raise FieldProblem(f"at most {limits.longest:g} characters are wanted, got {len(value)}")
    if limits.pattern is not None and not _fits(limits.pattern, value):
        raise FieldProblem(f"must match {limits.pattern}, got {_short(value)}")


def _fits(pattern: str, value: str) -> bool:
    """Whether the value has the pattern; true as well where it is left to the server to say."""
    if len(pattern) > _LONGEST_TESTED or len(value) > _LONGEST_TESTED or _RISKY.search(pattern):
        return True
    # JSON Schema's $ is the very end of the text; Python's would also let a line break follow.
    strict = re.sub(r"(?<!\\)\$$", r"\\Z", pattern)
    try:
        return re.search(strict, value) is not None
    except (re.error, OverflowError):
        return True


def _check_number(limits: Limits, value: float) -> None:
    if limits.minimum is not None and value < limits.minimum:
        raise FieldProblem(f"at least {limits.minimum:g} is wanted, got {value}")
    if limits.maximum is not None and value > limits.maximum:
        raise FieldProblem(f"at most {limits.maximum:g} is wanted, got {value}")
    if limits.above is not None and value <= limits.above:
        raise FieldProblem(f"more than {limits.above:g} is wanted, got {value}")
    if limits.below is not None and value >= limits.below:
        raise FieldProblem(f"less than {limits.below:g} is wanted, got {value}")
    if limits.step and not _is_multiple(value, limits.step):
        raise FieldProblem(f"a multiple of {limits.step:g} is wanted, got {value}")


def _is_multiple(value: float, step: float) -> bool:
    try:
        return math.isclose(value / step, round(value / step), abs_tol=1e-9)
    except OverflowError:
        return True


def _check_count(limits: Limits, value: list[Any]) -> None:
    if limits.fewest is not None and len(value) < limits.fewest:
        raise FieldProblem(f"at least {limits.fewest:g} items are wanted, got {len(value)}")
    if limits.most is not None and len(value) > limits.most:
        raise FieldProblem(f"at most {limits.most:g} items are wanted, got {len(value)}")
    if limits.unique and len({json.dumps(item) for item in value}) < len(value):
        raise FieldProblem("each item may be there only once")


def _number(value: object) -> float | None:
    return value if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def _shown(value: Any) -> str:
    return value if isinstance(value, str) and value else json.dumps(value, ensure_ascii=False)


def _short(text: str) -> str:
    return repr(text if len(text) <= 40 else text[:37] + "...")
