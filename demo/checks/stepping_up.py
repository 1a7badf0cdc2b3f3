"""Scene 6: how the server asks for more scope, and what the host makes of it."""

from collections.abc import Mapping
from typing import Any

from agent_discovery.host import parse_challenges, step_up_scopes
from demo.cast import ALICE, ALICE_STEPPED_UP
from demo.checks.wording import equal, words
from demo.memory import Memory
from demo.scene import Finding

__all__ = [
    "challenge_names_the_scope",
    "retry_opened_deploy_agent",
    "retry_reached_the_server",
    "step_up_asks_for_the_union",
    "union_of_scopes",
]


def challenge_names_the_scope(memory: Memory) -> Finding:
    answer = memory.answer("get-deploy-refused")
    expected = 'HTTP 403, Bearer error="insufficient_scope", scope="ops:deploy"'
    header = answer.headers.get("www-authenticate", "")
    held = answer.status == 403 and any(
        (challenge.scheme.lower(), challenge.error, challenge.scope)
        == ("bearer", "insufficient_scope", ("ops:deploy",))
        for challenge in parse_challenges(header)
    )
    return Finding(held, expected, f"HTTP {answer.status}, {header or 'no WWW-Authenticate'}")


def union_of_scopes(memory: Memory) -> str:
    """The host's decision: which scopes to ask for."""
    header = memory.answer("get-deploy-refused").headers.get("www-authenticate", "")
    wanted = step_up_scopes(header, held=ALICE.scopes)
    if not set(wanted) <= set(ALICE_STEPPED_UP.scopes):
        return f"asks for {' '.join(wanted)}: no token in this walkthrough has all of them"
    return f"had {' '.join(ALICE.scopes)}; asks for {' '.join(wanted)}; the user agrees and there is a new token"


def step_up_asks_for_the_union(memory: Memory) -> Finding:
    header = memory.answer("get-deploy-refused").headers.get("www-authenticate", "")
    if not parse_challenges(header):
        return Finding(False, words(sorted(ALICE_STEPPED_UP.scopes)), "no challenge to read")
    return equal(sorted(ALICE_STEPPED_UP.scopes), sorted(step_up_scopes(header, held=ALICE.scopes)))


def retry_reached_the_server(memory: Memory) -> Finding:
    trace = memory.trace("get-deploy")
    stored = [event.kind for event in memory.trace("get-deploy-refused").cache if event.kind == "stored"]
    got = f"{len(trace.requests)} request sent" + (
        "; the refusal was stored" if stored else "; the refusal was not stored"
    )
    return Finding(len(trace.requests) == 1 and not stored, "1 request sent; the refusal was not stored", got)


def retry_opened_deploy_agent(memory: Memory) -> Finding:
    result = memory.result("get-deploy")
    card = result.get("agent")
    name = card.get("name") if isinstance(card, Mapping) else card
    tools = _tool_names(result)
    held = name == "deploy-agent" and "deploy_service" in tools and bool(result.get("instructions"))
    return Finding(held, "deploy-agent with instructions and deploy_service", f"{name} with {words(tools)}")


def _tool_names(result: Mapping[str, Any]) -> list[str]:
    tools = result.get("tools")
    return [str(tool.get("name")) for tool in tools] if isinstance(tools, list) else []
