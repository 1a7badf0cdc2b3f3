"""Tools whose answers are written down in a roster file.

Owns their arguments, their templates and their calling. It leaves to `roster_file` how they are written, and to `tools`
how tools are served. A template is filled by replacing `{argument}`, and by nothing else: nothing in it is ever run.
"""

import json
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

import mcp_types as types

__all__ = ["MAX_TEXT", "Argument", "ArgumentType", "CannedTool", "as_result", "placeholders"]

ArgumentType = Literal["string", "integer", "number", "boolean"]

MAX_TEXT: Final = 1_000
"""Characters in a text argument, as templates hand them back."""

_PLACEHOLDER: Final = re.compile(r"\{\{|\}\}|\{([A-Za-z_][A-Za-z0-9_]*)\}")


@dataclass(frozen=True, kw_only=True)
class Argument:
    """One argument of a canned tool. Without a default it is asked for, unless `optional`."""

    name: str
    type: ArgumentType = "string"
    description: str | None = None
    optional: bool = False
    default: str | int | float | bool | None = None
    choices: tuple[str | int | float, ...] = ()
    minimum: float | None = None
    maximum: float | None = None

    @property
    def required(self) -> bool:
        """Whether a call must name it."""
        return not self.optional and self.default is None

    def schema(self) -> dict[str, Any]:
        """Its JSON Schema."""
        limits = {"minimum": self.minimum, "maximum": self.maximum, "default": self.default}
        schema = {"type": self.type, "description": self.description, "enum": list(self.choices) or None, **limits}
        if self.type == "string" and not self.choices:
            schema["maxLength"] = MAX_TEXT
        return {key: value for key, value in schema.items() if value is not None}

    def fault(self, value: object) -> str | None:
        """What is wrong with `value` for this argument, as the rest of a sentence; None when nothing is."""
        if not _is_of(self.type, value):
            return f"must be {_named(self.type)}"
        if self.choices and value not in self.choices:
            return f"must be one of: {', '.join(map(str, self.choices))}"
        if isinstance(value, str) and not self.choices and len(value) > MAX_TEXT:
            return f"must have {MAX_TEXT} characters at most"
        if isinstance(value, (int, float)):
            if self.minimum is not None and value < self.minimum:
                return f"must be {self.minimum:g} or more"
            if self.maximum is not None and value > self.maximum:
                return f"must be {self.maximum:g} or less"
        return None


@dataclass(frozen=True, kw_only=True)
class CannedTool:
    """A tool with a written-down answer: `result` is a text, or a table whose texts are templates."""

    name: str
    description: str
    result: str | Mapping[str, Any]
    title: str | None = None
    arguments: tuple[Argument, ...] = ()
    read_only: bool = True

    def definition(self) -> types.Tool:
        """Its entry in `tools/list`."""
        schema: dict[str, Any] = {
            "type": "object",
            "properties": {argument.name: argument.schema() for argument in self.arguments},
            "additionalProperties": False,
        }
        if required := [argument.name for argument in self.arguments if argument.required]:
            schema["required"] = required
        hints = types.ToolAnnotations(read_only_hint=self.read_only, open_world_hint=False)
        if not self.read_only:
            hints = hints.model_copy(update={"destructive_hint": False, "idempotent_hint": True})
        return types.Tool(
            name=self.name, title=self.title, description=self.description, input_schema=schema, annotations=hints
        )

    def answer(self, given: Mapping[str, Any]) -> types.CallToolResult:
        """The result of a call; wrong arguments give a result that says all that is wrong with them."""
        if faults := list(self._faults(given)):
            text = types.TextContent(type="text", text=f"{self.name}: {'; '.join(faults)}")
            return types.CallToolResult(content=[text], is_error=True)
        values = {argument.name: given.get(argument.name, argument.default) for argument in self.arguments}
        if isinstance(self.result, str):
            return types.CallToolResult(content=[types.TextContent(type="text", text=_written(self.result, values))])
        return as_result({key: _filled(value, values) for key, value in self.result.items()})

    def _faults(self, given: Mapping[str, Any]) -> Iterator[str]:
        known = {argument.name: argument for argument in self.arguments}
        for name in given:
            if name not in known:
                yield f"there is no argument {name[:40]!r}; there are: {', '.join(known) or 'none'}"
        for name, argument in known.items():
            if name not in given:
                if argument.required:
                    yield f"{name} is missing"
            elif fault := argument.fault(given[name]):
                yield f"{name} {fault}"


def as_result(structured: dict[str, Any]) -> types.CallToolResult:
    """A structured result, and the same as text for hosts that show a model only that (MCP, "Structured content")."""
    text = types.TextContent(type="text", text=json.dumps(structured, separators=(",", ":")))
    return types.CallToolResult(content=[text], structured_content=structured)


def placeholders(text: str) -> tuple[str, ...]:
    """The arguments that a template text names."""
    return tuple(found[1] for found in _PLACEHOLDER.finditer(text) if found[1])


def _filled(template: Any, values: Mapping[str, Any]) -> Any:
    """`template` with its placeholders replaced; a text that is one placeholder becomes the value, with its type."""
    if isinstance(template, Mapping):
        return {key: _filled(value, values) for key, value in template.items()}
    if isinstance(template, (list, tuple)):
        return [_filled(value, values) for value in template]
    if not isinstance(template, str):
        return template
    whole = _PLACEHOLDER.fullmatch(template)
    if whole and whole[1]:
        return values[whole[1]]
    return _written(template, values)


def _written(template: str, values: Mapping[str, Any]) -> str:
    return _PLACEHOLDER.sub(lambda found: _replacement(found, values), template)


def _replacement(found: re.Match[str], values: Mapping[str, Any]) -> str:
    if not found[1]:
        return found[0][0]
    value = values[found[1]]
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value)


def _is_of(kind: ArgumentType, value: object) -> bool:
    match kind:
        case "string":
            return isinstance(value, str)
        case "boolean":
            return isinstance(value, bool)
        case "integer":
            return not isinstance(value, bool) and isinstance(value, int)
        case "number":
            return not isinstance(value, bool) and isinstance(value, (int, float)) and math.isfinite(value)


def _named(kind: ArgumentType) -> str:
    return {"string": "a text", "boolean": "true or false", "integer": "an integer", "number": "a number"}[kind]
