"""The roster: definitions, revisions, views, pages."""

import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent_discovery.server import Access, AgentDef, AgentRegistry, InvalidCursor, holders_of

NOBODY: frozenset[str] = frozenset()
SECRET = Access(visible_to=holders_of("secret"))
INSIDER = frozenset({"secret"})


def _names(page: dict[str, Any]) -> list[str]:
    return [card["name"] for card in page["agents"]]


def _walk(registry: AgentRegistry, scopes: frozenset[str] = NOBODY) -> list[str]:
    names: list[str] = []
    cursor = None
    while True:
        page = registry.view(scopes).page(cursor)
        names += _names(page)
        cursor = page.get("nextCursor")
        if cursor is None:
            return names
        assert page["agents"], "a page with a next page must not be empty"


@pytest.mark.parametrize("name", ["", " ", "two words", "tab\t", "new\nline", "nul\0", "x" * 129, "\ud800", 7, None])
def test_a_name_that_cannot_be_handed_around_is_refused(name: Any) -> None:
    with pytest.raises(ValueError, match="1 to 128 visible characters"):
        AgentDef(name=name)


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"tools": "one"}, "tuple of texts"),
        ({"capabilities": "one"}, "tuple of texts"),
        ({"tools": ("a", "a")}, "'a' twice"),
        ({"capabilities": ("",)}, "non-empty"),
        ({"tools": (3,)}, "got 3"),
        ({"tools": ("a",), "capabilities": ("a",)}, "labels, not tool names"),
        ({"description": 4}, "description must be a text"),
        ({"model_routing_hint": "small"}, "ModelRoutingHint"),
        ({"access": "billing:read"}, "must be an Access"),
    ],
)
def test_a_definition_that_breaks_a_rule_says_which(fields: dict[str, Any], text: str) -> None:
    with pytest.raises(ValueError, match=text) as caught:
        AgentDef(name="agent", **fields)
    assert "'agent'" in str(caught.value)


def test_lists_of_a_definition_become_tuples() -> None:
    assert AgentDef(name="a", tools=["x"]) == AgentDef(name="a", tools=("x",))


def test_a_card_carries_what_one_routes_by_and_nothing_else() -> None:
    registry = AgentRegistry([AgentDef(name="a", description="d", capabilities=("c",), instructions="i", tools=("t",))])
    assert registry.view(NOBODY).page() == {
        "agents": [{"name": "a", "description": "d", "capabilities": ["c"]}],
        "ttlMs": 60_000,
        "cacheScope": "private",
    }


def test_an_empty_roster_is_one_empty_page() -> None:
    assert AgentRegistry().view(NOBODY).page() == {"agents": [], "ttlMs": 60_000, "cacheScope": "private"}


def test_a_name_is_registered_once() -> None:
    registry = AgentRegistry([AgentDef(name="a")])
    with pytest.raises(ValueError, match=r"use replace\(\)"):
        registry.add(AgentDef(name="a"))
    with pytest.raises(ValueError, match=r"use add\(\)"):
        registry.replace(AgentDef(name="b"))


def test_an_agent_cannot_name_a_tool_that_is_known_not_to_exist() -> None:
    registry = AgentRegistry(tools=["real"])
    with pytest.raises(ValueError, match=r"'unreal'; the tools are real"):
        registry.add(AgentDef(name="a", tools=("real", "unreal")))
    assert registry.view(NOBODY).names == ()
    with pytest.raises(ValueError, match="there is no tool 'unreal'"):
        registry.guard_tool("unreal", SECRET)


def test_a_live_catalogue_is_asked_each_time() -> None:
    tools = {"a"}
    registry = AgentRegistry(tools=lambda: tools)
    registry.add(AgentDef(name="agent", tools=("a",)))
    tools.clear()
    assert registry.missing_tools(AgentDef(name="agent", tools=("a",))) == ("a",)


