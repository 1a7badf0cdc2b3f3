"""The demo's six tools: small, typed, and always the same answers.

Owns the tools and their serving on a low-level server. It leaves who may see and call them to the registry, which the
extension asks before a call gets here.
"""

from collections.abc import Awaitable, Callable, Collection, Sequence
from typing import Annotated, Any, Final, Literal

import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.mcpserver.tools import Tool
from mcp.shared.exceptions import MCPError
from mcp_types import ToolAnnotations
from pydantic import BaseModel, Field, ValidationError

from agent_discovery.server import AgentRegistry, can_use_agents
from agent_discovery.wire import INVALID_PARAMS
from server import records
from server.canned import CannedTool, as_result
from server.roster import RELEASE_AGENT

__all__ = ["ToolShelf", "build_tools"]

_READS: Final = ToolAnnotations(read_only_hint=True, idempotent_hint=True, open_world_hint=False)
_SETS: Final = ToolAnnotations(
    read_only_hint=False, destructive_hint=False, idempotent_hint=True, open_world_hint=False
)
_INSTEAD: Final = "call list_failed_pipelines for what would hold a release up"
"""The next move for a client that cannot open an agent, as it did not declare the extension."""

Branch = Annotated[str | None, Field(description="Only pipelines of this branch.", max_length=200)]
PipelineLimit = Annotated[int, Field(description="How many pipelines to return at most.", ge=1, le=50)]
PipelineId = Annotated[str, Field(description='A pipeline\'s id, such as "pl-1042".', max_length=40)]
TailLines = Annotated[int, Field(description="How many lines to return, counted from the log's end.", ge=1, le=200)]
InvoiceStatus = Annotated[Literal["open", "paid", "overdue"] | None, Field(description="Only invoices in this state.")]
Service = Annotated[Literal["api", "web", "worker"], Field(description="The service to deploy.")]
Version = Annotated[str, Field(description="The version to deploy, such as 1.4.2.", pattern=r"^\d+\.\d+\.\d+$")]
Environment = Annotated[Literal["staging", "production"], Field(description="Where to deploy it.")]


class FailedPipelines(BaseModel):
    """Failed pipelines, the latest first."""

    pipelines: list[records.Pipeline]
    next: str = Field(description="What to do next.")


class PipelineLog(BaseModel):
    """The end of one pipeline's log."""

    id: str
    branch: str
    stage: str
    lines: list[str]
    total_lines: int = Field(description="How many lines the whole log has.")


class Invoices(BaseModel):
    """Invoices, the latest first."""

    invoices: list[records.Invoice]


class Deployment(BaseModel):
    """A deployment that was accepted."""

    deployment_id: str
    service: str
    version: str
    environment: str
    status: Literal["accepted"]


class RosterChange(BaseModel):
    """Whether the roster changed."""

    changed: bool
    agent: str
    next: str = Field(description="What to do next.")


async def list_failed_pipelines(branch: Branch = None, limit: PipelineLimit = 10) -> FailedPipelines:
    """List the CI pipelines that failed, the latest first."""
    found = [p for p in records.PIPELINES if branch is None or p.branch == branch]
    branches = ", ".join(dict.fromkeys(p.branch for p in records.PIPELINES))
    following = f'call get_pipeline_log with id "{found[0].id}"' if found else f"call it again with one of: {branches}"
    return FailedPipelines(pipelines=found[:limit], next=following)


async def get_pipeline_log(id: PipelineId, tail_lines: TailLines = 20) -> PipelineLog:
    """Read the end of a failed pipeline's log."""
    pipeline = next((p for p in records.PIPELINES if p.id == id), None)
    if pipeline is None:
        known = ", ".join(p.id for p in records.PIPELINES)
        raise ToolError(f"no failed pipeline has this id; use one of: {known}")
    lines = records.log_of(pipeline)
    return PipelineLog(
        id=pipeline.id,
        branch=pipeline.branch,
        stage=pipeline.stage,
        lines=lines[-tail_lines:],
        total_lines=len(lines),
    )


async def list_invoices(status: InvoiceStatus = None) -> Invoices:
    """List invoices with their amounts and states."""
    return Invoices(invoices=[i for i in records.INVOICES if status is None or i.status == status])


async def deploy_service(service: Service, version: Version, environment: Environment = "staging") -> Deployment:
    """Deploy a version of a service."""
    return Deployment(
        deployment_id=f"dep-{service}-{version.replace('.', '-')}-{environment}",
        service=service,
        version=version,
        environment=environment,
        status="accepted",
    )


