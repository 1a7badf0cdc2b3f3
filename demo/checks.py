"""The checks' logic: what must hold in each scene, read out of what travelled.

Each function takes the scene's memory and returns a finding; where an answer that it needs is missing it lets
`NotReached` pass, which the stage reports as a failed check. The scenes name them in `demo.script`.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from agent_discovery.host import AnswerFrame, parse_challenges, step_up_scopes
from agent_discovery.wire import (
    EXTENSION_ID,
    LIST_CHANGED,
    SUBSCRIPTION_ID_META_KEY,
    AgentDetails,
    extension_settings,
)
from demo.cast import ALICE, ALICE_STEPPED_UP
from demo.memory import Memory, NotReached
from demo.scene import Finding, Ref

__all__ = [
    "alice_keeps_no_billing_agent",
    "answer_is_private",
    "bob_sees_billing_agent",
    "bob_was_asked_for",
    "cached_roster_answered",
    "cards_carry_routing_fields_only",
    "challenge_names_the_scope",
    "extension_is_advertised",
    "hidden_equals_unknown",
    "hidden_is_not_found",
    "instructions_arrived",
    "list_changed_is_promised",
    "log_is_of_the_listed_pipeline",
    "model_was_chosen",
    "names_are_unique",
    "new_roster_has_release_agent",
    "notification_arrived",
    "notification_dropped_the_roster",
    "only_core_methods_ran_the_agent",
    "retry_opened_deploy_agent",
    "retry_reached_the_server",
    "roster_has",
    "scoped_tools_were_called",
    "someone_changed_the_roster",
    "someone_published_meanwhile",
    "starts_without_release_agent",
    "step_up_asks_for_the_union",
    "tools_equal_tools_list",
    "union_of_scopes",
]

_CARD_FIELDS = frozenset({"name", "description", "capabilities"})
RELEASE_AGENT = "release-agent"


def _words(value: Any) -> str:
    """A value as a reader sees it: JSON, shortened."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 300 else text[:297] + "..."


def _equal(expected: Any, got: Any) -> Finding:
    return Finding(expected == got, _words(expected), _words(got))


def _names(memory: Memory, key: str) -> list[str]:
    return [str(card.get("name")) if isinstance(card, Mapping) else "?" for card in memory.pages(key, "agents")]


# Scene 1


def _settings(memory: Memory) -> Mapping[str, Any] | None:
    # A host that leaves the choice of the wire open may have been refused on the other wire before.
    results = [(answer.message or {}).get("result") for answer in memory.trace("open-alice").answers]
    opened = [result for result in results if result is not None]
    if not opened:
        raise NotReached("the server did not answer the opening request")
    return extension_settings(opened[0].get("capabilities"))


def extension_is_advertised(memory: Memory) -> Finding:
    settings = _settings(memory)
    got = "not there" if settings is None else f"there, with {_words(dict(settings))}"
    return Finding(settings is not None, f'capabilities.extensions["{EXTENSION_ID}"] is there', got)


def list_changed_is_promised(memory: Memory) -> Finding:
    return _equal({"listChanged": True}, dict(_settings(memory) or {}))


# Scene 2


def cards_carry_routing_fields_only(memory: Memory) -> Finding:
    extra = sorted({field for card in memory.pages("list-alice", "agents") for field in card} - _CARD_FIELDS)
    return Finding(
        not extra, "name, description and capabilities at most", f"also {extra}" if extra else "nothing else"
    )


def names_are_unique(memory: Memory) -> Finding:
    names = _names(memory, "list-alice")
    twice = sorted({name for name in names if names.count(name) > 1})
    return Finding(not twice, "each name once", f"{twice} more than once" if twice else "each once")


def roster_has(memory: Memory) -> Finding:
    wanted = ["pipeline-agent", "deploy-agent"]
    names = _names(memory, "list-alice")
    return Finding(set(wanted) <= set(names), f"{_words(wanted)} among them", _some(names))


def alice_keeps_no_billing_agent(memory: Memory) -> Finding:
    names = _names(memory, "list-alice")
    return Finding("billing-agent" not in names, "no billing-agent", _some(names))


def _some(names: Sequence[str]) -> str:
    return _words(list(names[:8])) + (f" and {len(names) - 8} more" if len(names) > 8 else "")


def answer_is_private(memory: Memory) -> Finding:
    scopes = [
        ((answer.message or {}).get("result") or {}).get("cacheScope") for answer in memory.trace("list-alice").answers
    ]
    memory.result("list-alice")
    return Finding(
        set(scopes) == {"private"}, 'cacheScope "private" on every page', _words(sorted(set(map(str, scopes))))
    )


