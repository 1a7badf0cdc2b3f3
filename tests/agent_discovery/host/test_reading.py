"""What counts as a well-formed roster and well-formed details, and what is forgiven."""

from collections.abc import Mapping
from typing import Any

import pytest

from agent_discovery.host import AgentCache, ServerFault
from agent_discovery.host.reading import MAX_INSTRUCTIONS, MAX_PAGES
from agent_discovery.shapes import ModelRoutingHint
from tests.agent_discovery.host.fakes import Backend, FakeConnection, card, details, page


def answering(*answers: Any) -> Backend:
    """A server that gives these answers in order, the last one for ever."""
    left = list(answers)

    async def respond(_method: str, _params: Mapping[str, Any]) -> dict[str, Any]:
        answer: dict[str, Any] = left.pop(0) if len(left) > 1 else left[0]
        return answer

    return Backend(respond)


async def test_pages_are_asked_for_with_the_cursor_as_it_came() -> None:
    backend = answering(page("a", cursor="x y/é"), page("b", cursor=""), page("c"))
    roster = await AgentCache().roster(FakeConnection(backend))
    assert roster.names == ("a", "b", "c")
    assert [params for _, _, params in backend.asked] == [{}, {"cursor": "x y/é"}, {"cursor": ""}]


async def test_cursors_that_go_round_in_a_circle_are_the_servers_fault() -> None:
    backend = answering(page("a", cursor="1"), page("b", cursor="2"), page("c", cursor="1"))
    with pytest.raises(ServerFault, match="circle"):
        await AgentCache().roster(FakeConnection(backend))
    assert len(backend.asked) == 3


async def test_pages_without_end_are_the_servers_fault() -> None:
    backend = Backend(lambda _method, params: _next_page(int(params.get("cursor", 0))))
    with pytest.raises(ServerFault, match="more than 1000 pages"):
        await AgentCache().roster(FakeConnection(backend))
    assert len(backend.asked) == MAX_PAGES


async def _next_page(number: int) -> dict[str, Any]:
    return page(f"agent-{number}", cursor=str(number + 1))


async def test_a_name_given_twice_is_the_servers_fault_also_across_pages() -> None:
    with pytest.raises(ServerFault, match="'a' twice"):
        await AgentCache().roster(FakeConnection(answering(page("a", cursor="1"), page("b", "a"))))


@pytest.mark.parametrize(
    "result",
    [
        {},
        {"agents": None},
        {"agents": {}},
        {"agents": [{}]},
        {"agents": ["a"]},
        {"agents": [{"name": ""}]},
        {"agents": [{"name": 1}]},
        {"agents": [{"name": "a", "capabilities": "ci"}]},
        {"agents": [{"name": None}]},
        {"agents": [[]]},
        {"agents": [None]},
        {"agents": [{"description": "has no name"}]},
        {"agents": [{"name": "a", "capabilities": {"ci": True}}]},
        {"agents": [{"name": "a", "capabilities": [1]}]},
        {"agents": [{"name": "a", "capabilities": None}]},
        {"agents": [{"name": "a", "description": ["x"]}]},
        {"agents": [], "nextCursor": 7},
        {"agents": [], "nextCursor": {}},
    ],
)
async def test_a_malformed_page_is_the_servers_fault(result: dict[str, Any]) -> None:
    with pytest.raises(ServerFault, match="agents/list is malformed"):
        await AgentCache().roster(FakeConnection(answering(result)))


@pytest.mark.parametrize(
    "change",
    [{"agent": None}, {"agent": {}}, {"tools": None}, {"tools": ["x"]}, {"tools": [{}]}, {"instructions": 1}],
)
async def test_malformed_details_are_the_servers_fault(change: dict[str, Any]) -> None:
    with pytest.raises(ServerFault):
        await AgentCache().agent(FakeConnection(answering({**details("a"), **change})), "a")


