"""Calling a tool: the list of tools, a form made from the chosen one's input schema, and the result.

Which fields there are and what they mean is `schema_form`'s business; sending is the screen's.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Final

from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.message import Message
from textual.reactive import reactive
from textual.widgets import Button, Input, OptionList, Select, Static
from textual.widgets.option_list import Option

from demo.plain import json_lines, printable
from demo.tui.field_values import FormField
from demo.tui.lines_view import LinesView
from demo.tui.outcomes import Outcome
from demo.tui.schema_form import Form

__all__ = ["ToolForm", "ToolPanel", "result_lines"]

Tool = Mapping[str, Any]
_LEAVE_OUT: Final = "not given"


def result_lines(outcome: Outcome) -> list[str]:
    """What came of a call: the error, or the structured result, or the content."""
    if outcome.error is not None:
        return ["refused:", *printable(str(outcome.error)).splitlines()]
    result = outcome.result or {}
    shown = {name: value for name, value in result.items() if name not in ("_meta", "resultType")}
    if result.get("structuredContent") is not None:
        # The content says the same as text (MCP, "Structured content").
        shown.pop("content", None)
    head = ["the tool reports an error:"] if outcome.tool_failed else []
    return [*head, *json_lines(shown).splitlines()]


class FieldRow(Vertical):
    """One field: its label, where to type or choose, what it is for, and what is wrong with it."""

    def __init__(self, field: FormField) -> None:
        super().__init__(classes="field")
        self.field = field

    def compose(self) -> ComposeResult:
        yield Static(Content(printable(self.field.label)), classes="field-label", markup=False)
        choices = _choices(self.field)
        if choices is None:
            yield Input(compact=True)
        else:
            yield Select([(Text(printable(text)), text) for text in choices], prompt=_LEAVE_OUT, compact=True)
        about = "; ".join(printable(part) for part in (self.field.description, self.field.placeholder) if part)
        yield Static(Content(about), classes="field-about", markup=False)
        yield Static(classes="field-error", markup=False)

    @property
    def text(self) -> str:
        """What is typed or chosen; empty for nothing."""
        if _choices(self.field) is None:
            return self.query_one(Input).value
        value = self.query_one(Select).value
        return value if isinstance(value, str) else ""

    def show_problem(self, problem: str | None) -> None:
        """Say what is wrong, or that nothing is."""
        self.query_one(".field-error", Static).update(Content(printable(problem or "")))
        self.set_class(problem is not None, "-wrong")

    def focus_value(self) -> None:
        """Go to where the value is typed or chosen."""
        (self.query_one(Input) if _choices(self.field) is None else self.query_one(Select)).focus()


def _choices(field: FormField) -> list[str] | None:
    """The texts to choose from, as a reading of the form takes them; None where the value is typed."""
    if field.kind == "enum":
        texts = [json.dumps(choice, ensure_ascii=False) for choice in field.choices]
    elif field.kind == "boolean":
        texts = ["true", "false"]
    else:
        return None
    return list(dict.fromkeys([*texts, *(["null"] if field.nullable else [])]))


class ToolForm(VerticalScroll, can_focus=False):
    """The form of one tool."""

    tool: reactive[Tool | None] = reactive(None, recompose=True)

    class Filled(Message):
        """Call the tool with these arguments."""

        def __init__(self, tool: str, arguments: Mapping[str, Any]) -> None:
            self.tool = tool
            self.arguments = arguments
            super().__init__()

    def compose(self) -> ComposeResult:
        if self.tool is None:
            yield Static("Choose a tool with Enter.", markup=False)
            return
        yield Static(Content(printable(str(self.tool.get("description") or ""))), markup=False)
        for field in Form.of(self.tool.get("inputSchema")).fields:
            yield FieldRow(field)
        yield Button(Content("Call the tool"), id="call", compact=True)

    @property
    def rows(self) -> list[FieldRow]:
        return list(self.query(FieldRow))

    def send(self) -> None:
        """Check all fields; call the tool, or go to the first field that is wrong."""
        if self.tool is None:
            return
        form = Form(tuple(row.field for row in self.rows))
        reading = form.read({row.field.name: row.text for row in self.rows})
        for row in self.rows:
            row.show_problem(reading.problems.get(row.field.name))
        wrong = [row for row in self.rows if row.field.name in reading.problems]
        if wrong:
            wrong[0].focus_value()
        else:
            self.post_message(self.Filled(str(self.tool["name"]), reading.arguments))

    def begin(self) -> None:
        """Go to the first field, or to the button."""
        if self.rows:
            self.rows[0].focus_value()
        else:
            self.query(Button).focus()

    @on(Input.Submitted)
    def _submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self.send()

    @on(Button.Pressed)
    def _pressed(self, event: Button.Pressed) -> None:
        event.stop()
        self.send()


class ToolPanel(Vertical):
    """The tools, the form, the result."""

    HELP: ClassVar[str] = (
        "Enter on a tool makes a form from its input schema; Tab goes from field to field, Enter in a field or on the\n"
        'button calls the tool. An empty field is not sent; null means null where it is allowed; "text in quotes" is\n'
        "read as a JSON string; arrays are typed with commas or as JSON. a lists every tool of the server."
    )

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self._tools: list[Tool] = []

    def compose(self) -> ComposeResult:
        yield Static("Open an agent for its tools, or press a for all.", id="tools-head", markup=False)
        yield OptionList(id="tools-list", markup=False)
        yield ToolForm(id="tool-form")
        yield LinesView(kind="json", id="tool-result")

    @property
    def form(self) -> ToolForm:
        return self.query_one(ToolForm)

    @property
    def result(self) -> LinesView:
        return self.query_one("#tool-result", LinesView)

    def show_tools(self, whose: str, tools: Sequence[Tool]) -> None:
        """Offer these tools; `whose` says whose they are."""
        self._tools = [tool for tool in tools if isinstance(tool, Mapping) and isinstance(tool.get("name"), str)]
        self.query_one("#tools-head", Static).update(Content(printable(f"Tools of {whose}:")))
        listed = self.query_one("#tools-list", OptionList)
        listed.clear_options()
        listed.add_options(Option(Content(printable(str(tool["name"])))) for tool in self._tools)
        if self._tools:
            listed.highlighted = 0

    def show_result(self, outcome: Outcome) -> None:
        """Show what came of a call."""
        self.result.set_lines(result_lines(outcome), "json")

    @on(OptionList.OptionSelected, "#tools-list")
    def _chosen(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        self.form.tool = self._tools[event.option_index]
        self.result.set_lines([])
        self.call_after_refresh(self.form.begin)
