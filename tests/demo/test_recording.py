"""Recordings: what is made even, what is refused, and the way to JSON and back."""

import asyncio
import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from agent_discovery.host import AnswerFrame, FailureFrame, NotificationFrame, RequestFrame, TimedOut
from agent_discovery.wire import LIST_CHANGED, SUBSCRIPTION_ID_META_KEY
from demo.arrows import seen
from demo.cast import ALICE, BOB, CAST
from demo.documents import record
from demo.events import Checked, Decided, Event, SceneEnded, SceneStarted, StepStarted, Travelled
from demo.recorder import Recorder, UnusableWalk
from demo.recording import Recording, UnusableRecording, frames_of, require_scripted
from demo.scene import Exchange, Finding, Hear, Leave, Result, Scene, Step, Wire
from demo.script import CLOSING, SCENES
from server.embedded import running_server

URL = "http://127.0.0.1:54321/mcp"
GET = Exchange("get", ALICE, "agents/get", Result(("agent",)), {"name": "a"})
LIST = Exchange("list", BOB, "agents/list", Result(("agents",)))
SCENE = Scene(3, "A scene", "a lesson", "A note.", (GET, LIST), (), ())


def request(caller: str, number: int, method: str, **headers: str) -> RequestFrame:
    message: dict[str, Any] = {"jsonrpc": "2.0", "id": number, "method": method, "params": {}}
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return RequestFrame(9, caller, "POST", URL, {"authorization": "Bearer ***", "host": "x", **named}, message, 12.5)


def answer(asked: RequestFrame, result: Mapping[str, Any], **headers: str) -> AnswerFrame:
    message = {"jsonrpc": "2.0", "id": (asked.message or {})["id"], "result": result}
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return AnswerFrame(asked, 200, {"date": "Mon", "content-length": "9", **named}, message, message, 3.25, 12.6)


def events_of(step: Step, *frames: Any) -> list[Event]:
    return [StepStarted(step, False), *(Travelled(frame, seen(frame)) for frame in frames)]


def recorded(*events: Event, wire: Wire = "session") -> Recording:
    recorder = Recorder(wire, URL)
    for event in events:
        recorder.take(event)
    return recorder.recording()


def test_ids_count_on_over_all_connections_also_where_they_are_echoed() -> None:
    first, second = request("Alice", 41, "agents/get"), request("Bob", 1, "agents/list")
    made = recorded(
        SceneStarted(SCENE, 1),
        *events_of(GET, first, answer(first, {"agent": {}})),
        *events_of(LIST, second, answer(second, {"agents": []})),
    )
    exchanges = [exchange for step in made.scene(3).steps for exchange in step.exchanges]
    assert [(e.request.message or {})["id"] for e in exchanges] == [1, 2]
    assert [e.answer.body["id"] for e in exchanges] == [1, 2]


def test_a_subscription_id_is_renumbered_with_the_request_that_it_names() -> None:
    other, listening = request("Alice", 7, "agents/get"), request("Alice", 8, "subscriptions/listen")
    news = {"method": LIST_CHANGED, "params": {"_meta": {SUBSCRIPTION_ID_META_KEY: 8}}}
    made = recorded(
        SceneStarted(SCENE, 1),
        *events_of(GET, other, answer(other, {}), listening),
        *events_of(Hear("hear", ALICE, LIST_CHANGED), NotificationFrame(listening, news, 1.0, 1.0)),
    )
    assert made.scene(3).step("hear").notifications[0]["params"]["_meta"] == {SUBSCRIPTION_ID_META_KEY: 2}


def test_sessions_addresses_and_unneeded_headers_are_made_even() -> None:
    opening = request("Alice", 1, "initialize")
    told = answer(
        opening, {"text": f"see {URL}"}, mcp_session_id="5f3e", www_authenticate=f'Bearer resource_metadata="{URL}"'
    )
    later = request("Alice stepped up", 2, "agents/get", mcp_session_id="5f3e")
    made = recorded(SceneStarted(SCENE, 1), *events_of(GET, opening, told, later, answer(later, {})))

    first, second = made.scene(3).step("get").exchanges
    assert first.request.headers == {"authorization": "Bearer ***"}
    assert first.answer.headers == {
        "mcp-session-id": "<Alice's session>",
        "www-authenticate": 'Bearer resource_metadata="http://127.0.0.1:8080/mcp"',
    }
    assert first.answer.body["result"] == {"text": "see http://127.0.0.1:8080/mcp"}
    assert second.request.headers["mcp-session-id"] == "<Alice's session>"
    assert (second.request.path, "54321" in made.to_json(), "5f3e" in made.to_json()) == ("/mcp", False, False)


def test_an_answer_belongs_to_its_request_even_when_another_overtakes_it() -> None:
    slow, fast = request("Alice", 1, "agents/get"), request("Alice", 2, "agents/list")
    made = recorded(
        SceneStarted(SCENE, 1), *events_of(GET, slow, fast, answer(fast, {"fast": 1}), answer(slow, {"slow": 1}))
    )
    assert [e.answer.body["result"] for e in made.scene(3).step("get").exchanges] == [{"slow": 1}, {"fast": 1}]


