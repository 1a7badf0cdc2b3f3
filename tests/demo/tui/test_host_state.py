"""What the host panel says is what the host has: who acts, what is kept, what is open, what a context would cost."""

import pytest

from demo.cast import ALICE
from demo.events import Event
from demo.script import SCENES
from demo.tui.host_state import HostState, Kept, cost_of, gather, state_texts
from demo.tui.meter import context_cost
from tests.demo.tui.frames import answer, request
from tests.demo.tui.test_lifelines import travelled
from tests.demo.tui.test_player import WIRES, Walk

CARD = {"name": "pipeline-agent", "description": "Looks after pipelines"}
DETAILS = {"agent": CARD, "instructions": "Be careful", "tools": [{"name": "list_failed_pipelines"}]}
TOOLS = {"tools": [{"name": "list_failed_pipelines"}, {"name": "other"}]}


def exchanged(method: str, result: object, *, caller: str = "Alice", name: str = "pipeline-agent") -> list[Event]:
    sent = request(method, {"name": name}, caller=caller)
    return [travelled(sent), travelled(answer(sent, result))]


def test_before_anything_is_played_the_host_has_nothing() -> None:
    nothing = HostState(None, (), (), None)
    assert state_texts(nothing) == [
        "acting: nobody yet",
        "connected: not yet",
        "streams: none open",
        "cache: empty",
    ]


def test_each_kept_entry_is_named_with_the_seconds_left() -> None:
    state = HostState(ALICE, ("alice: session wire, protocol 1",), (Kept("Alice", "roster", 41.6),), "Alice")
    assert state_texts(state) == [
        "acting: Alice, scopes ops:read",
        "connected: alice: session wire, protocol 1",
        "streams: Alice listens for changes",
        "cache:",
        "  Alice: roster, 42 s left",
    ]


def test_what_a_model_would_be_given_is_counted_for_one_user() -> None:
    events = [
        *exchanged("tools/list", TOOLS),
        *exchanged("agents/list", {"agents": [CARD]}),
        *exchanged("agents/get", DETAILS),
        *exchanged("agents/get", DETAILS, caller="Alice stepped up", name="deploy-agent"),
    ]
    bobs = exchanged("agents/list", {"agents": [CARD] * 9}, caller="Bob")
    assert cost_of([*events, *bobs]) == context_cost(TOOLS, [CARD], [DETAILS, DETAILS])
    assert cost_of(bobs) is None


@pytest.mark.parametrize("result", [{"agents": 7}, {"agents": ["[/", None]}, {"tools": 3}, [], "text", 5])
def test_an_answer_of_any_shape_is_counted_without_a_fault(result: object) -> None:
    for method in ("agents/list", "agents/get", "tools/list"):
        cost = cost_of(exchanged(method, result))
        assert cost is None or cost.discovered >= 0


@pytest.mark.parametrize("wire", WIRES)
async def test_each_caller_has_entries_of_their_own(demo_server: str, wire: str) -> None:
    walk = Walk(demo_server, "session" if wire == "session" else "stateless")
    assert gather(walk.player) == HostState(None, (), (), None)
    for index in (1, 4, 5):
        walk.player.jump(index)
        await walk.to_the_end_of_the_scene()
    state = gather(walk.player)
    assert {(kept.caller, kept.what) for kept in state.kept} == {
        ("Alice", "roster"),
        ("Alice stepped up", "deploy-agent"),
        ("Bob", "roster"),
    }
    assert all(0 < kept.seconds <= 60 for kept in state.kept)
    assert state.acting is not None
    assert state.acting.name == "Alice stepped up"
    assert [line.split(":")[0] for line in state.connections] == ["alice", "bob"]
    assert state.listening is None
    assert len(SCENES) == len(walk.player.runs)
    await walk.player.aclose()