@pytest.mark.parametrize("name", ["a\x1b[2J", "a\nb", "a\0", "\u202eevil", "a\u2028b", "n" * 257])
async def test_a_name_that_does_not_print_or_has_no_end_is_the_servers_fault_and_shown_escaped(name: str) -> None:
    with pytest.raises(ServerFault, match="the server is at fault: agents/list has an agent named") as caught:
        await AgentCache().roster(FakeConnection(answering(page("fine", name))))
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize("name", ["pipeline agent", "Größe", "n" * 256, "数据/分析"])
async def test_a_name_of_any_script_is_fine(name: str) -> None:
    assert (await AgentCache().roster(FakeConnection(answering(page(name))))).names == (name,)


async def test_a_roster_with_one_bad_card_is_refused_whole_and_nothing_of_it_is_kept() -> None:
    cache = AgentCache()
    connection = FakeConnection(answering({"agents": [card("a"), {"name": 1}], "ttlMs": 60_000}, page("a", "b")))
    with pytest.raises(ServerFault, match=r"agents\.1\.name"):
        await cache.roster(connection)
    assert cache.peek_roster(connection) is None
    assert (await cache.roster(connection)).names == ("a", "b")


@pytest.mark.parametrize("ttl", ["60000", None, True, 1.5, -1, [], {}])
async def test_a_time_to_live_that_is_none_means_do_not_keep(ttl: object) -> None:
    cache = AgentCache()
    backend = answering(page("a", ttl=ttl))
    connection = FakeConnection(backend)
    assert [(await cache.roster(connection)).ttl_ms for _ in range(2)] == [0, 0]
    assert len(backend.asked) == 2


async def test_a_time_to_live_beyond_all_measure_is_bounded() -> None:
    roster = await AgentCache().roster(FakeConnection(answering(page("a", ttl=10**400))))
    assert roster.ttl_ms == 2**53


async def test_instructions_without_measure_are_the_servers_fault() -> None:
    fine = {**details("a"), "instructions": "x" * MAX_INSTRUCTIONS}
    assert (await AgentCache().agent(FakeConnection(answering(fine)), "a")).instructions == fine["instructions"]
    huge = {**details("a"), "instructions": "x" * 10_000_000}
    with pytest.raises(ServerFault, match="instructions of agent 'a' are 10000000 characters") as caught:
        await AgentCache().agent(FakeConnection(answering(huge)), "a")
    assert len(str(caught.value)) < 200


async def test_a_tool_given_twice_or_without_a_schema_is_the_servers_fault() -> None:
    tool = {"name": "deploy", "inputSchema": {"type": "object"}}
    with pytest.raises(ServerFault, match="agent 'a' has tool 'deploy' twice"):
        await AgentCache().agent(FakeConnection(answering({**details("a"), "tools": [tool, tool]})), "a")
    with pytest.raises(ServerFault, match="tool 'deploy' of agent 'a' has no inputSchema"):
        await AgentCache().agent(FakeConnection(answering({**details("a"), "tools": [{"name": "deploy"}]})), "a")


async def test_details_of_another_agent_are_the_servers_fault() -> None:
    with pytest.raises(ServerFault, match="asked for agent 'a', it sent 'b'"):
        await AgentCache().agent(FakeConnection(answering(details("b"))), "a")


@pytest.mark.parametrize(
    ("hint", "understood"),
    [
        ({"role": "small", "vision": True}, ModelRoutingHint(role="small", vision=True)),
        ({"vision": False}, ModelRoutingHint()),
        ({"role": "gigantic", "vision": False}, None),
        ({"role": "small", "vision": "yes"}, None),
        ("large", None),
        (None, None),
    ],
)
async def test_a_hint_that_is_not_understood_counts_as_absent(
    hint: object, understood: ModelRoutingHint | None
) -> None:
    answer = {**details("a"), "modelRoutingHint": hint}
    assert (await AgentCache().agent(FakeConnection(answering(answer)), "a")).model_routing_hint == understood


async def test_members_that_the_draft_does_not_know_are_no_fault() -> None:
    answer = {**page(), "agents": [{**card("a"), "icon": "x"}], "resultType": "complete", "_meta": {}}
    assert (await AgentCache().roster(FakeConnection(answering(answer)))).names == ("a",)
