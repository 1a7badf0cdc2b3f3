"""The clause report against the demo server: all that can be shown holds, and what breaks a clause is caught by it."""

import itertools

import pytest

from agent_discovery.host import Credential, ExtensionMissing
from demo.clauses import CLAUSES, CallerRefused, Survey, clause_of
from demo.scene import Wire
from server.embedded import running_server
from server.settings import Settings
from tests.broken_servers import Answer, Asked, TamperedServer, running_tampered_server
from tests.demo.breaking import BREAKING, FAULTY, Breaking, advertised, cards, endless
from tests.demo.surveys import EVERYBODY, WIRES, broken, looked_at, outcomes, unexercised
from tests.demo.tampering import capabilities, on, withheld, without_extension

ALICE = EVERYBODY[:1]
_SESSION = "the session wire has no such thing; check it with --wire stateless"
NOT_EXERCISED: dict[Wire, dict[str, str]] = {
    "session": {
        "AD-14": _SESSION,
        "CO-4": _SESSION,
        "CO-9": _SESSION,
        "EV-7": "a session agrees on a protocol version first; check it with --wire stateless",
        "EV-10": "the server requires nothing above 2025-11-25, which is spoken here",
    },
    "stateless": {"EV-10": "the server requires nothing above 2026-07-28, which is spoken here"},
}


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("demo.clauses.probes_wire.QUIET_SECONDS", 0.05)


@pytest.mark.parametrize("wire", WIRES)
async def test_the_demo_server_holds_every_clause_that_this_wire_can_show(server: TamperedServer, wire: Wire) -> None:
    found = await looked_at(server.url, wire)
    assert unexercised(found) == NOT_EXERCISED[wire]
    assert not broken(found)
    assert not found.faults
    assert not found.failed
    assert not server.sessions
    assert all(verdict.shown for verdict in found.verdicts if verdict.outcome == "held")


@pytest.mark.parametrize("wire", WIRES)
async def test_pages_versions_and_streamed_answers_change_nothing_about_that(wire: Wire) -> None:
    settings = Settings(page_size=1, extension_versions=("1.2.0", "2.0.0"), json_response=False)
    with running_server(settings) as paged:
        found = await looked_at(paged.url, wire)
    assert unexercised(found) == NOT_EXERCISED[wire]
    assert not found.failed
    texts = {verdict.clause.id: verdict.text for verdict in found.verdicts}
    assert texts["AD-12"].startswith("2 pages, each reached by the cursor before")
    assert texts["EV-1"].startswith("advertised: 1.2.0, 2.0.0")


@pytest.mark.parametrize("wire", WIRES)
async def test_a_server_of_later_majors_is_spoken_to_in_its_own(wire: Wire) -> None:
    with running_server(Settings(extension_versions=("2.1.0",))) as later:
        found = await looked_at(later.url, wire)
    assert unexercised(found) == NOT_EXERCISED[wire]
    assert not found.failed


@pytest.mark.parametrize("wire", WIRES)
async def test_a_floor_that_refuses_nobody_is_seen(server: TamperedServer, wire: Wire) -> None:
    server.tamper = advertised({"listChanged": True, "requires": {"protocolVersion": "2099-01-01"}})
    assert outcomes(await looked_at(server.url, wire))["EV-10"] == "held"


@pytest.mark.parametrize("wire", WIRES)
async def test_one_token_leaves_what_takes_two_to_a_reason(server: TamperedServer, wire: Wire) -> None:
    found = await looked_at(server.url, wire, ALICE)
    reasons = unexercised(found)
    assert reasons.keys() - NOT_EXERCISED[wire].keys() == {"AD-6", "AD-9", "AD-20"}
    assert "--token" in reasons["AD-9"]
    assert "--hidden-name" in reasons["AD-20"]
    assert not found.failed
    assert [scene.number for scene in found.scenes if not scene.applies] == [5, 7]


@pytest.mark.parametrize("wire", WIRES)
async def test_a_hidden_name_can_be_given_where_there_is_no_second_caller(server: TamperedServer, wire: Wire) -> None:
    found = await looked_at(server.url, wire, ALICE, hidden_name="billing-agent")
    assert outcomes(found)["AD-20"] == "held"
    found = await looked_at(server.url, wire, ALICE, hidden_name="pipeline-agent")
    assert unexercised(found)["AD-20"].startswith("pipeline-agent is not hidden from Alice, who can open it")


async def test_a_token_that_is_refused_is_named_by_its_label(server: TamperedServer) -> None:
    strangers = (Credential("nobody-knows-this", "Eve"),)
    for credentials in (strangers, (*ALICE, *strangers)):
        with pytest.raises(CallerRefused, match="the server refuses the token of Eve") as caught:
            await looked_at(server.url, "session", credentials)
        assert "nobody-knows" not in str(caught.value)
    assert not server.sessions


