"""The tools that the conformance suite asks of a server and that need no second round.

Owns what the suite's scenarios name: tools for each kind of content, for progress, logging, errors, and tools that ask
the client something while they run (2025-11-25). It leaves the tools that answer with `InputRequiredResult` to
`fixture_rounds`, and serving them to `fixture_server`.
"""

import base64
from typing import Annotated, Any, Final

import mcp_types as types
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.mcpserver.tools import Tool
from mcp.shared.exceptions import MCPError
from mcp.shared.message import ServerMessageMetadata
from pydantic import Field

__all__ = ["build_content_tools", "object_schema"]

PNG: Final = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=="
"""One pixel."""
WAV: Final = base64.b64encode(
    b"RIFF\x26\x00\x00\x00WAVEfmt \x10\x00\x00\x00\x01\x00\x01\x00\x40\x1f\x00\x00\x80\x3e\x00\x00\x02\x00\x10\x00"
    b"data\x02\x00\x00\x00\x00\x00"
).decode()
"""One sample of silence."""

SCHEMA_2020_12: Final[dict[str, Any]] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {
        "address": {
            "$anchor": "addressDef",
            "type": "object",
            "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
        }
    },
    "properties": {
        "name": {"type": "string"},
        "address": {"$ref": "#/$defs/address"},
        "contactMethod": {"type": "string", "enum": ["phone", "email"]},
        "phone": {"type": "string"},
        "email": {"type": "string"},
    },
    "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
    "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
    "then": {"required": ["phone"]},
    "else": {"required": ["email"]},
    "additionalProperties": False,
}

Asked = Context[Any, Any]
Region = Annotated[str, Field(json_schema_extra={"x-mcp-header": "Region"})]


def object_schema(required: list[str] | None = None, /, **properties: dict[str, Any]) -> dict[str, Any]:
    """A JSON Schema for an object; without `required`, every property is."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties) if required is None else required,
    }


def build_content_tools() -> list[Tool]:
    """A fresh set of the tools."""
    tools = [
        Tool.from_function(fn, structured_output=False)
        for fn in (
            test_simple_text,
            test_image_content,
            test_audio_content,
            test_embedded_resource,
            test_multiple_content_types,
            test_tool_with_logging,
            test_logging_tool,
            test_error_handling,
            test_tool_with_progress,
            test_sampling,
            test_elicitation,
            test_elicitation_sep1034_defaults,
            test_elicitation_sep1330_enums,
            test_reconnection,
            test_missing_capability,
            test_trigger_tool_change,
            deploy_to_region,
        )
    ]
    schema_tool = Tool.from_function(json_schema_2020_12_tool, structured_output=False)
    return [*tools, schema_tool.model_copy(update={"parameters": SCHEMA_2020_12})]


def _image() -> types.ImageContent:
    return types.ImageContent(type="image", data=PNG, mime_type="image/png")


def _resource(uri: str, mime_type: str, text: str) -> types.EmbeddedResource:
    contents = types.TextResourceContents(uri=uri, mime_type=mime_type, text=text)
    return types.EmbeddedResource(type="resource", resource=contents)


async def test_simple_text() -> str:
    """Returns text."""
    return "This is a simple text response for testing."


async def test_image_content() -> types.CallToolResult:
    """Returns an image."""
    return types.CallToolResult(content=[_image()])


async def test_audio_content() -> types.CallToolResult:
    """Returns a sound."""
    return types.CallToolResult(content=[types.AudioContent(type="audio", data=WAV, mime_type="audio/wav")])


async def test_embedded_resource() -> types.CallToolResult:
    """Returns a resource inside the result."""
    text = "This is an embedded resource content."
    return types.CallToolResult(content=[_resource("test://embedded-resource", "text/plain", text)])


async def test_multiple_content_types() -> types.CallToolResult:
    """Returns text, an image and a resource."""
    return types.CallToolResult(
        content=[
            types.TextContent(type="text", text="Multiple content types test:"),
            _image(),
            _resource("test://mixed-content-resource", "application/json", '{"test":"data","value":123}'),
        ]
    )


async def _log(ctx: Asked, text: str) -> None:
    # Not `ctx.info`: it warns that logging is deprecated, which is true and not what is tested here.
    message = types.LoggingMessageNotification(params=types.LoggingMessageNotificationParams(level="info", data=text))
    await ctx.session.send_notification(message, related_request_id=ctx.request_id)


async def test_tool_with_logging(ctx: Asked) -> str:
    """Logs three messages while it runs."""
    for text in ("Tool execution started", "Tool processing data", "Tool execution completed"):
        await _log(ctx, text)
    return "Logged three messages"


async def test_logging_tool(ctx: Asked) -> str:
    """Logs nothing but where the request asked for it; nobody asks here."""
    del ctx
    return "Logged nothing, as nobody asked for it"


async def test_error_handling() -> str:
    """Always fails."""
    raise ToolError("This tool intentionally returns an error for testing")


async def test_tool_with_progress(ctx: Asked) -> str:
    """Reports progress three times."""
    for progress in (0, 50, 100):
        await ctx.report_progress(progress, 100)
    return "Reported progress"


async def test_sampling(prompt: str, ctx: Asked) -> str:
    """Asks the client's model."""
    message = types.SamplingMessage(role="user", content=types.TextContent(type="text", text=prompt))
    params = types.CreateMessageRequestParams(messages=[message], max_tokens=100)
    answer = await ctx.session.send_request(
        types.CreateMessageRequest(params=params),
        types.CreateMessageResult,
        metadata=ServerMessageMetadata(related_request_id=ctx.request_id),
    )
    text = answer.content.text if isinstance(answer.content, types.TextContent) else ""
    return f"LLM response: {text}"


