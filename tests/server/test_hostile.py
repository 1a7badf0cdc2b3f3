"""Spellings that must not get around the challenge, and bodies that must not bring anything down."""

import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from server.embedded import RunningServer
from tests.server.callers import STATELESS, Caller, answer, bearer

TARGETS = [("agents/get", "deploy-agent"), ("tools/call", "deploy_service")]


def _request(caller: Caller, method: str, name: str) -> str:
    return json.dumps(caller.message(method, {"name": name, "arguments": {"service": "api", "version": "1.0.0"}}))


@pytest.mark.parametrize(("method", "name"), TARGETS)
@pytest.mark.parametrize(
    "spelling",
    ["escapes", "utf-16", "utf-16-le", "utf-32", "utf-8-sig", "duplicate name", "duplicate params", "space", "chunked"],
)
def test_no_spelling_of_the_body_gets_around_the_challenge(
    caller: Caller, method: str, name: str, spelling: str
) -> None:
    text = _request(caller, method, name)
    body = text.encode()
    match spelling:
        case "escapes":
            body = text.replace(name, "".join(f"\\u{ord(char):04x}" for char in name)).encode()
        case "duplicate name":
            body = text.replace(f'"name": "{name}"', f'"name": "pipeline-agent", "name": "{name}"').encode()
        case "duplicate params":
            body = text.replace('"params":', '"params": {"name": "pipeline-agent"}, "params":').encode()
        case "space":
            body = text.replace(",", " ,\n\t ").encode()
        case "chunked":
            pass
        case encoding:
            body = text.encode(encoding)
    named = {"mcp_name": name} if caller.wire == "stateless" and method == "tools/call" else {}
    if spelling == "chunked":
        headers = {**caller.headers(method), **{key.replace("_", "-"): value for key, value in named.items()}}
        response = caller.http.post(caller.url, content=_pieces(body), headers=headers)
    else:
        response = caller.post(body, method, **named)
    # Either the server reads it as we meant it, and challenges, or it does not read it at all.
    assert response.status_code == (403 if response.status_code == 403 else 400), response.text
    assert b"result" not in response.content
    if spelling in ("escapes", "duplicate name", "duplicate params", "space", "chunked"):
        assert response.status_code == 403
    assert caller.send("agents/list").status_code == 200


def _pieces(body: bytes) -> Iterator[bytes]:
    for at in range(0, len(body), 7):
        yield body[at : at + 7]


@pytest.mark.parametrize(("method", "name"), TARGETS)
@pytest.mark.parametrize("suffix", ["?x=1", "?", "/", "//", "/?name=pipeline-agent", "%2f"])
def test_no_spelling_of_the_path_gets_around_the_challenge(caller: Caller, method: str, name: str, suffix: str) -> None:
    caller.url += suffix
    response = caller.send(method, {"name": name})
    assert response.status_code == (403 if suffix.startswith("?") else 404)
    assert b"result" not in response.content


@pytest.mark.parametrize(
    "headers",
    [
        {"mcp-name": "pipeline-agent"},
        {"mcp-method": "agents/list"},
        {"mcp-method": "ping", "mcp-name": "list_failed_pipelines"},
        {"mcp-protocol-version": "2025-06-18"},
        {"x-http-method-override": "GET"},
        {"content-type": "application/json; charset=utf-16"},
    ],
)
def test_headers_that_disagree_with_the_body_change_nothing(caller: Caller, headers: dict[str, str]) -> None:
    for method, name in TARGETS:
        sent = {**caller.headers(method, {"name": name}), **headers}
        response = caller.http.post(caller.url, content=_request(caller, method, name), headers=sent)
        assert response.status_code in (400, 403)
        assert b'"result"' not in response.content


@pytest.mark.parametrize("request_id", ["null", "true", "false", "1.5", "1.0", "[]", "{}", "[1]"])
def test_a_request_whose_id_is_none_is_refused_and_not_run(caller: Caller, request_id: str) -> None:
    message = json.dumps(caller.message("tools/call", {"name": "publish_release_agent"}, id="ID"))
    named = {"mcp_name": "publish_release_agent"} if caller.wire == "stateless" else {}
    response = caller.post(message.replace('"ID"', request_id).encode(), "tools/call", **named)
    assert response.status_code == 400
    assert answer(response)["error"]["code"] == -32600
    assert answer(response)["id"] is None
    assert "release-agent" not in [card["name"] for card in caller.call("agents/list")["agents"]]


GARBAGE: dict[str, bytes] = {
    "nothing": b"",
    "no json": b"{",
    "a number": b"1",
    "null": b"null",
    "a batch": b'[{"jsonrpc":"2.0","id":1,"method":"agents/list","params":{}}]',
    "an empty batch": b"[]",
    "an empty object": b"{}",
    "deep arrays": b"[" * 20_000 + b"]" * 20_000,
    "deep objects": b'{"a":' * 20_000 + b"1" + b"}" * 20_000,
    "an answer": b'{"jsonrpc":"2.0","id":99,"result":{}}',
    "not utf-8": b'{"jsonrpc":"2.0","id":1,"method":"\xff"}',
    "nul": b"\0",
    "a huge number": b'{"jsonrpc":"2.0","id":1,"method":"agents/list","params":{"cursor":' + b"9" * 10_000 + b"}}",
    "a huge id": b'{"jsonrpc":"2.0","id":' + b"9" * 10_000 + b',"method":"agents/list"}',
    "infinity": b'{"jsonrpc":"2.0","id":1,"method":"agents/list","params":{"cursor":1e999}}',
    "nan": b'{"jsonrpc":"2.0","id":1,"method":"agents/get","params":{"name":NaN}}',
    "wrong version": b'{"jsonrpc":"1.0","id":1,"method":"agents/list"}',
    "wrong params": b'{"jsonrpc":"2.0","id":1,"method":"agents/list","params":[1]}',
    "wrong method": b'{"jsonrpc":"2.0","id":1,"method":7}',
    "too large": b'{"jsonrpc":"2.0","id":1,"method":"agents/list","params":{"x":"' + b"x" * 5_000_000 + b'"}}',
}


