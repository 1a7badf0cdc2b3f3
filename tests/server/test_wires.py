"""Serving one wire only."""

from collections.abc import Iterator

import httpx
import pytest

from server.embedded import RunningServer, running_server
from server.settings import Settings, Wire
from tests.server.callers import SESSION, STATELESS, Caller, WireName, answer, bearer

HANDSHAKE = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"]
ACCEPT = {"accept": "application/json, text/event-stream"}


@pytest.fixture(scope="module", params=["session", "stateless"])
def only(request: pytest.FixtureRequest) -> Iterator[tuple[Wire, RunningServer]]:
    with running_server(Settings(wire=request.param)) as running:
        yield request.param, running


def test_the_wire_that_is_served_works(only: tuple[WireName, RunningServer]) -> None:
    wire, server = only
    with Caller(server.url, wire) as alice:
        assert alice.call("agents/list")["agents"]
        assert alice.send("agents/get", {"name": "deploy-agent"}).status_code == 403


def test_the_other_wire_is_refused_with_the_versions_that_are_served(only: tuple[WireName, RunningServer]) -> None:
    wire, server = only
    if wire == "session":
        headers, requested, supported = {"mcp-protocol-version": STATELESS}, STATELESS, HANDSHAKE
    else:
        headers, requested, supported = {}, SESSION, [STATELESS]
    message = {"jsonrpc": "2.0", "id": 3, "method": "initialize", "params": {"protocolVersion": SESSION}}
    refused = httpx.post(server.url, json=message, headers={**bearer("alice-read"), **ACCEPT, **headers})
    assert refused.status_code == 400
    got = answer(refused)
    assert (got["id"], got["error"]["code"]) == (3, -32022)
    assert got["error"]["data"] == {"supported": supported, "requested": requested}


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"\xff", b'{"id":null}', b'{"params":[]}'])
def test_a_refusal_needs_no_sensible_body(only: tuple[WireName, RunningServer], body: bytes) -> None:
    wire, server = only
    version = {"mcp-protocol-version": STATELESS if wire == "session" else SESSION}
    refused = httpx.post(server.url, content=body, headers={**bearer("alice-read"), **ACCEPT, **version})
    assert refused.status_code == 400
    assert (answer(refused)["id"], answer(refused)["error"]["code"]) == (None, -32022)


def test_who_has_no_token_learns_nothing_about_wires(only: tuple[WireName, RunningServer]) -> None:
    _wire, server = only
    for version in (SESSION, STATELESS):
        assert httpx.post(server.url, json={}, headers={"mcp-protocol-version": version}).status_code == 401


@pytest.mark.parametrize("method", ["GET", "DELETE"])
def test_the_stateless_wire_alone_knows_post_only(only: tuple[WireName, RunningServer], method: str) -> None:
    wire, server = only
    refused = httpx.request(method, server.url, headers={**bearer("alice-read"), **ACCEPT})
    if wire == "session":
        assert refused.status_code == 400
    else:
        assert (refused.status_code, refused.headers["allow"]) == (405, "POST")
