"""The demo's roster: who is in it, who sees whom, and which tools are guarded.

Owns the agents of the walkthrough, and the shape of a whole roster. It leaves the tools themselves to `tools`, rosters
of others to `roster_file`, publishing them to `published`, and the policies' meaning to `agent_discovery.server`.
"""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Final

from agent_discovery import __version__
from agent_discovery.server import OPEN_TO_ALL, Access, AgentDef, ModelRoutingHint, holders_of
from server.canned import CannedTool
from server.tokens import DEMO_SCOPES, DEMO_TOKENS, DemoToken

__all__ = [
    "BILLING_AGENT",
    "BUILT_IN",
    "DEPLOY_AGENT",
    "PIPELINE_AGENT",
    "RELEASE_AGENT",
    "TOOL_NAMES",
    "Provider",
    "Roster",
    "RosterTool",
    "synthetic_agents",
]

TOOL_NAMES: Final = (
    "list_failed_pipelines",
    "get_pipeline_log",
    "list_invoices",
    "deploy_service",
    "publish_release_agent",
    "retire_release_agent",
)

_BILLING_ONLY: Final = Access(visible_to=holders_of("billing:read"))
_DEPLOY_BY_STEP_UP: Final = Access(challenge=("ops:deploy",))
_GUARDED: Final = {"list_invoices": _BILLING_ONLY, "deploy_service": _DEPLOY_BY_STEP_UP}

PIPELINE_AGENT: Final = AgentDef(
    name="pipeline-agent",
    description="Finds out why a CI pipeline failed and points at the line of the log that says so.",
    capabilities=("ci", "diagnostics"),
    instructions=(
        "You find out why pipelines fail. Begin with list_failed_pipelines, take an id from its answer and read that "
        "pipeline's log with get_pipeline_log. Quote the line that explains the failure, and say what to try next. "
        "Do not guess at a cause that the log does not show."
    ),
    tools=("list_failed_pipelines", "get_pipeline_log"),
    model_routing_hint=ModelRoutingHint(role="small", vision=False),
)

BILLING_AGENT: Final = AgentDef(
    name="billing-agent",
    description="Answers questions about invoices: which are open, paid or overdue, and for how much.",
    capabilities=("billing", "reporting"),
    instructions=(
        "You answer questions about invoices. Read them with list_invoices, name each by its id, and give amounts in "
        "their own currency. Never add up different currencies."
    ),
    tools=("list_invoices",),
    model_routing_hint=ModelRoutingHint(role="small", vision=False),
    access=_BILLING_ONLY,
)

DEPLOY_AGENT: Final = AgentDef(
    name="deploy-agent",
    description="Brings a version of a service to staging or production once its pipeline is green.",
    capabilities=("deployment", "operations"),
    instructions=(
        "You deploy services. Check with list_failed_pipelines first: if main is red, stop and say so. Deploy to "
        "staging before production, and report the deployment id that deploy_service returns."
    ),
    tools=("list_failed_pipelines", "deploy_service"),
    model_routing_hint=ModelRoutingHint(role="large", vision=False),
    access=_DEPLOY_BY_STEP_UP,
)

RELEASE_AGENT: Final = AgentDef(
    name="release-agent",
    description="Prepares a release: checks that nothing fails on the way and sums up what did.",
    capabilities=("release", "planning"),
    instructions=(
        "You prepare releases. Use list_failed_pipelines to see what would hold a release up, read the logs of those "
        "with get_pipeline_log, and end with a list of what has to be mended first."
    ),
    tools=("list_failed_pipelines", "get_pipeline_log"),
    model_routing_hint=ModelRoutingHint(role="medium", vision=False),
)


@dataclass(frozen=True, kw_only=True)
class Provider:
    """Who stands behind the agents, for the REST door. Without URLs of its own the server's own go out."""

    organization: str = "Agent discovery demo"
    url: str | None = None
    version: str = __version__
    documentation_url: str | None = None


@dataclass(frozen=True, kw_only=True)
class RosterTool:
    """One tool of a roster: a tool of this server by its name, or one with a written-down answer."""

    name: str
    canned: CannedTool | None = None
    access: Access = OPEN_TO_ALL


@dataclass(frozen=True, kw_only=True)
class Roster:
    """All that a server publishes: the built-in one, or what a roster file says."""

    agents: tuple[AgentDef, ...]
    tools: tuple[RosterTool, ...]
    tokens: tuple[DemoToken, ...]
    scopes: tuple[str, ...]
    provider: Provider = Provider()


BUILT_IN: Final = Roster(
    agents=(PIPELINE_AGENT, BILLING_AGENT, DEPLOY_AGENT),
    tools=tuple(RosterTool(name=name, access=_GUARDED.get(name, OPEN_TO_ALL)) for name in TOOL_NAMES),
    tokens=DEMO_TOKENS,
    scopes=DEMO_SCOPES,
)


def synthetic_agents(count: int, tools: Collection[str] = TOOL_NAMES) -> Iterator[AgentDef]:
    """`count` made-up agents, for scale; they name a tool where the server has it."""
    named = ("list_failed_pipelines",) if "list_failed_pipelines" in tools else ()
    for number in range(1, count + 1):
        yield AgentDef(
            name=f"synthetic-{number:05}",
            description=f"Stands in for agent number {number} of a large roster.",
            capabilities=("synthetic", f"shard-{number % 16:02}"),
            instructions="You stand in for one of many. Answer from list_failed_pipelines.",
            tools=named,
        )
