"""Ways to tamper with the demo server's answers, each breaking one kind of promise.

Owns the tampering. It leaves the server to `tests.broken_servers` and what must come of it to `tests.demo.broken`.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from agent_discovery.wire import EXTENSION_ID, LIST_CHANGED, SUBSCRIPTION_ID_META_KEY
from tests.broken_servers import Answer, Asked, Tamper

__all__ = [
    "always_with_release_agent",
    "another_log",
    "capabilities",
    "chained",
    "challenged",
    "details",
    "leaking_billing_agent",
    "no_notification",
    "of_alice",
    "on",
    "opened_for_all",
    "public",
    "refusal",
    "refused",
    "roster",
    "saying_that_it_changed",
    "stamped",
    "still_refused",
    "tool_changed",
    "unkept",
    "withheld",
    "without_extension",
    "without_member",
    "without_release_agent",
]


def on(method: str, change: Callable[[Asked, Answer], Answer | None], name: str | None = None) -> Tamper:
    """Tampers with the results of one method, or of one agent or tool."""

    def tamper(asked: Asked, answer: Answer) -> Answer | None:
        if asked.method != method or (name is not None and asked.name != name):
            return answer
        return change(asked, answer)

    return tamper


def chained(*tampers: Tamper) -> Tamper:
    """One after the other, until one withholds the answer."""

    def tamper(asked: Asked, answer: Answer) -> Answer | None:
        changed: Answer | None = answer
        for one in tampers:
            if changed is None:
                return None
            changed = one(asked, changed)
        return changed

    return tamper


def _has_result(answer: Answer) -> bool:
    return isinstance(answer.message, dict) and isinstance(answer.message.get("result"), dict)


def roster(change: Callable[[Asked, list[dict[str, Any]]], list[Any]]) -> Tamper:
    """Tampers with the cards of each roster."""
    return on("agents/list", lambda asked, answer: answer.with_result(agents=change(asked, _cards(answer))))


def _cards(answer: Answer) -> list[dict[str, Any]]:
    cards: list[dict[str, Any]] = answer.message["result"]["agents"]
    return cards


def details(name: str, change: Callable[[dict[str, Any]], dict[str, Any]]) -> Tamper:
    """Tampers with the result of opening one agent; refusals pass."""

    def changed(_: Asked, answer: Answer) -> Answer:
        return answer.with_result(**change(answer.message["result"])) if _has_result(answer) else answer

    return on("agents/get", changed, name)


def capabilities(change: Callable[[dict[str, Any]], dict[str, Any]]) -> Tamper:
    """Tampers with what the server says that it offers, on either wire."""

    def changed(_: Asked, answer: Answer) -> Answer:
        if not _has_result(answer):
            return answer
        return answer.with_result(capabilities=change(dict(answer.message["result"]["capabilities"])))

    return chained(on("initialize", changed), on("server/discover", changed))


def refusal(name: str, change: Callable[[dict[str, Any]], dict[str, Any]]) -> Tamper:
    """Tampers with the JSON-RPC error that opening one agent is answered with."""
    return on("agents/get", lambda _, answer: replace(answer, message=_with_error(answer.message, change)), name)


def _with_error(message: Any, change: Callable[[dict[str, Any]], dict[str, Any]]) -> Any:
    return {**message, "error": {**message["error"], **change(message["error"])}}


def no_notification(_: Asked, answer: Answer) -> Answer | None:
    message = answer.message
    return None if isinstance(message, dict) and message.get("method") == LIST_CHANGED else answer


def stamped(stamp: object) -> Tamper:
    """Change notifications say that they belong to another subscription, or to none."""

    def tamper(_: Asked, answer: Answer) -> Answer | None:
        message = answer.message
        if not isinstance(message, dict) or message.get("method") != LIST_CHANGED:
            return answer
        meta = {} if stamp is None else {SUBSCRIPTION_ID_META_KEY: stamp}
        return replace(answer, message={**message, "params": {"_meta": meta}})

    return tamper


def without_extension(offered: dict[str, Any]) -> dict[str, Any]:
    others = {name: value for name, value in offered["extensions"].items() if name != EXTENSION_ID}
    return {**offered, "extensions": others}


def tool_changed(change: Callable[[dict[str, Any]], dict[str, Any]]) -> Tamper:
    return details("pipeline-agent", lambda result: {"tools": [change(result["tools"][0]), *result["tools"][1:]]})


def without_member(tool: dict[str, Any], member: str) -> dict[str, Any]:
    return {name: value for name, value in tool.items() if name != member}


def leaking_billing_agent(asked: Asked, cards: list[dict[str, Any]]) -> list[Any]:
    billing = {"name": "billing-agent", "description": "Answers questions about invoices.", "capabilities": []}
    return [*cards, billing] if asked.user == "alice" else cards


def of_alice(_: Asked, cards: list[dict[str, Any]]) -> list[Any]:
    return [card for card in cards if card["name"] != "billing-agent"]


def without_release_agent(_: Asked, cards: list[dict[str, Any]]) -> list[Any]:
    return [card for card in cards if card["name"] != "release-agent"]


def always_with_release_agent(_: Asked, cards: list[dict[str, Any]]) -> list[Any]:
    return [*without_release_agent(_, cards), {"name": "release-agent", "capabilities": []}]


def saying_that_it_changed(changed: bool) -> Tamper:
    def tamper(_: Asked, answer: Answer) -> Answer:
        structured = {**answer.message["result"]["structuredContent"], "changed": changed}
        return answer.with_result(structuredContent=structured)

    return on("tools/call", tamper, "publish_release_agent")


def another_log(_: Asked, answer: Answer) -> Answer:
    structured = {**answer.message["result"]["structuredContent"], "id": "pl-0001"}
    return answer.with_result(structuredContent=structured)


def challenged(**changes: Any) -> Tamper:
    def changed(asked: Asked, answer: Answer) -> Answer:
        return answer if asked.stepped_up else replace(answer, **changes)

    return on("agents/get", changed, "deploy-agent")


def opened_for_all(asked: Asked, answer: Answer) -> Answer:
    if asked.stepped_up:
        return answer
    agent = {"name": "deploy-agent", "capabilities": []}
    result = {
        "agent": agent,
        "instructions": "Deploy.",
        "modelRoutingHint": {"vision": False},
        "tools": [{"name": "deploy_service"}],
        "ttlMs": 60_000,
        "cacheScope": "public",
    }
    message = {"jsonrpc": "2.0", "id": asked.message["id"], "result": result}
    return Answer(200, {"content-type": "application/json"}, message)


def still_refused(asked: Asked, answer: Answer) -> Answer:
    return answer.refused(-32603, "deploy-agent cannot be opened today") if asked.stepped_up else answer


def refused(_: Asked, answer: Answer) -> Answer:
    return answer.refused(-32603, "not today")


def withheld(_: Asked, __: Answer) -> None:
    return None


def public(_: Asked, answer: Answer) -> Answer:
    return answer.with_result(cacheScope="public")


def unkept(_: Asked, answer: Answer) -> Answer:
    return answer.with_result(ttlMs=0)
