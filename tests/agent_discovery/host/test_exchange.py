"""One exchange on a real socket: what each kind of answer becomes, and what an observer sees of it."""

import asyncio
import json
import socket
import zlib
from typing import Any

import anyio
import httpx
import pytest

from agent_discovery.host import (
    AnswerFrame,
    BadRequest,
    Connection,
    Credential,
    FailureFrame,
    Frame,
    HostError,
    InsufficientScope,
    NotAuthenticated,
    NotificationFrame,
    RequestFrame,
    ServerFault,
    ServerRefused,
    StreamLost,
    TimedOut,
    Unreachable,
    UnsupportedProtocolVersion,
    build_connection,
)
from tests.agent_discovery.host.fakes import BOUND, Received, Reply, ScriptedServer, never

RESULT = {"agents": [], "ttlMs": 0, "note": "ünï — 日本"}
PROGRESS = {"jsonrpc": "2.0", "method": "notifications/progress", "params": {"progress": 1}}


def host(server: ScriptedServer, frames: list[Frame] | None = None, timeout: float = BOUND) -> Connection:
    """A connection on the wire that needs no opening, so that one script answers one request."""
    observer = None if frames is None else frames.append
    return build_connection(
        server.url, Credential("s3cret", "alice"), wire="stateless", timeout=timeout, observer=observer
    )


async def ask(server: ScriptedServer, frames: list[Frame] | None = None, timeout: float = BOUND) -> dict[str, Any]:
    connection = host(server, frames, timeout)
    try:
        return await connection.request("agents/list", {})
    finally:
        await connection.aclose()


def response(received: Received, result: object = RESULT) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": received.id, "result": result}


def event(message: object, newline: str = "\n") -> bytes:
    text = json.dumps(message, ensure_ascii=False)
    return newline.join(["event: message", f"data: {text}", "", ""]).encode()


async def test_a_json_answer_gives_its_result_as_received(scripted: ScriptedServer) -> None:
    async def script(received: Received, reply: Reply) -> None:
        await reply.result(received, RESULT)

    scripted.script = script
    assert await ask(scripted) == RESULT


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("piece", [0, 1])
async def test_an_event_stream_gives_the_same_result_wherever_it_is_cut(
    scripted: ScriptedServer, newline: str, piece: int
) -> None:
    async def script(received: Received, reply: Reply) -> None:
        await reply.open_events()
        await reply.chunk(event(PROGRESS, newline) + event(response(received), newline), piece=piece)
        await reply.end()

    scripted.script = script
    frames: list[Frame] = []
    assert await ask(scripted, frames) == RESULT
    assert [type(frame) for frame in frames] == [RequestFrame, NotificationFrame, AnswerFrame]


async def test_the_raw_bytes_of_a_json_answer_may_come_one_by_one(scripted: ScriptedServer) -> None:
    async def script(received: Received, reply: Reply) -> None:
        body = json.dumps(response(received)).encode()
        head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        await reply.raw(head.encode() + body, piece=1)

    scripted.script = script
    assert await ask(scripted) == RESULT


async def test_comments_empty_events_and_foreign_events_are_passed_over(scripted: ScriptedServer) -> None:
    async def script(received: Received, reply: Reply) -> None:
        await reply.open_events()
        await reply.chunk(b": keep-alive\n\nid: 1\nretry: 5\ndata:\n\n\n\n: again\n\nevent: endpoint\ndata: /x\n\n")
        await reply.chunk(event(response(received)))
        await reply.end()

    scripted.script = script
    assert await ask(scripted) == RESULT


async def test_the_answer_counts_also_where_the_server_keeps_the_stream_open(scripted: ScriptedServer) -> None:
    async def script(received: Received, reply: Reply) -> None:
        await reply.open_events()
        await reply.event(response(received))
        await asyncio.Event().wait()

    scripted.script = script
    assert await ask(scripted) == RESULT