# Scene 3


def tools_equal_tools_list(memory: Memory) -> Finding:
    listed = {tool.get("name"): tool for tool in memory.pages("list-tools", "tools")}
    scoped = memory.result("open-pipeline").get("tools")
    if not isinstance(scoped, list) or not scoped:
        return Finding(False, "a list of tools", _words(scoped))
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
    return Finding(held, "a text for the host's model", _words(instructions))


def model_was_chosen(memory: Memory) -> Finding:
    return Finding(
        "choose-model" in memory.decided, "one of the host's models", memory.decided.get("choose-model", "none")
    )


# Scene 4


def scoped_tools_were_called(memory: Memory) -> Finding:
    agent = memory.recalled.get("recall-pipeline")
    if not isinstance(agent, AgentDetails):
        raise NotReached("pipeline-agent was not opened")
    called = [_called(request.message) for key in ("run-list", "run-log") for request in memory.trace(key).requests]
    return _equal(sorted(str(tool.get("name")) for tool in agent.tools), sorted(called))


def _called(message: Mapping[str, Any] | None) -> str:
    return str(((message or {}).get("params") or {}).get("name"))


def only_core_methods_ran_the_agent(memory: Memory) -> Finding:
    ran = ("run-list", "run-log")
    methods = sorted(
        {str((request.message or {}).get("method")) for key in ran for request in memory.trace(key).requests}
    )
    return _equal(["tools/call"], methods)


def log_is_of_the_listed_pipeline(memory: Memory) -> Finding:
    listed = memory.resolve(Ref("run-list", ("structuredContent", "pipelines", 0, "id")))
    result = memory.result("run-log")
    if result.get("isError"):
        return Finding(False, f"the log of {listed}", _words(result.get("content")))
    return _equal(listed, (result.get("structuredContent") or {}).get("id"))


# Scene 5


def bob_sees_billing_agent(memory: Memory) -> Finding:
    names = _names(memory, "list-bob")
    return Finding("billing-agent" in names, "billing-agent among them", _some(names))


def bob_was_asked_for(memory: Memory) -> Finding:
    sent = len(memory.trace("list-bob").requests)
    return Finding(sent >= 1, "a request of Bob's own", f"{sent} sent")


def hidden_is_not_found(memory: Memory) -> Finding:
    return _refusal(memory.answer("get-hidden"))


def _refusal(answer: AnswerFrame) -> Finding:
    error = (answer.message or {}).get("error")
    expected = "-32602 with data.reason agent_not_found"
    if not isinstance(error, Mapping):
        return Finding(False, expected, f"HTTP {answer.status}, {_words(answer.body)}")
    data = error.get("data")
    reason = data.get("reason") if isinstance(data, Mapping) else None
    return Finding(
        (error.get("code"), reason) == (-32602, "agent_not_found"), expected, f"{error.get('code')}, {reason}"
    )


def hidden_equals_unknown(memory: Memory) -> Finding:
    hidden = _comparable(memory.answer("get-hidden"), _asked(memory, "get-hidden"))
    unknown = _comparable(memory.answer("get-unknown"), _asked(memory, "get-unknown"))
    differing = sorted(part for part in hidden if hidden[part] != unknown[part])
    got = "; ".join(f"{part}: {' against '.join(_apart(hidden[part], unknown[part]))}" for part in differing)
    return Finding(not differing, "one answer for both, but for the id and the echoed name", got or "the same answer")


def _apart(one: Any, other: Any) -> tuple[str, str]:
    """Two values that differ, each in words and cut down to where they do."""
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        fields = sorted(name for name in {*one, *other} if one.get(name) != other.get(name))
        return _words({name: one.get(name) for name in fields}), _words({name: other.get(name) for name in fields})
    if not isinstance(one, str) or not isinstance(other, str):
        return _words(one), _words(other)
    pairs = enumerate(zip(one, other, strict=False))
    same = next((at for at, (left, right) in pairs if left != right), min(len(one), len(other)))
    start = max(0, same - 40)
    lead = "..." if start else ""
    return lead + _words(one[start : same + 80]), lead + _words(other[start : same + 80])


def _asked(memory: Memory, key: str) -> str:
    message = memory.trace(key).requests[-1].message or {}
    return str(message["params"]["name"])