def test_a_scene_that_starts_again_is_recorded_once_and_what_follows_the_scenes_is_the_closing() -> None:
    first, second, last = (request("Alice", number, "agents/get") for number in (1, 2, 3))
    made = recorded(
        SceneStarted(SCENE, 1),
        *events_of(GET, first, answer(first, {"try": 1})),
        SceneStarted(SCENE, 2),
        *events_of(GET, second, answer(second, {"try": 2})),
        Decided("choice", "the small one"),
        SceneEnded(SCENE, 1, 0),
        *events_of(Leave(ALICE, "leave"), last, answer(last, {})),
    )
    assert [exchange.answer.body["result"] for exchange in made.scene(3).step("get").exchanges] == [{"try": 2}]
    assert made.scene(3).step("get").decided == "the small one"
    assert [step.key for step in made.closing] == ["leave"]


def test_a_walk_with_a_failed_check_makes_no_recording() -> None:
    recorder = Recorder("session", URL)
    recorder.take(SceneStarted(SCENE, 1))
    with pytest.raises(UnusableWalk, match="scene 3, It holds: expected 1, got 2"):
        recorder.take(Checked(SCENE, "It holds", Finding(False, "1", "2")))


def test_a_request_without_an_answer_makes_no_recording() -> None:
    asked = request("Alice", 1, "agents/get")
    lost = FailureFrame(asked, TimedOut("agents/get", 2.0), 1.0, 1.0)
    with pytest.raises(UnusableWalk, match="no answer to agents/get"):
        recorded(SceneStarted(SCENE, 1), *events_of(GET, asked, lost))


@pytest.mark.parametrize("text", ["", "[]", '{"wire": "carrier pigeon", "scenes": []}', '{"wire": "session"}'])
def test_a_text_that_is_no_recording_is_refused_with_the_next_move(text: str) -> None:
    with pytest.raises(UnusableRecording, match="run `just readme`"):
        Recording.from_json(text)


# A real walk


@pytest.fixture(scope="module", params=["session", "stateless"])
def walk(request: pytest.FixtureRequest) -> tuple[Recording, Recording]:
    """The script, recorded twice on one wire, each time from a server of its own."""
    made = []
    for _ in range(2):
        with running_server() as server:
            made.append(asyncio.run(record(server.url, request.param)))
    return made[0], made[1]


def test_two_walks_make_the_same_recording(walk: tuple[Recording, Recording]) -> None:
    assert walk[0].to_json() == walk[1].to_json()


def test_a_recording_comes_back_from_its_json_unchanged(walk: tuple[Recording, Recording]) -> None:
    assert Recording.from_json(walk[0].to_json()) == walk[0]


def test_a_recording_holds_no_token(walk: tuple[Recording, Recording]) -> None:
    text = walk[0].to_json()
    assert [caller.token for caller in CAST if caller.token in text] == []
    assert text.count('"authorization": "Bearer ***"') == text.count('"http_method"') > 0


def test_a_recording_tells_what_the_script_tells(walk: tuple[Recording, Recording]) -> None:
    require_scripted(walk[0], SCENES, CLOSING)
    frames = frames_of(walk[0].scene(6).step("get-deploy-refused"))
    assert [seen(frame).label.split(",")[0] for frame in frames] == ['agents/get {name: "deploy-agent"}', "HTTP 403"]


def test_a_script_that_asks_for_something_else_refuses_the_old_recording(walk: tuple[Recording, Recording]) -> None:
    changed = replace(SCENES[3], steps=tuple(_with_other_argument(step) for step in SCENES[3].steps))
    with pytest.raises(UnusableRecording, match=r"'run-log'.*the script says.*just readme"):
        require_scripted(walk[0], (*SCENES[:3], changed), ())


def test_a_script_with_another_step_refuses_the_old_recording(walk: tuple[Recording, Recording]) -> None:
    longer = replace(SCENES[1], steps=(*SCENES[1].steps, LIST))
    with pytest.raises(UnusableRecording, match="no step 'list'"):
        require_scripted(walk[0], (SCENES[0], longer), ())
    answered_otherwise = replace(SCENES[1], steps=(replace(LIST, key="list-alice", caller=ALICE),))
    with pytest.raises(UnusableRecording, match=r"expected .*\'\{agents\}\'"):
        require_scripted(walk[0], (SCENES[0], answered_otherwise), ())


def _with_other_argument(step: Step) -> Step:
    if isinstance(step, Exchange) and step.key == "run-log":
        return replace(step, params={"name": "get_pipeline_log", "arguments": {"id": "another"}})
    return step


def test_json_text_is_stable_and_ends_with_a_line_break(walk: tuple[Recording, Recording]) -> None:
    text = walk[0].to_json()
    assert text.endswith("}\n")
    assert json.dumps(json.loads(text), indent=2, ensure_ascii=False) + "\n" == text
