"""Making connections: what is checked at once, and how the wire is chosen."""

from typing import Any

import pytest

from agent_discovery.host import (
    BadRequest,
    Credential,
    Frame,
    HostError,
    NotAuthenticated,
    RequestFrame,
    ServerRefused,
    UnsupportedProtocolVersion,
    build_connection,
    connect,
)
from tests.agent_discovery.host.fakes import (
    BOUND,
    Received,
    Reply,
    Script,
    ScriptedServer,
    discover_result,
    initialize_result,
)


def refusing_sessions(status: int, error: dict[str, Any]) -> Script:
    async def script(received: Received, reply: Reply) -> None:
        if received.message["method"] == "server/discover":
            await reply.result(received, discover_result())
        else:
            await reply.json({"jsonrpc": "2.0", "id": received.id, "error": error}, status)

    return script


async def test_auto_takes_the_session_wire_where_there_is_one(scripted: ScriptedServer) -> None:
    async def script(received: Received, reply: Reply) -> None:
        if "id" in received.message:
            await reply.result(received, initialize_result())
        else:
            await reply.body(b"", 202)

    scripted.script = script
    async with await connect(scripted.url, timeout=BOUND) as connection:
        assert connection.wire == "session"
        assert connection.authorization == ""


@pytest.mark.parametrize(
    ("status", "error"),
    [
        (400, {"code": -32022, "message": "", "data": {"supported": ["2026-07-28"], "requested": "2025-11-25"}}),
        (400, {"code": -32020, "message": "Mcp-Method header missing"}),
        (404, {"code": -32601, "message": "Method not found"}),
        (200, {"code": -32601, "message": "Method not found"}),
    ],
)
async def test_auto_falls_to_the_stateless_wire_where_the_server_has_no_sessions(
    scripted: ScriptedServer, status: int, error: dict[str, Any]
) -> None:
    scripted.script = refusing_sessions(status, error)
    frames: list[Frame] = []
    credential = Credential("alice-read", "alice")
    async with await connect(scripted.url, credential, timeout=BOUND, observer=frames.append) as connection:
        assert connection.wire == "stateless"
        assert connection.credential is credential
    requests = [frame for frame in frames if isinstance(frame, RequestFrame)]
    assert [frame.number for frame in requests] == [1, 2]
    assert [(frame.message or {})["method"] for frame in requests] == ["initialize", "server/discover"]


async def test_a_chosen_wire_is_not_exchanged_for_the_other(scripted: ScriptedServer) -> None:
    scripted.script = refusing_sessions(400, {"code": -32022, "message": "", "data": {"supported": ["2026-07-28"]}})
    with pytest.raises(UnsupportedProtocolVersion):
        await connect(scripted.url, wire="session", timeout=BOUND)
    assert len(scripted.received) == 1


@pytest.mark.parametrize(
    ("status", "expected"), [(401, NotAuthenticated), (404, ServerRefused), (403, ServerRefused), (500, HostError)]
)
async def test_any_other_refusal_is_raised_as_it_is(
    scripted: ScriptedServer, status: int, expected: type[HostError]
) -> None:
    async def script(_received: Received, reply: Reply) -> None:
        await reply.body(b"", status)

    scripted.script = script
    with pytest.raises(expected):
        await connect(scripted.url, timeout=BOUND)
    assert len(scripted.received) == 1


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"url": "localhost:8080/mcp"}, "http or https"),
        ({"url": "ftp://host/mcp"}, "http or https"),
        ({"url": "http://"}, "http or https"),
        ({"url": "http://host:port/"}, "http or https"),
        ({"url": 7}, "http or https"),
        ({"url": "http://xn--/mcp"}, "http or https"),
        ({"url": "http://host/\ud800"}, "http or https"),
        ({"url": "http://user:secret@host/mcp"}, "Credential"),
        ({"wire": "auto"}, "only connect"),
        ({"wire": "carrier pigeon"}, "'session' or 'stateless'"),
        ({"timeout": 0}, "more than 0"),
        ({"timeout": -1}, "more than 0"),
        ({"timeout": float("nan")}, "more than 0"),
    ],
)
def test_what_cannot_be_right_is_refused_at_once_with_the_remedy(arguments: dict[str, Any], text: str) -> None:
    with pytest.raises(BadRequest, match=text) as caught:
        build_connection(**{"url": "http://host/mcp", **arguments})
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("token", ["", "two words", "line\nbreak", "é"])
def test_a_token_that_no_header_can_carry_is_refused_without_showing_it(token: str) -> None:
    with pytest.raises(BadRequest) as caught:
        Credential(token)
    assert token == "" or token not in str(caught.value)


def test_a_credential_hides_its_token_and_names_its_context_by_it() -> None:
    one, same, other = Credential("t0ken", "a"), Credential("t0ken", "b"), Credential("oth3r", "a")
    assert "t0ken" not in repr(one)
    assert "t0ken" not in one.context
    assert one.context == same.context
    assert one.context != other.context
