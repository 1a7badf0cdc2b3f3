"""Request ids on the session wire."""

import json
from typing import Any

import pytest
from starlette.types import Message, Receive, Scope, Send

from agent_discovery.server.ids import RequestIdGuard


async def _post(body: bytes, *, version: str | None = None, limit: int = 1_000) -> tuple[int, bytes]:
    """The status, and the body that got through to the app (or the refusal's)."""
    sent: list[Message] = []
    pending: list[Message] = [
        {"type": "http.request", "body": body[:5], "more_body": True},
        {"type": "http.request", "body": body[5:], "more_body": False},
    ]

    async def receive() -> Message:
        return pending.pop(0) if pending else {"type": "http.disconnect"}

    async def send(message: Message) -> None:
        sent.append(message)

    async def app(_scope: Scope, receive: Receive, send: Send) -> None:
        got = b""
        while True:
            message = await receive()
            got += message.get("body", b"")
            if not message.get("more_body", False):
                break
        await send({"type": "http.response.start", "status": 299, "headers": []})
        await send({"type": "http.response.body", "body": got, "more_body": False})

    headers = [] if version is None else [(b"mcp-protocol-version", version.encode())]
    guard = RequestIdGuard(app, max_body_size=limit)
    await guard({"type": "http", "method": "POST", "headers": headers}, receive, send)
    return sent[0]["status"], sent[1]["body"]


@pytest.mark.parametrize("version", [None, "2025-11-25", "2024-11-05"])
@pytest.mark.parametrize("request_id", ["null", "true", "false", "1.5", "1.0", "[]", "{}", "NaN", "1e3"])
async def test_a_request_whose_id_is_none_is_refused(request_id: str, version: str | None) -> None:
    status, body = await _post(b'{"jsonrpc":"2.0","method":"ping","id":%s}' % request_id.encode(), version=version)
    assert status == 400
    answer = json.loads(body)
    assert (answer["id"], answer["error"]["code"]) == (None, -32600)


@pytest.mark.parametrize(
    "body",
    [
        b'{"jsonrpc":"2.0","method":"ping","id":1}',
        b'{"jsonrpc":"2.0","method":"ping","id":""}',
        b'{"jsonrpc":"2.0","method":"ping","id":null,"id":"last one counts"}',
        b'{"jsonrpc":"2.0","method":"notifications/initialized"}',
        b'{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"an answer may have no id"}}',
        b"[1]",
        b"not json",
        b"",
        b"\xff\xfe{",
    ],
)
async def test_everything_else_goes_on_untouched(body: bytes) -> None:
    assert await _post(body) == (299, body)


async def test_the_stateless_wire_is_left_to_the_sdk() -> None:
    body = b'{"jsonrpc":"2.0","method":"ping","id":null}'
    assert await _post(body, version="2026-07-28") == (299, body)


async def test_no_more_than_the_limit_is_kept() -> None:
    body: Any = b'{"id":null,"method":"' + b"x" * 2_000 + b'"}'
    assert (await _post(body))[0] == 413