BAD_MESSAGES: list[Any] = [
    {"jsonrpc": "2.0", "id": 99, "result": {}},
    {"jsonrpc": "2.0", "id": "1", "result": {}},
    {"jsonrpc": "2.0", "id": True, "result": {}},
    {"jsonrpc": "2.0", "id": 1.0, "result": {}},
    {"jsonrpc": "2.0", "id": None, "result": {}},
    {"jsonrpc": "2.0", "id": 99, "error": {"code": -32602, "message": "not yours"}},
    {"jsonrpc": "2.0", "id": 1, "result": [], "x": 1},
    {"jsonrpc": "2.0", "id": 1, "result": None},
    {"jsonrpc": "2.0", "id": 1, "result": {}, "error": {"code": 1, "message": ""}},
    {"jsonrpc": "2.0", "id": 1, "error": "broken"},
    {"jsonrpc": "2.0", "id": 1, "error": {"code": "-32602", "message": "text for a number"}},
    {"jsonrpc": "1.0", "id": 1, "result": {}},
    {"id": 1, "result": {}},
    {"jsonrpc": "2.0", "id": 1},
    {},
    [{"jsonrpc": "2.0", "id": 1, "result": {}}],
    "text",
    None,
]


@pytest.mark.parametrize("message", BAD_MESSAGES, ids=str)
@pytest.mark.parametrize("streamed", [False, True], ids=["json", "events"])
async def test_an_answer_that_is_no_answer_to_this_request_is_the_servers_fault(
    scripted: ScriptedServer, message: object, streamed: bool
) -> None:
    async def script(_received: Received, reply: Reply) -> None:
        if not streamed:
            await reply.json(message)
            return
        await reply.open_events()
        await reply.event(message)
        await reply.end()

    scripted.script = script
    with pytest.raises(ServerFault):
        await ask(scripted)


@pytest.mark.parametrize(
    "body",
    [b"", b"{", b"\xff\xfe", b"[" * 100_000, b'{"jsonrpc":"2.0","id":1,"result":{"n":NaN}}', b'{"a":"\\ud800"}'],
    ids=["empty", "cut", "not utf-8", "deep", "nan", "surrogate"],
)
async def test_a_body_that_is_no_json_is_the_servers_fault(scripted: ScriptedServer, body: bytes) -> None:
    async def script(_received: Received, reply: Reply) -> None:
        await reply.body(body, 200, "application/json")

    scripted.script = script
    with pytest.raises(ServerFault):
        await ask(scripted)


@pytest.mark.parametrize("charset", ["nope", "rot13", "idna", "utf-16", "\N{LATIN SMALL LETTER E WITH ACUTE}"])
async def test_a_charset_that_is_none_does_not_hide_the_text(scripted: ScriptedServer, charset: str) -> None:
    async def script(_received: Received, reply: Reply) -> None:
        await reply.body(b"out of order \xff", 503, f"text/plain; charset={charset}")

    scripted.script = script
    with pytest.raises(HostError, match="out of order"):
        await ask(scripted)


async def test_a_web_page_is_told_from_an_mcp_endpoint(scripted: ScriptedServer) -> None:
    async def script(_received: Received, reply: Reply) -> None:
        await reply.body(b"<!doctype html>" + b"<p>hello</p>" * 100, 200, "text/html")

    scripted.script = script
    frames: list[Frame] = []
    with pytest.raises(ServerFault, match=r"not an MCP endpoint\? Check the path") as caught:
        await ask(scripted, frames)
    assert len(str(caught.value)) < 500
    answer = frames[-1]
    assert isinstance(answer, AnswerFrame)
    assert answer.message is None
    assert answer.body.startswith("<!doctype html>")


@pytest.mark.parametrize("status", [301, 302, 307, 308])
async def test_a_redirect_is_not_followed_and_says_where_it_points(scripted: ScriptedServer, status: int) -> None:
    async def script(_received: Received, reply: Reply) -> None:
        await reply.body(b"", status, headers={"Location": "https://elsewhere.example/mcp"})

    scripted.script = script
    with pytest.raises(ServerFault, match=r"redirects to https://elsewhere\.example/mcp"):
        await ask(scripted)
    assert len(scripted.received) == 1


@pytest.mark.parametrize(
    ("status", "headers", "body", "expected"),
    [
        (401, {"WWW-Authenticate": "Bearer"}, b"", NotAuthenticated),
        (403, {"WWW-Authenticate": 'Bearer error="insufficient_scope", scope="a b"'}, b"{}", InsufficientScope),
        (403, {"WWW-Authenticate": 'Basic realm="x"'}, b"", ServerRefused),
        (403, {}, b"bad origin", ServerRefused),
        (404, {}, b"Not Found", ServerRefused),
        (405, {"Allow": "POST"}, b"", ServerRefused),
        (413, {}, b"too large", ServerRefused),
        (429, {}, b"", ServerRefused),
        (500, {}, b"Internal Server Error", ServerFault),
        (503, {}, b"", ServerFault),
        (202, {}, b"", ServerFault),
        (204, {}, b"", ServerFault),
    ],
)
async def test_each_http_status_has_its_error(
    scripted: ScriptedServer, status: int, headers: dict[str, str], body: bytes, expected: type[HostError]
) -> None:
    async def script(_received: Received, reply: Reply) -> None:
        await reply.body(body, status, headers=headers)

    scripted.script = script
    with pytest.raises(expected) as caught:
        await ask(scripted)
    assert type(caught.value) is expected
    assert getattr(caught.value, "status") == status  # noqa: B009 - HostError itself has no status


