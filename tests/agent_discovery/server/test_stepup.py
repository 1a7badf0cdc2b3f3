"""The edge: true statuses, and streams left alone."""

import json
from collections.abc import Awaitable, Callable
from types import SimpleNamespace
from typing import Any

import anyio
import pytest
from starlette.types import Message, Receive, Scope, Send

from agent_discovery.server import StepUpEdge, StepUpRequired
from agent_discovery.server.stepup import TrueAnswer, answer_with, at_edge

REFUSAL = StepUpRequired(("ops:deploy", "ops:read"), 'say "please"\\ first')


def _context(scope: Scope) -> Any:
    return SimpleNamespace(request=SimpleNamespace(scope=scope))


async def _run(app: Callable[[Scope, Receive, Send], Awaitable[None]], method: str = "POST") -> list[Message]:
    sent: list[Message] = []

    async def send(message: Message) -> None:
        sent.append(message)

    async def receive() -> Message:
        return {"type": "http.request", "body": b"", "more_body": False}

    edge = StepUpEdge(app, resource_metadata_url="http://host/.well-known/x")
    await edge({"type": "http", "method": method, "headers": []}, receive, send)
    return sent


async def test_a_refusal_becomes_403_with_all_scopes_in_one_challenge() -> None:
    async def app(scope: Scope, _receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": [(b"mcp-session-id", b"s1")]})
        answer_with(_context(scope), TrueAnswer.step_up(REFUSAL))
        await send({"type": "http.response.body", "body": b"event: message", "more_body": True})
        await send({"type": "http.response.body", "body": b"more", "more_body": False})

    start, body = await _run(app)
    headers = dict(start["headers"])
    assert start["status"] == 403
    assert headers[b"www-authenticate"] == (
        b'Bearer error="insufficient_scope", scope="ops:deploy ops:read", '
        b'error_description="say \'please\'? first", resource_metadata="http://host/.well-known/x"'
    )
    assert headers[b"mcp-session-id"] == b"s1"
    assert int(headers[b"content-length"]) == len(body["body"])
    assert body["more_body"] is False
    assert json.loads(body["body"]) == {
        "error": "insufficient_scope",
        "error_description": 'say "please"\\ first',
        "scope": "ops:deploy ops:read",
    }


async def test_without_a_refusal_every_message_passes_untouched() -> None:
    messages: list[Message] = [
        {"type": "http.response.start", "status": 201, "headers": [(b"x", b"y")]},
        {"type": "http.response.body", "body": b"a", "more_body": True},
        {"type": "http.response.body", "body": b"b", "more_body": False},
    ]

    async def app(_scope: Scope, _receive: Receive, send: Send) -> None:
        for message in messages:
            await send(message)

    assert await _run(app) == messages


async def test_the_first_piece_of_a_stream_goes_out_before_the_second_is_made() -> None:
    first_is_out = anyio.Event()

    async def app(_scope: Scope, _receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"a", "more_body": True})
        with anyio.fail_after(5):
            await first_is_out.wait()
        await send({"type": "http.response.body", "body": b"b", "more_body": False})

    async def send(message: Message) -> None:
        if message.get("body") == b"a":
            first_is_out.set()

    async def receive() -> Message:
        raise AssertionError("nobody asked")

    await StepUpEdge(app)({"type": "http", "method": "POST", "headers": []}, receive, send)
    assert first_is_out.is_set()


async def test_an_answer_without_a_body_still_goes_out() -> None:
    async def app(_scope: Scope, _receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 202, "headers": []})

    assert [message["status"] for message in await _run(app)] == [202]


async def test_a_get_stream_is_not_held_back() -> None:
    async def app(scope: Scope, _receive: Receive, send: Send) -> None:
        assert not at_edge(_context(scope))
        await send({"type": "http.response.start", "status": 200, "headers": []})

    assert len(await _run(app, "GET")) == 1


async def test_two_requests_do_not_share_a_refusal() -> None:
    scopes: list[Scope] = []

    async def app(scope: Scope, _receive: Receive, send: Send) -> None:
        scopes.append(scope)
        if len(scopes) == 2:
            answer_with(_context(scopes[0]), TrueAnswer.step_up(REFUSAL))
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    assert (await _run(app))[0]["status"] == 200
    assert (await _run(app))[0]["status"] == 200


@pytest.mark.parametrize("request_object", [None, object(), SimpleNamespace(scope={})])
def test_without_an_edge_the_refusal_stays_a_json_rpc_error(request_object: object) -> None:
    ctx: Any = SimpleNamespace(request=request_object)
    answer_with(ctx, TrueAnswer.step_up(REFUSAL))
    assert not at_edge(ctx)
    assert REFUSAL.data == {"reason": "insufficient_scope", "scope": "ops:deploy ops:read"}
