"""Reading challenges, and stepping up."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_discovery.host import (
    BadRequest,
    Challenge,
    Connection,
    Credential,
    InsufficientScope,
    ServerFault,
    parse_challenges,
    step_up,
    step_up_scopes,
)
from tests.agent_discovery.host.fakes import Backend, FakeConnection

STEP_UP = 'Bearer error="insufficient_scope", scope="ops:deploy", resource_metadata="https://s/.well-known/x"'


def test_a_scope_challenge_is_read_field_by_field() -> None:
    (challenge,) = parse_challenges(STEP_UP)
    assert challenge.scheme == "Bearer"
    assert challenge.error == "insufficient_scope"
    assert challenge.scope == ("ops:deploy",)
    assert challenge.resource_metadata == "https://s/.well-known/x"
    assert challenge.error_description is None


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        ("", []),
        ("Negotiate", [("Negotiate", {}, None)]),
        ("Negotiate abc==", [("Negotiate", {}, "abc==")]),
        ("Basic dXNlcjpwYXNz, Bearer a=b", [("Basic", {}, "dXNlcjpwYXNz"), ("Bearer", {"a": "b"}, None)]),
        ('Basic realm="x", Bearer', [("Basic", {"realm": "x"}, None), ("Bearer", {}, None)]),
        ('bEARER Realm = "x" ,SCOPE="a b"', [("bEARER", {"realm": "x", "scope": "a b"}, None)]),
        ('Bearer a="x, Basic y", b=z', [("Bearer", {"a": "x, Basic y", "b": "z"}, None)]),
        (r'Bearer a="q\"uo\\te"', [("Bearer", {"a": r"q\"uo\te".replace(r"\"", '"')}, None)]),
        ('Bearer a="", b=1', [("Bearer", {"a": "", "b": "1"}, None)]),
        ("Bearer a=1, a=2", [("Bearer", {"a": "1"}, None)]),
        (', , Bearer realm="x",,', [("Bearer", {"realm": "x"}, None)]),
        ("Bearer url=https://x/y", [("Bearer", {"url": "https://x/y"}, None)]),
        ('Bearer @bad, scope="a"', [("Bearer", {"scope": "a"}, None)]),
        ('???, Bearer scope="a"', [("Bearer", {"scope": "a"}, None)]),
        ('Bearer scope="never closed', [("Bearer", {}, None)]),
    ],
)
def test_challenges_are_told_apart_as_rfc_9110_has_it(header: str, expected: list[tuple[Any, ...]]) -> None:
    assert [(c.scheme, dict(c.parameters), c.token68) for c in parse_challenges(header)] == expected


@given(st.text(max_size=200))
def test_no_header_makes_the_parser_raise(header: str) -> None:
    assert all(challenge.scheme for challenge in parse_challenges(header))


@given(st.text(alphabet='Bearscope=", \\\t\x80', max_size=80))
def test_no_near_miss_of_a_challenge_makes_the_parser_raise(header: str) -> None:
    assert all(challenge.scheme for challenge in parse_challenges(header))


@given(
    st.dictionaries(st.from_regex(r"[a-z][a-z0-9_\-]{0,8}", fullmatch=True), st.text(max_size=20), max_size=4),
    st.lists(st.sampled_from(["Basic realm=x", "Negotiate", "Digest qop=auth"]), max_size=2),
)
def test_whatever_is_quoted_comes_out_as_it_went_in(parameters: dict[str, str], others: list[str]) -> None:
    def quoted(value: str) -> str:
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'

    bearer = "Bearer " + ", ".join(f"{name}={quoted(value)}" for name, value in parameters.items())
    challenges = parse_challenges(", ".join([*others, bearer]))
    assert len(challenges) == len(others) + 1
    assert dict(challenges[-1].parameters) == parameters


def refusal(scope: str) -> InsufficientScope:
    (challenge,) = parse_challenges(f'Bearer error="insufficient_scope", scope="{scope}"')
    return InsufficientScope("more is needed", challenge=challenge)


def test_stepping_up_asks_for_what_is_held_and_what_is_missing_each_once() -> None:
    """CO-7."""
    assert step_up_scopes(refusal("ops:deploy ops:read"), ["ops:read", "x"]) == ("ops:read", "x", "ops:deploy")
    assert step_up_scopes(STEP_UP) == ("ops:deploy",)
    assert step_up_scopes(f'Bearer scope="other", {STEP_UP}') == ("ops:deploy",)


def test_a_refusal_that_names_no_scope_is_the_servers_fault() -> None:
    with pytest.raises(ServerFault, match="names no scope"):
        step_up_scopes(refusal(""))
    with pytest.raises(ServerFault):
        step_up_scopes('Basic scope="a"')


def test_scopes_given_as_one_text_are_refused_with_the_remedy() -> None:
    with pytest.raises(BadRequest, match=r"'a b'\.split\(\)"):
        step_up_scopes(STEP_UP, "a b")


def test_an_insufficient_scope_error_says_what_to_retry_with() -> None:
    assert 'scope "ops:deploy"' in str(refusal("ops:deploy"))


class Authorizer:
    """A user who grants tokens, unless told not to."""

    def __init__(self, *, grants: bool = True) -> None:
        self.asked: list[tuple[str, ...]] = []
        self._grants = grants

    async def __call__(self, scopes: tuple[str, ...]) -> Credential | None:
        self.asked.append(scopes)
        return Credential("token-with-" + "+".join(scopes)) if self._grants else None


async def _unused(_method: str, _params: object) -> dict[str, Any]:
    raise AssertionError("stepping up sends nothing by itself")


def connection() -> Connection:
    return FakeConnection(Backend(_unused), Credential("plain"))


class Refusing:
    """An attempt that lacks these scopes, one after the other, and then succeeds."""

    def __init__(self, *scopes: str) -> None:
        self._scopes = list(scopes)
        self.tokens: list[str] = []

    async def __call__(self, connection: Connection) -> str:
        assert connection.credential is not None
        self.tokens.append(connection.credential.token)
        if self._scopes:
            raise refusal(self._scopes.pop(0))
        return "done"


async def test_a_step_up_authorises_once_and_retries_with_the_new_token() -> None:
    attempt, authorizer = Refusing("b"), Authorizer()
    assert await step_up(attempt, connection(), authorizer, held=["a"]) == "done"
    assert authorizer.asked == [("a", "b")]
    assert attempt.tokens == ["plain", "token-with-a+b"]


async def test_step_up_stops_after_its_tries() -> None:
    """CO-7."""
    attempt, authorizer = Refusing("a", "b", "c"), Authorizer()
    with pytest.raises(InsufficientScope):
        await step_up(attempt, connection(), authorizer, tries=2)
    assert authorizer.asked == [("a",), ("a", "b")]


async def test_step_up_stops_when_the_server_asks_for_nothing_new() -> None:
    attempt, authorizer = Refusing("a", "a"), Authorizer()
    with pytest.raises(InsufficientScope):
        await step_up(attempt, connection(), authorizer, tries=5)
    assert authorizer.asked == [("a",)]


async def test_step_up_ends_with_the_refusal_when_the_user_says_no() -> None:
    attempt = Refusing("a")
    with pytest.raises(InsufficientScope):
        await step_up(attempt, connection(), Authorizer(grants=False))
    assert len(attempt.tokens) == 1


def test_a_challenge_compares_its_scheme_without_case() -> None:
    assert Challenge("bEaReR").is_bearer
    assert not Challenge("Basic").is_bearer