async def test_a_scope_challenge_keeps_what_the_server_asks_for(scripted: ScriptedServer) -> None:
    body = {"error": "insufficient_scope", "error_description": "deploying needs more", "scope": "ops:deploy"}
    header = 'Bearer error="insufficient_scope", scope="ops:deploy", resource_metadata="http://s/meta"'

    async def script(_received: Received, reply: Reply) -> None:
        await reply.json(body, 403, {"WWW-Authenticate": header})

    scripted.script = script
    with pytest.raises(InsufficientScope, match='get a token that also has scope "ops:deploy"') as caught:
        await ask(scripted)
    assert caught.value.challenge.scope == ("ops:deploy",)
    assert caught.value.challenge.resource_metadata == "http://s/meta"
    assert caught.value.message == "deploying needs more"
    assert caught.value.data == body
    assert caught.value.headers["www-authenticate"] == header


@pytest.mark.parametrize("status", [200, 400, 404, 500])
@pytest.mark.parametrize("answer_id", [1, None])
async def test_a_json_rpc_error_keeps_code_message_and_data_whatever_the_status(
    scripted: ScriptedServer, status: int, answer_id: int | None
) -> None:
    error = {"code": -32602, "message": "call agents/list", "data": {"reason": "agent_not_found", "name": "x"}}

    async def script(_received: Received, reply: Reply) -> None:
        await reply.json({"jsonrpc": "2.0", "id": answer_id, "error": error}, status)

    scripted.script = script
    with pytest.raises(ServerRefused, match="call agents/list") as caught:
        await ask(scripted)
    refused = caught.value
    assert (refused.code, refused.message, refused.data) == (error["code"], error["message"], error["data"])
    assert (refused.status, refused.reason) == (status, "agent_not_found")


async def test_an_unsupported_protocol_version_says_which_are_supported(scripted: ScriptedServer) -> None:
    data = {"supported": ["2025-11-25", "2025-06-18"], "requested": "2026-07-28"}

    async def script(received: Received, reply: Reply) -> None:
        error = {"code": -32022, "message": "Unsupported protocol version", "data": data}
        await reply.json({"jsonrpc": "2.0", "id": received.id, "error": error}, 400)

    scripted.script = script
    with pytest.raises(UnsupportedProtocolVersion, match="wire='auto'") as caught:
        await ask(scripted)
    assert caught.value.supported == ("2025-11-25", "2025-06-18")
    assert caught.value.requested == "2026-07-28"


@pytest.mark.parametrize("data", [None, [], {"supported": "x"}, {"supported": [1]}])
async def test_an_unsupported_protocol_version_with_odd_data_is_still_that_error(
    scripted: ScriptedServer, data: object
) -> None:
    async def script(received: Received, reply: Reply) -> None:
        error = {"code": -32022, "message": "no", "data": data}
        await reply.json({"jsonrpc": "2.0", "id": received.id, "error": error}, 400)

    scripted.script = script
    with pytest.raises(UnsupportedProtocolVersion):
        await ask(scripted)


