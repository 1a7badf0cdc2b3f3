"""Versions on the server: what is advertised, what a declaration means, and who is refused."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp import MCPError

from agent_discovery.server import AgentDiscovery, AgentRegistry
from agent_discovery.server.negotiation import Declaration, ServedVersions, VersionNotSupported
from agent_discovery.versions import Version
from agent_discovery.wire import EXTENSION_ID

TWO = ("1.2.0", "2.0.0")


def _declaring(settings: Any) -> Declaration:
    return Declaration.within({"extensions": {EXTENSION_ID: settings}})


def test_without_versions_the_server_speaks_the_default_and_advertises_none() -> None:
    served = ServedVersions()
    assert served.advertised() == {}
    assert served.supported == (Version(1, 0, 0),)
    assert AgentDiscovery(AgentRegistry()).settings() == {"listChanged": True}


def test_what_was_configured_is_advertised_and_nothing_else() -> None:
    assert AgentDiscovery(AgentRegistry(), versions=TWO).settings() == {"listChanged": True, "versions": list(TWO)}
    floor = AgentDiscovery(AgentRegistry(), requires_protocol_version="2026-07-28")
    assert floor.settings() == {"listChanged": True, "requires": {"protocolVersion": "2026-07-28"}}
    assert ServedVersions([Version(3, 1)]).advertised() == {"versions": ["3.1.0"]}


@pytest.mark.parametrize(
    ("versions", "says"),
    [
        ((), "none"),
        ("1.0.0", r"write \('1.0.0',\)"),
        (("1.0",), "MAJOR.MINOR.PATCH, got '1.0'"),
        (("1.0.0", "1.2.0"), "one entry per major, got 1.0.0 and 1.2.0"),
        (("1.0.0", "1.0.0"), "one entry per major"),
        ((1,), "got 1"),
        ((None,), "got None"),
        (("v1.0.0",), "got 'v1.0.0'"),
    ],
)
def test_versions_that_cannot_stand_are_refused_at_construction(versions: Any, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        AgentDiscovery(AgentRegistry(), versions=versions)


@pytest.mark.parametrize("floor", ["", "latest", "2026-7-28", 20260728, "2026-07-28 "])
def test_a_floor_that_is_no_protocol_version_is_refused_at_construction(floor: Any) -> None:
    with pytest.raises(ValueError, match="requires_protocol_version must be"):
        AgentDiscovery(AgentRegistry(), requires_protocol_version=floor)


@pytest.mark.parametrize(
    ("settings", "served"),
    [
        ({}, "1.2.0"),
        ({"version": "1.0.0"}, "1.2.0"),
        ({"version": "1.2.0"}, "1.2.0"),
        ({"version": "1.999999999.7"}, "1.2.0"),
        ({"version": "2.0.0"}, "2.0.0"),
        ({"version": "2.4.9", "other": [1]}, "2.0.0"),
    ],
)
def test_majors_that_meet_are_served_whatever_minor_and_patch(settings: Any, served: str) -> None:
    assert str(ServedVersions(TWO).negotiate(_declaring(settings))) == served
    assert ServedVersions(TWO).meets(_declaring(settings))


@pytest.mark.parametrize("requested", ["0.9.0", "3.0.0"])
def test_a_foreign_major_is_told_what_it_asked_for_and_what_there_is(requested: str) -> None:
    with pytest.raises(VersionNotSupported) as caught:
        ServedVersions(TWO).negotiate(_declaring({"version": requested}))
    error = caught.value
    assert (error.code, error.requested, error.supported) == (
        -32005,
        Version.parse(requested),
        (Version(1, 2), Version(2)),
    )
    assert error.data == {"extensions": {EXTENSION_ID: {"requested": requested, "supported": list(TWO)}}}
    assert all(text in error.message for text in (requested, *TWO))


def test_no_version_means_the_first_which_a_server_of_later_majors_does_not_have() -> None:
    with pytest.raises(VersionNotSupported) as caught:
        ServedVersions(["2.0.0"]).negotiate(_declaring({}))
    assert caught.value.data["extensions"][EXTENSION_ID] == {"requested": "1.0.0", "supported": ["2.0.0"]}


@pytest.mark.parametrize("settings", [None, 3, "1.0.0", ["1.0.0"], True])
def test_settings_that_are_no_object_are_the_clients_error(settings: Any) -> None:
    with pytest.raises(MCPError, match="must be an object") as caught:
        ServedVersions().negotiate(_declaring(settings))
    assert caught.value.code == -32602


@pytest.mark.parametrize(
    "version", [None, 1, 1.0, True, "", "1", "1.0", "1.0.0.0", "01.0.0", "1.0.0-rc", [], {}, "\ud800"]
)
def test_a_malformed_version_is_the_clients_error_in_a_text_that_can_be_shown(version: Any) -> None:
    with pytest.raises(MCPError, match=r"MAJOR\.MINOR\.PATCH") as caught:
        ServedVersions().negotiate(_declaring({"version": version}))
    assert caught.value.code == -32602
    assert caught.value.message.isprintable()


@pytest.mark.parametrize(
    "capabilities", [None, 3, [], {}, {"extensions": None}, {"extensions": [EXTENSION_ID]}, {"extensions": {"x": {}}}]
)
def test_who_declares_nothing_is_asked_to_declare_it(capabilities: Any) -> None:
    declaration = Declaration.within(capabilities)
    assert not declaration.made
    with pytest.raises(MCPError) as caught:
        ServedVersions().negotiate(declaration)
    assert caught.value.code == -32021


_ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(_ANY_JSON | st.fixed_dictionaries({"version": _ANY_JSON}))
def test_whatever_is_declared_is_served_or_refused_with_a_short_printable_text(settings: Any) -> None:
    declaration, served = _declaring(settings), ServedVersions(TWO)
    if served.meets(declaration):
        assert served.negotiate(declaration) in served.supported
        return
    with pytest.raises(MCPError) as caught:
        served.negotiate(declaration)
    assert caught.value.code in (-32602, -32005)
    assert caught.value.message.isprintable()
    assert len(caught.value.message) < 500
