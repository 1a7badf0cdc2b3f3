"""The texts that name a next move."""

import pytest

from agent_discovery.server import signposts


def test_an_unknown_agent_points_at_the_list_and_at_what_can_be_seen() -> None:
    text = signposts.agent_not_found("ghost", ["pipeline-agent", "deploy-agent"])
    assert text == (
        "There is no agent 'ghost'. Call agents/list and use a name from there; "
        "this caller can see: pipeline-agent, deploy-agent."
    )


def test_long_rosters_are_cut_short_and_counted() -> None:
    names = [f"a{n}" for n in range(25)]
    text = signposts.agent_not_found("ghost", names)
    assert "a19 and 5 more." in text
    assert "a20" not in text


def test_an_empty_roster_is_said_to_be_empty() -> None:
    assert signposts.unknown_tool("ghost", []).endswith("this caller can see: none.")


@pytest.mark.parametrize("name", ["\ud800", "new\nline", "\x1b[31m", "\u202e"])
def test_an_echoed_name_cannot_break_a_line_a_terminal_or_an_encoding(name: str) -> None:
    text = signposts.agent_not_found(name, [])
    assert text.encode("utf-8")
    assert text.isprintable()


def test_an_echoed_name_is_bounded() -> None:
    assert len(signposts.unknown_tool("x" * 100_000, [])) < 300


def test_a_client_with_the_extension_is_led_to_the_agents() -> None:
    text = signposts.instructions_for(declared=True, tools=None)
    assert text.index("agents/list") < text.index("agents/get")


@pytest.mark.parametrize("tools", [None, ["one", "two"]])
def test_a_client_without_the_extension_hears_of_no_method_it_cannot_call(tools: list[str] | None) -> None:
    text = signposts.instructions_for(declared=False, tools=tools)
    assert "agents/" not in text
    assert "tools/list" in text
    assert tools is None or "one, two" in text


def test_the_servers_own_instructions_come_first() -> None:
    assert signposts.instructions_for(declared=True, tools=None, own="Be kind.").startswith("Be kind.\n\n")