@pytest.mark.parametrize(
    "options",
    [{"ttl_ms": -1}, {"ttl_ms": True}, {"page_size": 0}, {"tools": "abc"}, {"tools": [1]}, {"cursor_key": b"x"}],
)
def test_options_out_of_range_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="got"):
        AgentRegistry(**options)


def test_only_a_change_that_changes_something_moves_the_revision() -> None:
    registry = AgentRegistry([AgentDef(name="a", access=SECRET)], tools=["t"])
    heard: list[int] = []
    registry.on_change(lambda: heard.append(registry.revision))
    before = registry.revision
    assert not registry.replace(AgentDef(name="a", access=Access(visible_to=holders_of("secret"))))
    assert not registry.put(AgentDef(name="a", access=SECRET))
    assert not registry.remove("never-there")
    registry.guard_tool("t", Access())
    assert registry.revision == before
    assert heard == []
    assert registry.put(AgentDef(name="b"))
    assert registry.remove("a")
    registry.guard_tool("t", SECRET)
    assert heard == [before + 1, before + 2, before + 3]


def test_a_listener_that_raises_hurts_neither_the_change_nor_the_others(caplog: pytest.LogCaptureFixture) -> None:
    registry = AgentRegistry()
    heard: list[str] = []

    def broken() -> None:
        raise RuntimeError("listener's own fault")

    registry.on_change(broken)
    stop = registry.on_change(lambda: heard.append("told"))
    registry.add(AgentDef(name="a"))
    stop()
    stop()
    registry.add(AgentDef(name="b"))
    assert heard == ["told"]
    assert registry.view(NOBODY).names == ("a", "b")
    assert "listener to roster changes raised" in caplog.text


def test_replacing_keeps_the_place_and_adding_again_takes_the_end() -> None:
    registry = AgentRegistry([AgentDef(name="a"), AgentDef(name="b")])
    registry.replace(AgentDef(name="a", description="new"))
    assert registry.view(NOBODY).names == ("a", "b")
    registry.remove("a")
    registry.add(AgentDef(name="a"))
    assert registry.view(NOBODY).names == ("b", "a")


def test_a_view_is_built_once_for_a_revision_and_a_set_of_scopes() -> None:
    asked: list[frozenset[str]] = []

    def rule(scopes: frozenset[str]) -> bool:
        asked.append(scopes)
        return True

    registry = AgentRegistry([AgentDef(name="a", access=Access(visible_to=rule))])
    assert registry.view(NOBODY) is registry.view(NOBODY)
    assert registry.view(NOBODY).page() is registry.view(NOBODY).page()
    assert asked == [NOBODY]
    registry.add(AgentDef(name="b"))
    registry.view(NOBODY)
    assert asked == [NOBODY, NOBODY]


def test_views_kept_are_bounded() -> None:
    registry = AgentRegistry([AgentDef(name="a")])
    first = registry.view(NOBODY)
    for number in range(300):
        registry.view(frozenset({str(number)}))
    assert registry.view(NOBODY) is not first


def test_hidden_and_unknown_are_the_same_miss() -> None:
    view = AgentRegistry([AgentDef(name="hidden", access=SECRET), AgentDef(name="open")]).view(NOBODY)
    assert view.agents.get("hidden") is view.agents.get("never-there") is None
    assert view.names == ("open",)


def test_the_fingerprint_moves_only_with_the_cards_that_these_callers_see() -> None:
    registry = AgentRegistry([AgentDef(name="a")])
    outside, inside = registry.view(NOBODY).fingerprint, registry.view(INSIDER).fingerprint
    registry.add(AgentDef(name="hidden", access=SECRET))
    assert registry.view(NOBODY).fingerprint == outside
    assert registry.view(INSIDER).fingerprint != inside
    registry.replace(AgentDef(name="a", instructions="not on the card"))
    assert registry.view(NOBODY).fingerprint == outside
    registry.replace(AgentDef(name="a", description="on the card"))
    assert registry.view(NOBODY).fingerprint != outside


