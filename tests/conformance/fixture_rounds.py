"""The tools that answer "I need something from you first": `InputRequiredResult` (MCP 2026-07-28, SEP-2322).

Owns the suite's tools of that kind. The state that travels with them is sealed by the SDK's own request-state
boundary, so a state that reaches a tool here is one that it made.
"""

from typing import Any, Final

import mcp_types as types
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.tools import Tool
from mcp_types import InputRequiredResult

from tests.conformance.fixture_tools import object_schema

__all__ = ["build_round_tools"]

Asked = Context[Any, Any]
Rounds = str | InputRequiredResult

_ROOTS: Final = types.ListRootsRequest()


def build_round_tools() -> list[Tool]:
    """A fresh set of the tools."""
    return [
        Tool.from_function(fn, structured_output=False)
        for fn in (
            test_input_required_result_elicitation,
            test_input_required_result_sampling,
            test_input_required_result_list_roots,
            test_input_required_result_request_state,
            test_input_required_result_multiple_inputs,
            test_input_required_result_multi_round,
            test_input_required_result_tampered_state,
            test_input_required_result_capabilities,
            test_streaming_elicitation,
        )
    ]


def _form(message: str, **properties: dict[str, Any]) -> types.ElicitRequest:
    return types.ElicitRequest(
        params=types.ElicitRequestFormParams(message=message, requested_schema=object_schema(**properties))
    )


def _sampling(prompt: str, max_tokens: int = 100) -> types.CreateMessageRequest:
    message = types.SamplingMessage(role="user", content=types.TextContent(type="text", text=prompt))
    return types.CreateMessageRequest(
        params=types.CreateMessageRequestParams(messages=[message], max_tokens=max_tokens)
    )


def _answered(ctx: Asked, key: str) -> Any:
    """What the client answered under `key`; None where it did not."""
    return (ctx.input_responses or {}).get(key)


def _content(ctx: Asked, key: str, field: str) -> Any:
    """One field of a form that the user filled in; None where it is not there."""
    answer = _answered(ctx, key)
    return (answer.content or {}).get(field) if isinstance(answer, types.ElicitResult) else None


async def test_input_required_result_elicitation(ctx: Asked) -> Rounds:
    """Asks for a name, then greets."""
    name = _content(ctx, "user_name", "name")
    if name is None:
        return InputRequiredResult(input_requests={"user_name": _form("What is your name?", name={"type": "string"})})
    return f"Hello, {name}!"


async def test_input_required_result_sampling(ctx: Asked) -> Rounds:
    """Asks the client's model, then repeats its answer."""
    answer = _answered(ctx, "capital_question")
    if answer is None:
        return InputRequiredResult(input_requests={"capital_question": _sampling("What is the capital of France?")})
    text = answer.content.text if isinstance(answer.content, types.TextContent) else ""
    return f"The model said: {text}"


async def test_input_required_result_list_roots(ctx: Asked) -> Rounds:
    """Asks for the client's roots, then names them."""
    answer = _answered(ctx, "client_roots")
    if answer is None:
        return InputRequiredResult(input_requests={"client_roots": _ROOTS})
    return "Roots: " + ", ".join(str(root.uri) for root in answer.roots)


async def _confirmed(ctx: Asked) -> Rounds:
    if ctx.request_state != "asked" or _content(ctx, "confirm", "ok") is None:
        return InputRequiredResult(
            input_requests={"confirm": _form("Please confirm", ok={"type": "boolean"})}, request_state="asked"
        )
    return "state-ok"


async def test_input_required_result_request_state(ctx: Asked) -> Rounds:
    """Asks with a state, and takes an answer only with that state."""
    return await _confirmed(ctx)


async def test_input_required_result_tampered_state(ctx: Asked) -> Rounds:
    """The same; a state that was tampered with never gets here."""
    return await _confirmed(ctx)


async def test_input_required_result_multiple_inputs(ctx: Asked) -> Rounds:
    """Asks three things at once."""
    wanted = {
        "user_name": _form("What is your name?", name={"type": "string"}),
        "greeting": _sampling("Generate a greeting", 50),
        "client_roots": _ROOTS,
    }
    if ctx.request_state != "three asked" or any(_answered(ctx, key) is None for key in wanted):
        return InputRequiredResult(input_requests=wanted, request_state="three asked")
    return f"Hello, {_content(ctx, 'user_name', 'name')}, all three answers are here"


async def test_input_required_result_multi_round(ctx: Asked) -> Rounds:
    """Asks twice, one after the other, each with a state of its own."""
    if ctx.request_state == "second" and (color := _content(ctx, "step2", "color")) is not None:
        return f"Both steps done, {color}"
    if ctx.request_state == "first" and _content(ctx, "step1", "name") is not None:
        second = _form("Step 2: What is your favorite color?", color={"type": "string"})
        return InputRequiredResult(input_requests={"step2": second}, request_state="second")
    first = _form("Step 1: What is your name?", name={"type": "string"})
    return InputRequiredResult(input_requests={"step1": first}, request_state="first")


async def test_input_required_result_capabilities(ctx: Asked) -> Rounds:
    """Asks only what this client declared that it can answer."""
    has = ctx.client_capabilities or types.ClientCapabilities()
    wanted: dict[str, Any] = {}
    if has.elicitation is not None:
        wanted["user_name"] = _form("What is your name?", name={"type": "string"})
    if has.sampling is not None:
        wanted["greeting"] = _sampling("Generate a greeting", 50)
    missing = {key: request for key, request in wanted.items() if _answered(ctx, key) is None}
    return InputRequiredResult(input_requests=missing) if missing else "Nothing to ask"


async def test_streaming_elicitation(ctx: Asked) -> Rounds:
    """Needs the user's word, and says so in its result instead of asking on the stream."""
    await ctx.report_progress(0, 1)
    return await test_input_required_result_elicitation(ctx)
