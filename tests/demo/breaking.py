"""Servers that break one clause each, and by which clauses they are caught.

Owns the cases and the tampering that only a survey needs: it asks what no walk asks, so answers are refusals as often
as results. The rest of the tampering is in `tests.demo.tampering`, the running of a case in the tests.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Final

from agent_discovery.wire import CLIENT_CAPABILITIES_META_KEY, EXTENSION_ID, LISTEN_ACKNOWLEDGED
from demo.scene import Wire
from server.settings import Settings
from tests.broken_servers import Answer, Asked, Tamper
from tests.demo.tampering import capabilities, chained, challenged, details, on, tool_changed, withheld, without_member

__all__ = ["BREAKING", "FAULTY", "Breaking", "advertised", "cards", "endless", "results"]

_JSON: Final = {"content-type": "application/json"}
_STATELESS: Final[tuple[Wire, ...]] = ("stateless",)


def _has_result(answer: Answer) -> bool:
    return isinstance(answer.message, dict) and isinstance(answer.message.get("result"), dict)


def _code(answer: Answer) -> Any:
    error = answer.message.get("error") if isinstance(answer.message, dict) else None
    return error.get("code") if isinstance(error, dict) else None


def results(method: str, change: Callable[[Asked, Answer], Answer]) -> Tamper:
    """Tampers with the results of a method; refusals pass."""
    return on(method, lambda asked, answer: change(asked, answer) if _has_result(answer) else answer)


def members(method: str, **changes: Any) -> Tamper:
    """Other members in the results of a method; None takes one out."""
    return results(method, lambda _, answer: answer.with_result(**changes))


def cards(change: Callable[[list[Any]], list[Any]]) -> Tamper:
    return results("agents/list", lambda _, a: a.with_result(agents=change(a.message["result"]["agents"])))


def refusals(code: int, change: Callable[[Answer], Answer]) -> Tamper:
    """Tampers with the JSON-RPC errors of one code."""
    return lambda _, answer: change(answer) if _code(answer) == code else answer


def _error(**changes: Any) -> Callable[[Answer], Answer]:
    return lambda a: replace(a, message={**a.message, "error": {**a.message["error"], **changes}})


def _named(**changes: Any) -> Callable[[Answer], Answer]:
    """Other members where a refusal names versions of the extension."""

    def changed(answer: Answer) -> Answer:
        ours = {**answer.message["error"]["data"]["extensions"][EXTENSION_ID], **changes}
        return _error(data={"extensions": {EXTENSION_ID: ours}})(answer)

    return changed


def _status(status: int) -> Callable[[Answer], Answer]:
    return lambda answer: replace(answer, status=status)


def advertised(settings: Any) -> Tamper:
    return capabilities(lambda offered: {**offered, "extensions": {EXTENSION_ID: settings}})


def result(asked: Asked, content: Any) -> Answer:
    """A result, whatever the true answer was."""
    return Answer(200, _JSON, {"jsonrpc": "2.0", "id": asked.message.get("id"), "result": content})


_PAGE: Final = {"agents": [], "ttlMs": 0, "cacheScope": "private"}


def endless(cursor: Callable[[], str]) -> Tamper:
    """A page that says that there is another one, whatever it is asked."""

    def tamper(asked: Asked, answer: Answer) -> Answer:
        if "cursor" in asked.params:
            return result(asked, {**_PAGE, "nextCursor": cursor()})
        return answer.with_result(nextCursor=cursor()) if _has_result(answer) else answer

    return on("agents/list", tamper)


def _settings(asked: Asked) -> Any:
    """What the client declared for the extension, which can be seen on the stateless wire only."""
    declared = asked.params.get("_meta", {}).get(CLIENT_CAPABILITIES_META_KEY, {})
    return declared.get("extensions", {}).get(EXTENSION_ID)


def _where(holds: Callable[[Any], bool], tamper: Tamper) -> Tamper:
    """Tampers where the declaration is such."""
    return lambda asked, answer: tamper(asked, answer) if holds(_settings(asked)) else answer


def _version(text: str) -> Callable[[Any], bool]:
    return lambda settings: isinstance(settings, dict) and settings.get("version") == text


def _no_pipeline_tools(_: Asked, answer: Answer) -> Answer:
    kept = [tool for tool in answer.message["result"]["tools"] if "pipeline" not in tool["name"]]
    return answer.with_result(tools=kept)


def _billing(change: Callable[[Asked, Answer], Answer]) -> Tamper:
    """Tampers with what Alice gets who asks for the agent that is hidden from her."""
    return on("agents/get", lambda asked, a: change(asked, a) if asked.user == "alice" else a, "billing-agent")


def _opened(asked: Asked, _: Answer) -> Answer:
    return result(asked, {**_PAGE, "agent": {"name": "billing-agent", "capabilities": []}, "tools": []})


def _acknowledging(change: Callable[[dict[str, Any]], dict[str, Any] | None]) -> Tamper:
    """Tampers with the params of the first frame of a listen stream; None: it never comes."""

    def tamper(_: Asked, answer: Answer) -> Answer | None:
        message = answer.message
        if not isinstance(message, dict) or message.get("method") != LISTEN_ACKNOWLEDGED:
            return answer
        changed = change(message["params"])
        return None if changed is None else replace(answer, message={**message, "params": changed})

    return tamper


def _granting(granted: dict[str, Any]) -> Tamper:
    return _acknowledging(lambda params: {**params, "notifications": granted})


def _any_origin(asked: Asked, answer: Answer) -> Answer:
    return result(asked, {"tools": []}) if answer.status == 403 and answer.message is None else answer


def _refused(asked: Asked, answer: Answer) -> Answer:
    return answer.refused(-32603, "not today")


def _hint(hint: Any) -> Tamper:
    return details("pipeline-agent", lambda _: {"modelRoutingHint": hint})


@dataclass(frozen=True)
class Breaking:
    """One server, and exactly the clauses that must be broken there."""

    name: str
    tamper: Tamper
    clauses: str
    wires: tuple[Wire, ...] = ("session", "stateless")
    settings: Settings | None = None
    """Of a server of its own, where the ordinary one cannot break it."""
    timeout: float = 10.0
    faults: bool = False
    """Whether there are faults beside."""


BREAKING: Final = (
    Breaking(
        "lists fewer tools without the extension",
        _where(lambda settings: settings is None, results("tools/list", _no_pipeline_tools)),
        "AD-2",
        _STATELESS,
    ),
    Breaking(
        "lists agents without the extension",
        on("agents/list", lambda asked, a: result(asked, _PAGE) if _code(a) == -32021 else a),
        "AD-3",
    ),
    Breaking("names an agent twice", cards(lambda given: [*given, given[0]]), "AD-4"),
    Breaking("puts tools in a card", cards(lambda given: [{**card, "tools": ["x"]} for card in given]), "AD-5"),
    Breaking(
        "takes a tool's name for a label",
        cards(lambda given: [{**given[0], "capabilities": ["get_pipeline_log"]}, *given[1:]]),
        "AD-5",
    ),
    Breaking("puts null in place of a card", cards(lambda given: [*given, None]), "AD-5"),
    Breaking(
        "leaves capabilities out", cards(lambda given: [without_member(c, "capabilities") for c in given]), "AD-5"
    ),
    Breaking("describes a scoped tool otherwise", tool_changed(lambda t: {**t, "description": "Other."}), "AD-6 AD-8"),
    Breaking("leaves out a field", tool_changed(lambda tool: without_member(tool, "outputSchema")), "AD-6 AD-8"),
    Breaking("has a tool that is not listed", tool_changed(lambda tool: {**tool, "name": "other_tool"}), "AD-7"),
    Breaking("lists no agent's tools", results("tools/list", _no_pipeline_tools), "AD-7 AD-11"),
    Breaking(
        "lists an agent's tools only without the extension",
        _where(lambda settings: settings is not None, results("tools/list", _no_pipeline_tools)),
        "AD-7 AD-11",
        _STATELESS,
    ),
    Breaking("does not call what it lists", on("tools/call", _refused), "AD-7"),
    Breaking("opens a hidden agent", _billing(_opened), "AD-9"),
    Breaking(
        "grants by membership",
        details("pipeline-agent", lambda given: {"tools": [*given["tools"], {"name": "list_invoices"}]}),
        "AD-6 AD-7 AD-8 AD-10",
    ),
    Breaking(
        "takes any cursor",
        on("agents/list", lambda asked, a: result(asked, _PAGE) if "cursor" in asked.params else a),
        "AD-12",
    ),
    Breaking("sends a cursor that is no string", members("agents/list", nextCursor=1), "AD-12"),
    Breaking("pages in a circle", endless(lambda: "again"), "AD-12"),
    Breaking("promises in words", advertised({"listChanged": "yes"}), "AD-13"),
    Breaking("advertises a list", advertised([]), "AD-13"),
    Breaking("grants what it does not promise", advertised({}), "AD-13", _STATELESS),
    Breaking("does not grant what it promises", _granting({}), "AD-13 AD-14", _STATELESS),
    Breaking("grants what nobody asked for", _granting({"agentsListChanged": True}), "AD-14", _STATELESS),
    Breaking("never acknowledges", _acknowledging(lambda _: None), "AD-13 AD-14 CO-4", _STATELESS, timeout=1.0),
    Breaking("stamps no subscription", _acknowledging(lambda p: without_member(p, "_meta")), "CO-4", _STATELESS),
    Breaking("gives the roster no ttl", members("agents/list", ttlMs=None), "AD-17"),
    Breaking("gives details no scope", members("agents/get", cacheScope=None), "AD-17"),
    Breaking("lets everyone share the roster", members("agents/list", cacheScope="public"), "AD-18"),
    Breaking("gives the ttl as a text", members("agents/list", ttlMs="60000"), "CO-1"),
    Breaking("gives a ttl below zero", members("agents/get", ttlMs=-1), "CO-1"),
    Breaking("gives a scope of its own", members("agents/list", cacheScope="mine"), "CO-1"),
    Breaking("gives no reason", on("agents/get", refusals(-32602, _error(data=None))), "AD-19"),
    Breaking("answers a hidden name with 403", _billing(lambda _, a: replace(a, status=403)), "AD-20"),
    Breaking("answers a hidden name with a header", _billing(lambda _, a: a.with_header("x-policy", "b")), "AD-20"),
    Breaking("words a hidden name's refusal otherwise", _billing(lambda _, a: _error(message="No.")(a)), "AD-20"),
    Breaking("hints at a role of its own", _hint({"role": "huge", "vision": False}), "AD-24"),
    Breaking("hints without vision", _hint({"role": "small"}), "AD-24"),
    Breaking("hints in a word", _hint("small"), "AD-24"),
    Breaking("runs agents", on("agents/run", lambda asked, _: result(asked, {"content": []})), "AD-28"),
    Breaking("names half a version", advertised({"listChanged": True, "versions": ["1.0"]}), "EV-1"),
    Breaking("refuses in halves", refusals(-32005, _named(supported=["1"])), "EV-1"),
    Breaking(
        "takes no version for another than 1.0.0",
        refusals(-32005, lambda a: a if "99" in str(a.message) else _named(requested="2.0.0")(a)),
        "EV-2",
        settings=Settings(extension_versions=("2.1.0",)),
    ),
    Breaking("lists a major twice", advertised({"listChanged": True, "versions": ["1.0.0", "1.1.0"]}), "EV-3"),
    Breaking("refuses a major with 200", refusals(-32005, _status(200)), "EV-4"),
    Breaking("refuses another major than was asked for", refusals(-32005, _named(requested="1.0.0")), "EV-4"),
    Breaking("does not say what it supports", refusals(-32005, _named(supported=None)), "EV-4"),
    Breaking(
        "takes any major", on("agents/list", lambda asked, a: result(asked, _PAGE) if _code(a) == -32005 else a), "EV-4"
    ),
    Breaking(
        "ties core to the version", _where(_version("99.0.0"), results("tools/list", _refused)), "EV-5", _STATELESS
    ),
    Breaking("minds a minor", _where(_version("1.9.9"), results("agents/list", _refused)), "EV-6", _STATELESS),
    Breaking(
        "looks at the extension first",
        _where(_version("99.0.0"), refusals(-32022, _error(code=-32005))),
        "EV-7",
        _STATELESS,
    ),
    Breaking(
        "insists on a protocol version",
        chained(
            advertised({"listChanged": True, "requires": {"protocolVersion": "2099-01-01"}}),
            results("agents/list", _refused),
        ),
        "EV-10",
        faults=True,
    ),
    Breaking(
        "refuses without a scope", challenged(headers={"www-authenticate": 'Bearer error="insufficient_scope"'}), "CO-6"
    ),
    Breaking("refuses without a challenge", challenged(headers=_JSON), "CO-6"),
    Breaking("refuses with status 401", challenged(status=401), "CO-6"),
    Breaking("lets any origin in", _any_origin, "CO-8"),
    Breaking("takes headers that disagree", refusals(-32020, _status(200)), "CO-9", _STATELESS),
    Breaking("answers an unknown method with 200", refusals(-32601, _status(200)), "CO-9", _STATELESS),
    Breaking("does not say which versions it has", refusals(-32022, _error(data=None)), "CO-9", _STATELESS),
)

FAULTY: Final[dict[str, tuple[Tamper, str]]] = {
    "cannot open an agent": (
        on("agents/get", _refused, "pipeline-agent"),
        "pipeline-agent is listed for Alice and does",
    ),
    "sends a roster that is no list": (members("agents/list", agents={"a": 1}), "has no list of agents"),
    "sends a roster that is no object": (
        on("agents/list", lambda asked, _: result(asked, [])),
        "agents/list was answered",
    ),
    "sends another agent": (
        details("pipeline-agent", lambda _: {"agent": {"name": "other", "capabilities": []}}),
        "asked for pipeline-agent, the server sent 'other'",
    ),
    "sends instructions that are no text": (
        details("pipeline-agent", lambda _: {"instructions": ["do"]}),
        "the instructions of pipeline-agent are no text",
    ),
    "sends tools that are no list": (details("pipeline-agent", lambda _: {"tools": "all"}), "have no list of tools"),
    "sends no agent": (
        details("pipeline-agent", lambda _: {"agent": None}),
        "the details of pipeline-agent have no agent",
    ),
    "sends no JSON": (on("agents/list", lambda _, a: replace(a, raw=b"{")), "agents/list was answered"),
    "sends nothing": (on("tools/list", lambda _, a: replace(a, raw=b"")), "tools/list was answered"),
    "never answers agents/list": (on("agents/list", withheld), "no answer to agents/list within 0.5 s"),
}
"""Servers whose answers do not come or cannot be read: the tampering, and what a fault must say."""