def _comparable(answer: AnswerFrame, name: str) -> dict[str, Any]:
    """An answer without what may differ: the id, the echoed name, and the date."""
    message = {member: value for member, value in (answer.message or {}).items() if member != "id"}
    body = json.dumps(message or answer.body, sort_keys=True, ensure_ascii=False).replace(name, "<name>")
    # The length counts the digits of the id; the two names have the same number of letters.
    headers = {field: value for field, value in answer.headers.items() if field not in ("date", "content-length")}
    return {"status": answer.status, "headers": headers, "body": body}


async def someone_published_meanwhile(memory: Memory) -> str | None:
    """Whether the two refusals name rosters that differ by the release agent: somebody published or retired it."""
    rosters = []
    for key in ("get-hidden", "get-unknown"):
        trace = memory.traces.get(key)
        text = json.dumps(trace.answers[-1].body) if trace and trace.answers else ""
        rosters.append(RELEASE_AGENT in text)
    if rosters[0] != rosters[1]:
        return f"{RELEASE_AGENT} came or went between the two requests"
    return None


# Scene 6


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
        return Finding(False, _words(sorted(ALICE_STEPPED_UP.scopes)), "no challenge to read")
    return _equal(sorted(ALICE_STEPPED_UP.scopes), sorted(step_up_scopes(header, held=ALICE.scopes)))


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
    return Finding(held, "deploy-agent with instructions and deploy_service", f"{name} with {_words(tools)}")


def _tool_names(result: Mapping[str, Any]) -> list[str]:
    tools = result.get("tools")
    return [str(tool.get("name")) for tool in tools] if isinstance(tools, list) else []


# Scene 7


def starts_without_release_agent(memory: Memory) -> Finding:
    names = _names(memory, "list-before")
    return Finding(RELEASE_AGENT not in names, f"no {RELEASE_AGENT} yet", _some(names))


def cached_roster_answered(memory: Memory) -> Finding:
    trace = memory.trace("list-again")
    hits = [event for event in trace.cache if event.kind == "hit"]
    got = f"{len(trace.requests)} requests, " + (
        f"fresh for {hits[0].remaining_ms / 1000:.0f} s more" if hits else "no hit"
    )
    return Finding(not trace.requests and bool(hits) and hits[0].remaining_ms > 0, "0 requests, and still fresh", got)


def notification_arrived(memory: Memory) -> Finding:
    heard = memory.trace("hear-changed").notifications
    if not heard:
        return Finding(False, LIST_CHANGED, "nothing arrived")
    message = heard[0].message
    stamp = ((message.get("params") or {}).get("_meta") or {}).get(SUBSCRIPTION_ID_META_KEY)
    opened = heard[0].request.message
    expected_stamp = opened.get("id") if opened is not None and memory.wire == "stateless" else None
    held = message.get("method") == LIST_CHANGED and stamp == expected_stamp
    where = "on the GET stream" if memory.wire == "session" else "stamped with its subscription"
    return Finding(held, f"{LIST_CHANGED} {where}", f"{message.get('method')}, subscription id {_words(stamp)}")


def notification_dropped_the_roster(memory: Memory) -> Finding:
    dropped = [
        event for event in memory.trace("hear-changed").cache if event.kind == "dropped" and event.what == "roster"
    ]
    expected = "dropped by the notification, while it was fresh"
    if not dropped:
        return Finding(False, expected, "not dropped")
    left = dropped[0].remaining_ms
    return Finding(left > 0, expected, f"dropped with {left / 1000:.0f} s left")


def new_roster_has_release_agent(memory: Memory) -> Finding:
    sent = len(memory.trace("list-after").requests)
    names = _names(memory, "list-after")
    held = sent >= 1 and RELEASE_AGENT in names
    return Finding(held, f"a request, and {RELEASE_AGENT} in its answer", f"{sent} sent: {_some(names)}")


async def someone_changed_the_roster(memory: Memory) -> str | None:
    """What shows that another client changed the roster while this scene was played, or None."""
    try:
        published = memory.result("publish").get("structuredContent") or {}
        if RELEASE_AGENT in _names(memory, "list-before"):
            return f"{RELEASE_AGENT} was published again right after this scene retired it"
    except NotReached:
        published = {}
    if published.get("changed") is False:
        return f"{RELEASE_AGENT} was already published when this scene did"
    if len(memory.heard) > 1:
        return f"{len(memory.heard)} notifications came for the one change this scene made"
    if published.get("changed") is True and not memory.heard:
        # A change taken back at once is none to the server's eyes, so it notifies nobody. A fresh roster tells.
        page = await memory.connection(ALICE).request("agents/list")
        if RELEASE_AGENT not in [card.get("name") for card in page.get("agents", [])]:
            return f"{RELEASE_AGENT} was retired again before the notification went out"
    return None