@settings(max_examples=60, deadline=None)
@given(
    hidden=st.lists(st.booleans(), max_size=12),
    page_size=st.integers(1, 5),
    removed=st.sets(st.integers(0, 11)),
    insider=st.booleans(),
)
def test_pages_add_up_to_what_is_visible_while_agents_go(
    hidden: list[bool], page_size: int, removed: set[int], insider: bool
) -> None:
    registry = AgentRegistry(page_size=page_size)
    for number, secret in enumerate(hidden):
        registry.add(AgentDef(name=str(number), access=SECRET if secret else Access()))
    scopes = INSIDER if insider else NOBODY
    visible = [str(number) for number, secret in enumerate(hidden) if insider or not secret]
    assert _walk(registry, scopes) == visible

    first = registry.view(scopes).page()
    for number in removed:
        registry.remove(str(number))
    rest: list[str] = []
    cursor = first.get("nextCursor")
    while cursor is not None:
        page = registry.view(scopes).page(cursor)
        rest += _names(page)
        cursor = page.get("nextCursor")
    assert rest == [name for name in visible[page_size:] if int(name) not in removed]


@settings(max_examples=200, deadline=None)
@given(
    st.one_of(
        st.text(max_size=40), st.binary(max_size=32), st.integers(), st.text("AZaz09-_=", min_size=32, max_size=32)
    )
)
def test_a_cursor_that_is_not_ours_is_refused_whatever_it_is(cursor: Any) -> None:
    view = AgentRegistry([AgentDef(name=str(n)) for n in range(3)], page_size=1).view(NOBODY)
    with pytest.raises(InvalidCursor):
        view.page(cursor)


def test_an_altered_or_foreign_cursor_is_refused() -> None:
    agents = [AgentDef(name=str(n)) for n in range(3)]
    view = AgentRegistry(agents, page_size=1).view(NOBODY)
    other = AgentRegistry(agents, page_size=1).view(NOBODY)
    cursor = view.page()["nextCursor"]
    for place, char in enumerate(cursor):
        altered = cursor[:place] + ("A" if char != "A" else "B") + cursor[place + 1 :]
        with pytest.raises(InvalidCursor):
            view.page(altered)
    with pytest.raises(InvalidCursor):
        other.page(cursor)


def test_a_shared_key_makes_cursors_good_in_another_process() -> None:
    key = bytes(range(32))
    agents = [AgentDef(name=str(n)) for n in range(3)]
    first = AgentRegistry(agents, page_size=1, cursor_key=key).view(NOBODY)
    second = AgentRegistry(agents, page_size=1, cursor_key=key).view(NOBODY)
    assert _names(second.page(first.page()["nextCursor"])) == ["1"]


def test_cursors_say_nothing_about_what_is_hidden_between_pages() -> None:
    def cursor(hidden: int) -> str:
        registry = AgentRegistry(page_size=1)
        registry.add(AgentDef(name="first"))
        for number in range(hidden):
            registry.add(AgentDef(name=f"hidden-{number}", access=SECRET))
        registry.add(AgentDef(name="last"))
        return str(registry.view(NOBODY).page()["nextCursor"])

    assert len(cursor(0)) == len(cursor(9)) == 32
    assert (
        "nextCursor"
        not in AgentRegistry([AgentDef(name="a"), AgentDef(name="hidden", access=SECRET)], page_size=1)
        .view(NOBODY)
        .page()
    )


def test_ten_thousand_agents_are_built_and_paged_in_well_under_a_second() -> None:
    agents = [AgentDef(name=f"agent-{n}", capabilities=("a", "b")) for n in range(10_000)]
    begin = time.process_time()
    registry = AgentRegistry(agents)
    registry.view(NOBODY).page()
    assert time.process_time() - begin < 1.0
    begin = time.process_time()
    for _ in range(1_000):
        registry.view(NOBODY).page()
        registry.view(NOBODY).agents.get("agent-9999")
    assert time.process_time() - begin < 0.2
