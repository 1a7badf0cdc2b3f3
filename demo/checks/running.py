"""Scenes 3 and 4: what opening an agent brings, and that running it takes tools/call and nothing else."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from demo.checks.wording import equal, words
from demo.memory import Memory, NotReached
from demo.scene import Finding, Ref

if TYPE_CHECKING:
    from agent_discovery.shapes import ModelRoutingHint

__all__ = [
    "instructions_arrived",
    "log_is_of_the_listed_pipeline",
    "model_was_chosen",
    "only_core_methods_ran_the_agent",
    "routing_hint",
    "scoped_tools_were_called",
    "tools_equal_tools_list",
]

_HINT = "vision true or false, and role, if it is there, small, medium or large"


def tools_equal_tools_list(memory: Memory) -> Finding:
    listed = {tool.get("name"): tool for tool in memory.pages("list-tools", "tools")}
    scoped = memory.result("open-pipeline").get("tools")
    if not isinstance(scoped, list) or not scoped:
        return Finding(False, "a list of tools", words(scoped))
    differing = [
        _difference(tool, listed.get(tool.get("name"))) for tool in scoped if tool != listed.get(tool.get("name"))
    ]
    got = "; ".join(differing) if differing else f"{len(scoped)} tools, all equal"
    return Finding(not differing, "equal in every field", got)


def _difference(scoped: Mapping[str, Any], listed: Mapping[str, Any] | None) -> str:
    if listed is None:
        return f"{scoped.get('name')} is not in tools/list"
    fields = sorted(name for name in {*scoped, *listed} if scoped.get(name) != listed.get(name))
    return f"{scoped.get('name')} differs in {', '.join(fields)}"


def instructions_arrived(memory: Memory) -> Finding:
    instructions = memory.result("open-pipeline").get("instructions")
    held = isinstance(instructions, str) and bool(instructions.strip())
    return Finding(held, "a text for the host's model", words(instructions))


def model_was_chosen(memory: Memory) -> Finding:
    if (chosen := memory.decided.get("choose-model")) is not None:
        return Finding(True, "one of the host's models", chosen)
    hint = memory.result("open-pipeline").get("modelRoutingHint")
    return Finding(False, f"a hint to choose one of the host's models by, with {_HINT}", words(hint))


def routing_hint(memory: Memory) -> "ModelRoutingHint | None":
    """The hint as it came. A host may forgive an odd one (AD-26); here it is the server that is looked at (AD-24).

    Raises:
        NotReached: pipeline-agent was not opened, or its hint is none of the draft's.
    """
    from pydantic import ValidationError  # like the shapes: needed once something was answered, not to show the script

    from agent_discovery.shapes import ModelRoutingHint

    hint = memory.result("open-pipeline").get("modelRoutingHint")
    try:
        return None if hint is None else ModelRoutingHint.model_validate(hint, strict=True)
    except ValidationError:
        raise NotReached(f"a hint has {_HINT}, got {words(hint)}") from None


def scoped_tools_were_called(memory: Memory) -> Finding:
    from agent_discovery.shapes import AgentDetails

    agent = memory.recalled.get("recall-pipeline")
    if not isinstance(agent, AgentDetails):
        raise NotReached("pipeline-agent was not opened")
    called = [_called(request.message) for key in ("run-list", "run-log") for request in memory.trace(key).requests]
    return equal(sorted(str(tool.get("name")) for tool in agent.tools), sorted(called))


def _called(message: Mapping[str, Any] | None) -> str:
    return str(((message or {}).get("params") or {}).get("name"))


def only_core_methods_ran_the_agent(memory: Memory) -> Finding:
    ran = ("run-list", "run-log")
    methods = sorted(
        {str((request.message or {}).get("method")) for key in ran for request in memory.trace(key).requests}
    )
    return equal(["tools/call"], methods)


def log_is_of_the_listed_pipeline(memory: Memory) -> Finding:
    listed = memory.resolve(Ref("run-list", ("structuredContent", "pipelines", 0, "id")))
    result = memory.result("run-log")
    if result.get("isError"):
        return Finding(False, f"the log of {listed}", words(result.get("content")))
    return equal(listed, (result.get("structuredContent") or {}).get("id"))
