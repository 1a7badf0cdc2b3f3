"""The two policies."""

import pytest

from agent_discovery.server import Access, caller_scopes, everyone, holders_of

READ = frozenset({"ops:read"})
BOTH = frozenset({"ops:read", "ops:deploy"})


def test_without_a_policy_everyone_sees_and_nobody_is_challenged() -> None:
    access = Access()
    assert access.sees(frozenset())
    assert access.missing(frozenset()) == ()


def test_holders_must_hold_every_scope_named() -> None:
    rule = holders_of("ops:read", "ops:deploy")
    assert rule(BOTH)
    assert not rule(READ)


def test_a_challenge_names_all_the_operation_takes_in_order() -> None:
    access = Access(challenge=("ops:deploy", "ops:read"))
    assert access.missing(READ) == ("ops:deploy", "ops:read")
    assert access.missing(BOTH) == ()


def test_equal_rules_are_equal_policies() -> None:
    assert Access(visible_to=holders_of("a")) == Access(visible_to=holders_of("a"))
    assert Access(visible_to=holders_of("a")) != Access(visible_to=everyone)


@pytest.mark.parametrize("scope", ["", "two words", 'quo"te', "back\\slash", "line\nbreak", "ümlaut"])
def test_what_is_no_scope_token_is_refused_where_it_is_written(scope: str) -> None:
    with pytest.raises(ValueError, match="RFC 6749"):
        Access(challenge=(scope,))
    with pytest.raises(ValueError, match="RFC 6749"):
        holders_of(scope)


def test_a_bare_text_is_no_tuple_of_scopes() -> None:
    with pytest.raises(ValueError, match=r"write \('ops:deploy',\)"):
        Access(challenge="ops:deploy")  # type: ignore[arg-type]


def test_a_rule_must_be_callable() -> None:
    with pytest.raises(ValueError, match="got 'billing:read'"):
        Access(visible_to="billing:read")  # type: ignore[arg-type]


def test_holders_of_nobody_in_particular_is_a_mistake() -> None:
    with pytest.raises(ValueError, match="everyone"):
        holders_of()


def test_without_authentication_a_caller_has_no_scopes() -> None:
    assert caller_scopes() == frozenset()