@pytest.mark.parametrize("wire", WIRES)
async def test_a_server_without_the_extension_is_not_looked_at(server: TamperedServer, wire: Wire) -> None:
    server.tamper = capabilities(without_extension)
    with pytest.raises(ExtensionMissing):
        await looked_at(server.url, wire)


async def _found(server: TamperedServer, case: Breaking, wire: Wire) -> Survey:
    if case.settings is None:
        server.tamper = case.tamper
        return await looked_at(server.url, wire, timeout=case.timeout)
    with running_tampered_server(case.tamper, case.settings) as own:
        return await looked_at(own.url, wire, timeout=case.timeout)


@pytest.mark.parametrize(
    ("case", "wire"),
    [pytest.param(case, wire, id=f"{case.name}, {wire}") for case in BREAKING for wire in case.wires],
)
async def test_a_server_that_breaks_a_clause_is_caught_by_just_that(
    server: TamperedServer, case: Breaking, wire: Wire
) -> None:
    found = await _found(server, case, wire)
    assert broken(found) == set(case.clauses.split())
    assert bool(found.faults) == case.faults, found.faults
    demanded = [id for id in case.clauses.split() if clause_of(id).demands]
    assert found.failed == bool(demanded or case.faults)
    assert all(verdict.shown and verdict.text for verdict in found.verdicts if verdict.outcome == "broken")


def test_each_clause_that_a_run_shows_is_broken_by_some_server() -> None:
    """Together with the test above: nothing is held that could not be broken."""
    caught = {id for case in BREAKING for id in case.clauses.split()}
    assert caught == {entry.id for entry in CLAUSES if entry.proof is None}


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("name", FAULTY)
async def test_an_answer_that_cannot_be_used_is_a_fault_and_not_a_crash(
    server: TamperedServer, name: str, wire: Wire
) -> None:
    server.tamper, says = FAULTY[name]
    found = await looked_at(server.url, wire, timeout=0.5 if name.startswith("never") else 5.0)
    assert any(says in fault.text for fault in found.faults), found.faults
    assert not [fault for fault in found.faults if fault.text.startswith("looking at")]
    assert found.failed


async def test_pages_without_end_are_left_after_a_while(
    server: TamperedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("demo.clauses.ground.MOST_PAGES", 5)
    numbers = itertools.count()
    server.tamper = endless(lambda: f"cursor {next(numbers)}")
    found = await looked_at(server.url, "session")
    assert broken(found) == {"AD-12"}
    assert "agents/list still has a nextCursor after 5 pages" in next(v.text for v in found.verdicts if v.fails)


async def test_a_server_that_stops_answering_is_left_alone_after_a_few_tries(server: TamperedServer) -> None:
    opening = ("initialize", "notifications/initialized", "DELETE")
    server.tamper = lambda asked, answer: answer if asked.method in opening else None
    found = await looked_at(server.url, "session", ALICE, timeout=0.2)
    assert found.failed
    assert "the server had stopped answering" in unexercised(found)["CO-8"]


async def test_the_older_roster_shape_is_named_as_such(server: TamperedServer) -> None:
    server.tamper = cards(lambda given: [{"agentId": c["name"], "delegateTool": "delegate"} for c in given])
    found = await looked_at(server.url, "session")
    assert broken(found) == {"AD-5"}
    assert "this is the older roster shape, with agentId and delegateTool" in next(
        verdict.text for verdict in found.verdicts if verdict.fails
    )
    assert [scene.number for scene in found.scenes if scene.applies] == [1]


async def test_nothing_is_sent_that_changes_something(server: TamperedServer) -> None:
    """Reads, requests that are wrong on purpose, and calls of tools that say that they only read."""
    called: set[tuple[str, str]] = set()

    def noting(asked: Asked, answer: Answer) -> Answer:
        called.add((asked.method, asked.name if asked.method == "tools/call" else ""))
        return answer

    server.tamper = noting
    await looked_at(server.url, "stateless")
    assert ("tools/call", "list_failed_pipelines") in called
    allowed = {"agents/list", "agents/get", "tools/list", "server/discover", "subscriptions/listen"}
    others = {method for method, tool in called if not tool} - allowed
    assert {method for method in others if method.split("/")[0] not in ("agents", "nobody")} == set()
    assert {tool for _, tool in called if tool} == {"list_failed_pipelines"}


async def test_a_server_that_hangs_in_a_tool_breaks_that_it_can_be_called(server: TamperedServer) -> None:
    server.tamper = on("tools/call", withheld)
    assert broken(await looked_at(server.url, "stateless", timeout=1.0)) == {"AD-7"}