async def _elicit(ctx: Asked, message: str, schema: dict[str, Any]) -> types.ElicitResult:
    answer: types.ElicitResult = await ctx.session.elicit_form(message, schema, related_request_id=ctx.request_id)
    return answer


async def test_elicitation(message: str, ctx: Asked) -> str:
    """Asks the client's user for a name and an address."""
    schema = object_schema(
        username={"type": "string", "description": "User's response"},
        email={"type": "string", "description": "User's email address"},
    )
    answer = await _elicit(ctx, message, schema)
    return f"User response: action={answer.action}, content={answer.content}"


async def test_elicitation_sep1034_defaults(ctx: Asked) -> str:
    """Asks with a default for each primitive type (SEP-1034)."""
    schema = object_schema(
        [],
        name={"type": "string", "default": "John Doe"},
        age={"type": "integer", "default": 30},
        score={"type": "number", "default": 95.5},
        status={"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
        verified={"type": "boolean", "default": True},
    )
    answer = await _elicit(ctx, "Please review the form", schema)
    return f"Elicitation completed: action={answer.action}, content={answer.content}"


async def test_elicitation_sep1330_enums(ctx: Asked) -> str:
    """Asks with each of the five kinds of choice (SEP-1330)."""
    titled = [{"const": f"value{n}", "title": title} for n, title in enumerate(("First", "Second", "Third"), 1)]
    plain = ["option1", "option2", "option3"]
    schema = object_schema(
        [],
        untitledSingle={"type": "string", "enum": plain},
        titledSingle={"type": "string", "oneOf": titled},
        legacyEnum={"type": "string", "enum": ["opt1", "opt2", "opt3"], "enumNames": ["One", "Two", "Three"]},
        untitledMulti={"type": "array", "items": {"type": "string", "enum": plain}},
        titledMulti={"type": "array", "items": {"anyOf": titled}},
    )
    answer = await _elicit(ctx, "Please choose", schema)
    return f"Elicitation completed: action={answer.action}, content={answer.content}"


async def test_reconnection(ctx: Asked) -> str:
    """Closes the stream that its answer was to come on; the client fetches the answer on another (SEP-1699)."""
    await ctx.close_sse_stream()
    return "Reconnection test completed"


async def test_missing_capability(ctx: Asked) -> str:
    """Works only for clients that declared sampling."""
    capabilities = ctx.client_capabilities
    if capabilities is None or capabilities.sampling is None:
        data: dict[str, Any] = {"requiredCapabilities": {"sampling": {}}}
        raise MCPError(types.MISSING_REQUIRED_CLIENT_CAPABILITY, "This tool needs a client with sampling", data)
    return "The client can sample"


async def test_trigger_tool_change(ctx: Asked) -> str:
    """Tells listeners that the tools changed."""
    await ctx.notify_tools_changed()
    return "Told"


async def deploy_to_region(region: Region) -> str:
    """Has an argument that travels in a header as well (SEP-2243)."""
    return f"Deployed to {region}"


async def json_schema_2020_12_tool(name: str = "") -> str:
    """Has an input schema with the vocabulary of JSON Schema 2020-12."""
    return f"Hello, {name}"
