"""The shapes that both sides share."""

import pytest

from agent_discovery.shapes import AgentCard, AgentDetails, AgentPage, ModelRoutingHint
from agent_discovery.wire import EXTENSION_ID, extension_settings


def test_a_roster_page_travels_in_the_drafts_shape() -> None:
    card = AgentCard(name="pipeline-agent", description="Finds out why.", capabilities=("ci",))
    page = AgentPage(agents=(card,), next_cursor="c", ttl_ms=60_000, cache_scope="private")
    assert page.to_wire() == {
        "agents": [{"name": "pipeline-agent", "description": "Finds out why.", "capabilities": ["ci"]}],
        "nextCursor": "c",
        "ttlMs": 60_000,
        "cacheScope": "private",
    }


def test_members_without_a_value_do_not_travel() -> None:
    assert AgentCard(name="a").to_wire() == {"name": "a", "capabilities": []}


def test_details_hand_on_a_tools_schema_with_its_nulls() -> None:
    tool = {"name": "t", "inputSchema": {"type": "object", "properties": {"x": {"default": None}}}}
    details = AgentDetails(
        agent=AgentCard(name="a"),
        model_routing_hint=ModelRoutingHint(role="small"),
        tools=(tool,),
        ttl_ms=0,
        cache_scope="private",
    )
    assert details.to_wire() == {
        "agent": {"name": "a", "capabilities": []},
        "modelRoutingHint": {"role": "small", "vision": False},
        "tools": [tool],
        "ttlMs": 0,
        "cacheScope": "private",
    }


@pytest.mark.parametrize(
    ("capabilities", "settings"),
    [
        ({"extensions": {EXTENSION_ID: {"listChanged": True}}}, {"listChanged": True}),
        ({"extensions": {EXTENSION_ID: {}}}, {}),
        ({"extensions": {EXTENSION_ID: None}}, {}),
        ({"extensions": {"other/extension": {}}}, None),
        ({"extensions": []}, None),
        ({}, None),
        (None, None),
    ],
)
def test_a_peer_has_declared_the_extension_or_it_has_not(capabilities: object, settings: object) -> None:
    assert extension_settings(capabilities) == settings
