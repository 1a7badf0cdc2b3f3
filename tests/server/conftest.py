"""Demo servers for the HTTP tests: one that answers in JSON, one that answers in streams."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from server.embedded import RunningServer, running_server
from server.settings import Settings
from tests.server.callers import Caller, WireName


@pytest.fixture(scope="session", params=[True, False], ids=["json", "streams"])
def server(request: pytest.FixtureRequest) -> Iterator[RunningServer]:
    """A running server; every test runs against both kinds."""
    with running_server(Settings(json_response=request.param)) as running:
        yield running


@pytest.fixture(params=["session", "stateless"])
def wire(request: pytest.FixtureRequest) -> WireName:
    """Each wire in turn."""
    name: WireName = request.param
    return name


@pytest.fixture
def caller(server: RunningServer, wire: WireName) -> Iterator[Caller]:
    """Alice with her first token, and a roster of three agents."""
    server.call(lambda: server.registry.remove("release-agent"))
    with Caller(server.url, wire) as opened:
        yield opened


@pytest.fixture
def opened(server: RunningServer, wire: WireName) -> Iterator[Callable[..., Caller]]:
    """Makes more callers of the same server and wire, and closes them."""
    callers: list[Caller] = []

    def make(token: str, **options: Any) -> Caller:
        callers.append(Caller(server.url, wire, token, **options))
        return callers[-1]

    yield make
    for one in callers:
        one.http.close()