def build_tools(registry: AgentRegistry) -> tuple[Tool, ...]:
    """The six tools in the order of `tools/list`; the last two change `registry`."""

    # Coroutines, not plain functions: the SDK runs those in threads, and a registry belongs to its event loop.
    async def publish_release_agent(ctx: Context[Any, Any]) -> RosterChange:
        """Publish release-agent to everyone. Publishing it twice changes nothing the second time."""
        changed = registry.put(RELEASE_AGENT)
        name = RELEASE_AGENT.name
        following = f'call agents/get with name "{name}"' if can_use_agents(ctx.request_context) else _INSTEAD
        return RosterChange(changed=changed, agent=name, next=following)

    async def retire_release_agent(ctx: Context[Any, Any]) -> RosterChange:
        """Take release-agent out of the roster. Retiring it twice changes nothing the second time."""
        changed = registry.remove(RELEASE_AGENT.name)
        following = "call agents/list for the agents now there" if can_use_agents(ctx.request_context) else _INSTEAD
        return RosterChange(changed=changed, agent=RELEASE_AGENT.name, next=following)

    def tool(fn: Callable[..., Awaitable[Any]], title: str, annotations: ToolAnnotations) -> Tool:
        return Tool.from_function(fn, title=title, annotations=annotations, structured_output=True)

    return (
        tool(list_failed_pipelines, "List failed pipelines", _READS),
        tool(get_pipeline_log, "Read a pipeline's log", _READS),
        tool(list_invoices, "List invoices", _READS),
        tool(deploy_service, "Deploy a service", _SETS),
        tool(publish_release_agent, "Publish the release agent", _SETS),
        tool(retire_release_agent, "Retire the release agent", _SETS),
    )


class ToolShelf:
    """Serves `tools/list` and `tools/call` for a row of tools on a low-level server; the row may be replaced."""

    def __init__(self, tools: Sequence[Tool | CannedTool] = ()) -> None:
        self.replace(tools)

    def replace(self, tools: Sequence[Tool | CannedTool]) -> None:
        """Serve these tools from now on, in this order."""
        self._tools = {tool.name: tool for tool in tools}
        self._listing = [tool.definition() if isinstance(tool, CannedTool) else _definition(tool) for tool in tools]

    def names(self) -> Collection[str]:
        """The names of the tools as of now."""
        return self._tools.keys()

    async def on_list(
        self, _ctx: ServerRequestContext[Any, Any], params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        """All tools on one page, so no cursor can be ours."""
        if params is not None and params.cursor is not None:
            raise MCPError(INVALID_PARAMS, "this cursor is not one of ours; call tools/list again without a cursor")
        return types.ListToolsResult(tools=self._listing)

    async def on_call(
        self, ctx: ServerRequestContext[Any, Any], params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        """Run one tool. Wrong arguments and what the tool refuses are results that the model can read and mend."""
        tool = self._tools.get(params.name)
        if tool is None:
            # It was there when the extension let the call in, and a reload has taken it away since.
            raise MCPError(INVALID_PARAMS, "this tool is gone; call tools/list for the current ones")
        if isinstance(tool, CannedTool):
            return tool.answer(params.arguments or {})
        try:
            result = await tool.run(params.arguments or {}, Context(request_context=ctx))
        except ToolError as error:
            text = types.TextContent(type="text", text=_refusal(tool.name, error))
            return types.CallToolResult(content=[text], is_error=True)
        return as_result(result.model_dump(mode="json"))

    def serve_on(self, server: Server[Any]) -> None:
        """Register both methods on `server`."""
        server.add_request_handler("tools/list", types.PaginatedRequestParams, self.on_list)
        server.add_request_handler("tools/call", types.CallToolRequestParams, self.on_call)


def _definition(tool: Tool) -> types.Tool:
    return types.Tool(
        name=tool.name,
        title=tool.title,
        description=tool.description,
        input_schema=tool.parameters,
        output_schema=tool.output_schema,
        annotations=tool.annotations,
    )


def _refusal(tool: str, error: ToolError) -> str:
    """What a model can mend its call by: the tool's own words, or each wrong argument with what is wrong with it."""
    wrong = error.__cause__
    if not isinstance(wrong, ValidationError):
        return str(error)
    faults = [f"{'.'.join(map(str, fault['loc']))}: {fault['msg']}" for fault in wrong.errors()]
    return f"{tool}: {'; '.join(faults)}. Call tools/list for this tool's arguments."