@pytest.mark.parametrize("kind", GARBAGE)
def test_garbage_is_the_clients_error_and_the_next_request_works(caller: Caller, kind: str) -> None:
    response = caller.post(GARBAGE[kind], "agents/list")
    assert response.status_code < 500, response.text
    if kind == "an answer" and caller.wire == "session":
        assert response.status_code == 202
    else:
        assert response.status_code >= 400 or "error" in answer(response)
    assert caller.send("agents/list").status_code == 200


LONG = "x" * 1_000_000
NAMES: tuple[Any, ...] = (None, 7, True, 1.5, [], {}, ["deploy-agent"], LONG, "", "\n")
CURSORS: tuple[Any, ...] = (7, True, [], {}, "", "é" * 32, LONG)
ARGUMENTS: tuple[Any, ...] = ([], 7, "x")
METAS: tuple[Any, ...] = (7, [], {"progressToken": []})
PARAMS: list[tuple[str, dict[str, Any]]] = [
    *(("agents/get", {"name": name}) for name in NAMES),
    *(("agents/list", {"cursor": cursor}) for cursor in CURSORS),
    *(("tools/call", {"name": name}) for name in NAMES),
    *(("tools/call", {"name": "get_pipeline_log", "arguments": arguments}) for arguments in ARGUMENTS),
    *(("agents/get", {"name": "pipeline-agent", "_meta": meta}) for meta in METAS),
]


@pytest.mark.parametrize("number", range(len(PARAMS)))
def test_params_of_the_wrong_kind_are_the_clients_error(caller: Caller, number: int) -> None:
    method, params = PARAMS[number]
    message = caller.message(method, params)
    message["params"].update({key: value for key, value in params.items() if key == "_meta"})
    name = params.get("name")
    named = {"mcp_name": name} if isinstance(name, str) and name.isprintable() and 0 < len(name) < 100 else {}
    response = caller.post(json.dumps(message).encode(), method, **named)
    assert response.status_code < 500, response.text
    if "_meta" not in params:
        assert answer(response)["error"]["code"] in (-32602, -32600, -32020)
    assert len(response.content) < 5_000
    assert caller.send("agents/list").status_code == 200


@pytest.mark.parametrize("field", ["id", "method", "name", "cursor", "tool", "argument"])
def test_a_lone_surrogate_anywhere_brings_nothing_down(caller: Caller, field: str) -> None:
    match field:
        case "name":
            method, message = "agents/get", caller.message("agents/get", {"name": "SURROGATE"})
        case "cursor":
            method, message = "agents/list", caller.message("agents/list", {"cursor": "SURROGATE"})
        case "tool":
            method, message = "tools/call", caller.message("tools/call", {"name": "SURROGATE"})
        case "argument":
            arguments = {"id": "SURROGATE"}
            method = "tools/call"
            message = caller.message(method, {"name": "get_pipeline_log", "arguments": arguments})
        case _:
            method, message = "agents/list", {**caller.message("agents/list"), field: "SURROGATE"}
    named = {"mcp_name": "get_pipeline_log"} if field == "argument" else {}
    response = caller.post(json.dumps(message).replace("SURROGATE", "\\ud800").encode(), method, **named)
    assert response.status_code < 500, response.text
    assert response.status_code >= 400 or {"error", "result"} & set(answer(response))
    assert caller.send("agents/list").status_code == 200


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "http://127.0.0.1.evil.example:80"])
def test_a_foreign_origin_is_refused(caller: Caller, origin: str) -> None:
    headers = {**caller.headers("agents/list"), "origin": origin}
    assert caller.http.post(caller.url, json=caller.message("agents/list"), headers=headers).status_code == 403


def test_an_unsupported_version_is_told_which_are(server: RunningServer) -> None:
    headers = {
        **bearer("alice-read"),
        "mcp-protocol-version": "1999-01-01",
        "accept": "application/json, text/event-stream",
    }
    message = {"jsonrpc": "2.0", "id": 1, "method": "agents/list", "params": {}}
    response = httpx.post(server.url, json=message, headers=headers)
    assert response.status_code == 400
    assert response.json()["error"]["code"] in (-32022, -32602)


def test_an_unknown_method_is_404_on_the_stateless_wire(server: RunningServer) -> None:
    with Caller(server.url, "stateless") as caller:
        response = caller.send("agents/run", {"name": "pipeline-agent"})
        assert (response.status_code, answer(response)["error"]["code"]) == (404, -32601)
        assert caller.headers("x")["mcp-protocol-version"] == STATELESS