@pytest.mark.parametrize(
    "sent", [b"", b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 99\r\n\r\n{"]
)
@pytest.mark.parametrize("reset", [False, True], ids=["closed", "reset"])
async def test_a_connection_that_breaks_before_the_answer_is_complete_is_lost(
    scripted: ScriptedServer, sent: bytes, reset: bool
) -> None:
    async def script(_received: Received, reply: Reply) -> None:
        await reply.raw(sent)
        if reset:
            reply.reset()

    scripted.script = script
    frames: list[Frame] = []
    with pytest.raises(StreamLost):
        await ask(scripted, frames)
    assert isinstance(frames[-1], FailureFrame)


async def test_a_peer_that_does_not_speak_http_is_at_fault(scripted: ScriptedServer) -> None:
    async def script(_received: Received, reply: Reply) -> None:
        await reply.raw(b"SSH-2.0-OpenSSH_9.9\r\n\r\n")

    scripted.script = script
    with pytest.raises(ServerFault, match="not HTTP"):
        await ask(scripted)


async def test_a_body_that_belies_its_encoding_is_the_servers_fault(scripted: ScriptedServer) -> None:
    async def script(_received: Received, reply: Reply) -> None:
        await reply.body(b"not gzip", 200, "application/json", {"Content-Encoding": "gzip"})

    scripted.script = script
    with pytest.raises(ServerFault):
        await ask(scripted)


async def test_an_event_stream_that_ends_without_the_answer_is_the_servers_fault(scripted: ScriptedServer) -> None:
    async def script(_received: Received, reply: Reply) -> None:
        await reply.open_events()
        await reply.event(PROGRESS)
        await reply.end()

    scripted.script = script
    frames: list[Frame] = []
    with pytest.raises(ServerFault, match="without the answer to agents/list"):
        await ask(scripted, frames)
    assert [type(frame) for frame in frames] == [RequestFrame, NotificationFrame, FailureFrame]


@pytest.mark.parametrize("streamed", [False, True], ids=["json", "events"])
async def test_an_answer_beyond_the_limit_is_refused_without_reading_on(
    scripted: ScriptedServer, streamed: bool
) -> None:
    async def script(_received: Received, reply: Reply) -> None:
        content_type = "text/event-stream" if streamed else "application/json"
        await reply.head(200, {"Content-Type": content_type, "Transfer-Encoding": "chunked"})
        await reply.chunk(b"data: " if streamed else b'"')
        while True:
            await reply.chunk(b"x" * 1_000_000)

    scripted.script = script
    with pytest.raises(ServerFault, match="larger than 16 MiB"):
        await ask(scripted)


async def test_a_small_body_that_unpacks_beyond_the_limit_is_refused_too(scripted: ScriptedServer) -> None:
    packed = zlib.compress(b"x" * (17 * 1024 * 1024))

    async def script(_received: Received, reply: Reply) -> None:
        await reply.body(packed, 200, "application/json", {"Content-Encoding": "deflate"})

    scripted.script = script
    with pytest.raises(ServerFault, match="larger than 16 MiB"):
        await ask(scripted)


async def test_a_body_that_is_packed_twice_is_refused_unread(scripted: ScriptedServer) -> None:
    packed = zlib.compress(zlib.compress(b"x" * 1024))

    async def script(_received: Received, reply: Reply) -> None:
        await reply.body(packed, 200, "application/json", {"Content-Encoding": "deflate, deflate"})

    scripted.script = script
    with pytest.raises(ServerFault, match="packed more than once"):
        await ask(scripted)


async def test_a_server_that_does_not_answer_times_out_and_the_next_request_works(scripted: ScriptedServer) -> None:
    scripted.script = never
    frames: list[Frame] = []
    connection = host(scripted, frames)
    with pytest.raises(TimedOut, match=r"no answer to agents/list within 0\.05 s") as caught:
        await connection.request("agents/list", timeout=0.05)
    assert (caught.value.method, caught.value.seconds) == ("agents/list", 0.05)
    assert isinstance(frames[-1], FailureFrame)
    assert frames[-1].error is caught.value

    async def script(received: Received, reply: Reply) -> None:
        await reply.result(received, RESULT)

    scripted.script = script
    assert await connection.request("agents/list") == RESULT
    await connection.aclose()


async def test_a_server_that_drips_comments_for_ever_times_out_all_the_same(scripted: ScriptedServer) -> None:
    async def script(_received: Received, reply: Reply) -> None:
        await reply.open_events()
        while True:
            await reply.chunk(b": drip\n\n")
            await asyncio.sleep(0.005)

    scripted.script = script
    with pytest.raises(TimedOut):
        await ask(scripted, timeout=0.1)


async def test_nobody_at_the_address_is_unreachable_and_names_the_address() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{unused.getsockname()[1]}/mcp"
    frames: list[Frame] = []
    connection = build_connection(url, wire="stateless", observer=frames.append)
    with pytest.raises(Unreachable, match="check the address") as caught:
        await connection.request("agents/list")
    assert caught.value.url == url
    assert caught.value.__cause__ is not None
    assert isinstance(frames[-1], FailureFrame)
    await connection.aclose()


async def test_frames_tell_the_exchange_and_never_hold_the_token(scripted: ScriptedServer) -> None:
    async def script(received: Received, reply: Reply) -> None:
        await reply.result(received, RESULT, {"X-Trace": "7"})

    scripted.script = script
    frames: list[Frame] = []
    connection = host(scripted, frames)
    await connection.request("agents/list", {"cursor": "c"})
    await connection.as_token(Credential("oth3r", "bob")).request("agents/list")
    await connection.as_token(None).request("agents/list")
    await connection.aclose()
    sent = [frame for frame in frames if isinstance(frame, RequestFrame)]
    got = [frame for frame in frames if isinstance(frame, AnswerFrame)]
    assert [(frame.number, frame.caller) for frame in sent] == [(1, "alice"), (2, "bob"), (3, "")]
    assert [frame.headers.get("authorization") for frame in sent] == ["Bearer ***", "Bearer ***", None]
    assert sent[0].message == scripted.received[0].message
    assert (sent[0].http_method, sent[0].url) == ("POST", scripted.url)
    assert got[0].request is sent[0]
    assert (got[0].status, got[0].headers["x-trace"]) == (200, "7")
    assert got[0].body == got[0].message == {"jsonrpc": "2.0", "id": 1, "result": RESULT}
    assert got[0].elapsed_ms > 0
    assert [received.headers.get("authorization") for received in scripted.received] == [
        "Bearer s3cret",
        "Bearer oth3r",
        None,
    ]
    for secret in ("s3cret", "oth3r"):
        assert secret not in repr(frames)
        assert secret not in repr(connection.credential)


async def test_an_observer_that_raises_breaks_nothing_and_one_that_left_hears_nothing(
    scripted: ScriptedServer, caplog: pytest.LogCaptureFixture
) -> None:
    async def script(received: Received, reply: Reply) -> None:
        await reply.result(received, RESULT)

    def broken(_frame: Frame) -> None:
        raise RuntimeError("observer")

    scripted.script = script
    frames: list[Frame] = []
    connection = host(scripted)
    connection.observe(broken)
    stop = connection.observe(frames.append)
    await connection.request("agents/list")
    stop()
    stop()
    await connection.request("agents/list")
    await connection.aclose()
    assert len(frames) == 2
    assert "an observer raised" in caplog.text


async def test_many_requests_at_once_each_get_their_own_answer(scripted: ScriptedServer) -> None:
    everyone_asked = asyncio.Event()

    async def script(received: Received, reply: Reply) -> None:
        if len(scripted.received) == 20:
            everyone_asked.set()
        await everyone_asked.wait()
        await reply.result(received, {"you": received.message["params"]["n"], "by": received.headers["authorization"]})

    scripted.script = script
    connection = host(scripted)
    views = [connection.as_token(Credential(f"token-{number}")) for number in range(20)]
    with anyio.fail_after(BOUND):
        results = await asyncio.gather(*(view.request("x", {"n": n}) for n, view in enumerate(views)))
    await connection.aclose()
    assert [(result["you"], result["by"]) for result in results] == [(n, f"Bearer token-{n}") for n in range(20)]
    assert len({received.id for received in scripted.received}) == 20


@pytest.mark.parametrize("params", [{"x": {1, 2}}, {"x": float("nan")}, {"x": "\ud800"}, {"x": object()}])
async def test_params_that_are_no_json_are_refused_before_anything_is_sent(
    scripted: ScriptedServer, params: dict[str, Any]
) -> None:
    connection = host(scripted)
    with pytest.raises(BadRequest, match="plain JSON"):
        await connection.request("agents/list", params)
    await connection.aclose()
    assert scripted.received == []


async def test_a_closed_connection_says_so(scripted: ScriptedServer) -> None:
    connection = host(scripted)
    await connection.aclose()
    await connection.aclose()
    with pytest.raises(BadRequest, match="closed"):
        await connection.request("agents/list")


async def test_a_client_of_the_callers_own_is_used_and_not_closed(scripted: ScriptedServer) -> None:
    async def script(received: Received, reply: Reply) -> None:
        await reply.result(received, RESULT)

    scripted.script = script
    async with httpx.AsyncClient(headers={"X-Own": "yes"}, trust_env=False, timeout=0.001) as http:
        connection = build_connection(scripted.url, wire="stateless", http=http)
        assert await connection.request("agents/list") == RESULT
        await connection.aclose()
        assert not http.is_closed
    assert scripted.received[0].headers["x-own"] == "yes"
