"""Checks against hand-made memories, where that is clearer than a server: what is compared, and what is told."""

from collections.abc import Mapping
from typing import Any

import pytest

from agent_discovery.host import AnswerFrame, NotificationFrame, RequestFrame, StreamLost
from agent_discovery.wire import LIST_CHANGED, SUBSCRIPTION_ID_META_KEY
from demo import checks
from demo.faithful import as_scripted
from demo.memory import Memory, NotReached, Trace
from demo.scene import Ref, Wire
from demo.script import SCENES


def asked(message: Mapping[str, Any] | None = None) -> RequestFrame:
    return RequestFrame(1, "Alice", "POST", "http://host/mcp", {}, message, 0.0)


def answered(
    message: Mapping[str, Any] | None, *, status: int = 200, request: RequestFrame | None = None, **headers: str
) -> AnswerFrame:
    shown = {name.replace("_", "-"): value for name, value in headers.items()}
    return AnswerFrame(request or asked(), status, shown, message, message, 1.0, 0.0)


def memory(wire: Wire = "session", **traces: Trace) -> Memory:
    named = {name.replace("_", "-"): trace for name, trace in traces.items()}
    return Memory(wire, {}, named)


def refused(name: str, message: str, **changes: Any) -> Trace:
    request = asked({"id": 7, "method": "agents/get", "params": {"name": name}})
    body = {"jsonrpc": "2.0", "id": 7, "error": {"code": -32602, "message": message}}
    return Trace(requests=[request], answers=[answered(body, request=request, **changes)])


def both(hidden: Trace, unknown: Trace) -> Memory:
    return memory(get_hidden=hidden, get_unknown=unknown)


# A hidden name and an unknown one


def test_the_id_the_name_the_date_and_the_length_may_differ() -> None:
    hidden = refused("billing-agent", "no billing-agent", date="today", content_length="70")
    unknown = refused("missing-agent", "no missing-agent", date="later", content_length="71")
    assert checks.hidden_equals_unknown(both(hidden, unknown)).held


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"status": 404}, "status: 404 against 200"),
        ({"x_policy": "1"}, 'headers: {"x-policy": "1"} against {"x-policy": null}'),
    ],
)
def test_only_what_differs_is_told(changes: dict[str, Any], told: str) -> None:
    finding = checks.hidden_equals_unknown(
        both(refused("billing-agent", "no", **changes), refused("missing-agent", "no"))
    )
    assert not finding.held
    assert finding.got == told


def test_a_difference_late_in_a_long_text_is_shown() -> None:
    long = "There is no such agent. " * 40
    finding = checks.hidden_equals_unknown(
        both(refused("billing-agent", long + "a"), refused("missing-agent", long + "b"))
    )
    assert not finding.held
    assert 'agent. a"' in finding.got
    assert 'agent. b"' in finding.got
    assert len(finding.got) < 400


# Where nothing came


def test_a_step_that_was_not_reached_is_told_with_the_reason() -> None:
    lost = Trace(requests=[asked()], error=StreamLost("the peer closed it"))
    with pytest.raises(NotReached, match="step 'later' was not reached: the connection broke: the peer closed it"):
        memory(earlier=lost).trace("later")


@pytest.mark.parametrize("path", [("pipelines", 0, "id"), ("list", 5), ("text", "id"), ("none",)])
def test_what_an_answer_does_not_hold_is_not_reached(path: tuple[str | int, ...]) -> None:
    trace = Trace(answers=[answered({"result": {"list": [1], "text": "t"}})])
    with pytest.raises(NotReached, match="has no "):
        memory(asked_first=trace).resolve({"id": Ref("asked-first", path)})


def test_pages_are_joined() -> None:
    pages = [answered({"result": {"agents": [{"name": name}]}}) for name in ("a", "b")]
    assert [card["name"] for card in memory(list_alice=Trace(answers=pages)).pages("list-alice", "agents")] == [
        "a",
        "b",
    ]


# The notification


@pytest.mark.parametrize(
    ("wire", "stamp", "held"),
    [
        ("session", None, True),
        ("session", 9, False),
        ("stateless", 9, True),
        ("stateless", "9", False),
        ("stateless", None, False),
    ],
)
def test_a_notification_carries_the_id_of_its_subscription_where_there_is_one(
    wire: Wire, stamp: object, held: bool
) -> None:
    listening = asked({"id": 9} if wire == "stateless" else None)
    meta = {} if stamp is None else {"params": {"_meta": {SUBSCRIPTION_ID_META_KEY: stamp}}}
    frame = NotificationFrame(listening, {"method": LIST_CHANGED, **meta}, 1.0, 0.0)
    assert checks.notification_arrived(memory(wire, hear_changed=Trace(notifications=[frame]))).held == held


# Opening


def test_a_wire_that_was_refused_first_does_not_count() -> None:
    """A host that leaves the choice open is refused on the one wire and opened on the other."""
    offered = {"extensions": {"io.modelcontextprotocol/agents": {"listChanged": True}}}
    trace = Trace(answers=[answered({"error": {"code": -32022}}), answered({"result": {"capabilities": offered}})])
    assert checks.extension_is_advertised(memory("stateless", open_alice=trace)).held


# What travelled


def test_a_scene_of_which_nothing_travelled_is_not_as_scripted() -> None:
    finding = as_scripted(SCENES[1], memory())
    assert not finding.held
    assert finding.got == "not sent: agents/list, as Alice"


def test_a_request_that_the_script_does_not_have_is_told() -> None:
    request = asked({"id": 1, "method": "agents/run"})
    trace = Trace(
        requests=[request], answers=[answered({"result": {"agents": [], "ttlMs": 1, "cacheScope": "private"}})]
    )
    finding = as_scripted(SCENES[1], memory(list_alice=trace))
    assert not finding.held
    assert finding.got == "sent agents/run, as Alice instead of agents/list, as Alice"
