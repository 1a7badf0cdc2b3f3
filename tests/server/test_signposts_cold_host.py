"""A cold host finds its way by what it reads, and reads of nothing that its token may not see."""

import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from server.embedded import RunningServer, running_server
from tests.server.callers import Caller, WireName
from tests.server.cold_host import ColdHost, Move, Seen

TOKENS = ["alice-read", "alice-deploy", "bob-billing"]
AGENT_METHOD = re.compile(r"agents/(?:list|get)")


@pytest.fixture(scope="module")
def lonely() -> Iterator[RunningServer]:
    """A server that no other test publishes on."""
    with running_server() as running:
        yield running


@pytest.fixture(params=[True, False], ids=["declared", "undeclared"])
def declared(request: pytest.FixtureRequest) -> bool:
    """Whether the host declared the extension."""
    return bool(request.param)


@pytest.fixture
def host(lonely: RunningServer, wire: WireName) -> Iterator[Callable[..., ColdHost]]:
    """Makes cold hosts, on a roster without what other tests published."""
    lonely.call(lambda: lonely.registry.remove("release-agent"))
    callers: list[Caller] = []

    def make(token: str, first: Move | None, wish: str = "", *, declared: bool = True, **options: Any) -> ColdHost:
        callers.append(Caller(lonely.url, wire, token, declared=declared))
        return ColdHost(callers[-1], first, frozenset(wish.split()), **options)

    yield make
    for caller in callers:
        caller.http.close()


def _tool(name: str) -> Move:
    return Move("tools/call", name)


def _agent(name: str) -> Move:
    return Move("agents/get", name)


def _structured(member: str) -> Callable[[Seen], bool]:
    return lambda seen: bool(((seen.result or {}).get("structuredContent") or {}).get(member))


def _opened(name: str) -> Callable[[Seen], bool]:
    return lambda seen: (seen.result or {}).get("agent", {}).get("name") == name and bool((seen.result or {})["tools"])


@pytest.mark.parametrize("token", TOKENS)
@pytest.mark.parametrize("first", ["read_log", "logs", "pipeline-agent"])
def test_from_a_wrong_tool_to_the_log_of_a_failed_pipeline(
    host: Callable[..., ColdHost], token: str, first: str, declared: bool
) -> None:
    cold = host(token, _tool(first), "pipeline log failed", declared=declared)
    assert cold.reaches(_structured("lines"), moves=5), [seen.move for seen in cold.seen]


@pytest.mark.parametrize("token", TOKENS)
def test_from_a_wrong_agent_to_the_one_that_knows_pipelines_and_on_to_a_log(
    host: Callable[..., ColdHost], token: str
) -> None:
    cold = host(token, _agent("ci-helper"), "pipeline")
    assert cold.reaches(_opened("pipeline-agent"), moves=3), [seen.move for seen in cold.seen]
    cold.wish = frozenset({"log", "pipeline"})
    assert cold.reaches(_structured("lines"), moves=9), [seen.move for seen in cold.seen]


def test_from_a_wrong_name_to_bobs_invoices(host: Callable[..., ColdHost], declared: bool) -> None:
    cold = host("bob-billing", _tool("get_invoices"), "invoice", declared=declared)
    assert cold.reaches(_structured("invoices"), moves=2), [seen.move for seen in cold.seen]
    if declared:
        cold = host("bob-billing", _agent("invoice-agent"), "billing")
        assert cold.reaches(_opened("billing-agent"), moves=2)


@pytest.mark.parametrize("first", [_tool("deploy"), _tool("deployer")], ids=lambda move: move.name)
def test_from_a_wrong_tool_to_a_deployment_after_stepping_up(
    host: Callable[..., ColdHost], first: Move, declared: bool
) -> None:
    cold = host("alice-read", first, "deploy service", declared=declared, stronger="alice-deploy")
    assert cold.reaches(_structured("deployment_id"), moves=7), [seen.move for seen in cold.seen]
    assert cold.token == "alice-deploy"
    assert any("ops:deploy" in seen.text and "www-authenticate" in seen.text for seen in cold.seen)


def test_from_a_wrong_agent_to_the_one_that_takes_more_scope(host: Callable[..., ColdHost]) -> None:
    cold = host("alice-read", _agent("deployer"), "deploy", stronger="alice-deploy")
    assert cold.reaches(_opened("deploy-agent"), moves=4), [seen.move for seen in cold.seen]


@pytest.mark.parametrize("token", TOKENS)
def test_from_a_wrong_tool_to_publishing_an_agent_and_opening_it(host: Callable[..., ColdHost], token: str) -> None:
    cold = host(token, _tool("publish"), "publish release")
    assert cold.reaches(_structured("agent"), moves=2), [seen.move for seen in cold.seen]
    cold.wish = frozenset({"release", "get"})
    assert cold.reaches(_opened("release-agent"), moves=1), [seen.move for seen in cold.seen]


@pytest.mark.parametrize("token", TOKENS)
def test_who_cannot_open_the_published_agent_is_led_to_something_it_can_call(
    host: Callable[..., ColdHost], token: str
) -> None:
    for tool in ("publish_release_agent", "retire_release_agent"):
        cold = host(token, _tool(tool), declared=False)
        assert cold.reaches(_structured("next"), moves=1)
        assert cold.reaches(_structured("pipelines"), moves=1), [seen.move for seen in cold.seen]


@pytest.mark.parametrize("token", TOKENS)
def test_instructions_alone_lead_to_a_log(host: Callable[..., ColdHost], token: str, declared: bool) -> None:
    cold = host(token, None, "pipeline log", declared=declared)
    cold.read_opening()
    assert cold.reaches(_structured("lines"), moves=9), [seen.move for seen in cold.seen]


@pytest.mark.parametrize("token", ["alice-read", "alice-deploy"])
@pytest.mark.parametrize(
    "first", [_tool("no_such_tool"), _tool("list_invoice"), _agent("no-such-agent"), _agent("billing")], ids=str
)
def test_whatever_alice_does_she_never_reads_of_billing(
    host: Callable[..., ColdHost], token: str, first: Move, declared: bool
) -> None:
    cold = host(token, first, declared=declared)
    cold.read_opening()
    cold.wander(moves=40)
    tried = {seen.move.name for seen in cold.seen if seen.result is not None}
    assert {"list_failed_pipelines", "get_pipeline_log", "publish_release_agent"} <= tried
    assert not declared or {"pipeline-agent", "release-agent"} <= tried
    for seen in cold.seen:
        read = seen.text.replace(first.name, "")
        assert not re.search(r"billing|invoice|inv-\d|northwind|contoso", read, re.IGNORECASE), (seen.move, read)


@pytest.mark.parametrize("token", TOKENS)
def test_who_did_not_declare_the_extension_never_reads_of_its_methods(
    host: Callable[..., ColdHost], token: str
) -> None:
    cold = host(token, _tool("no_such_tool"), declared=False, stronger="alice-deploy" if "alice" in token else None)
    cold.read_opening()
    cold.wander(moves=40)
    assert {"deploy_service", "publish_release_agent", "retire_release_agent"} <= {s.move.name for s in cold.seen}
    for seen in cold.seen:
        assert not AGENT_METHOD.search(seen.text), (seen.move, seen.text)
    assert not any(method.startswith("agents/") for method in cold.methods)


def test_bob_reads_of_what_alice_cannot(host: Callable[..., ColdHost]) -> None:
    cold = host("bob-billing", _agent("no-such-agent"))
    cold.wander(moves=40)
    read = "".join(seen.text for seen in cold.seen)
    assert "billing-agent" in read
    assert "list_invoices" in read
