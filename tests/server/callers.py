"""Raw HTTP callers for both wires, so that tests see what really travels."""

import itertools
import json
from types import TracebackType
from typing import Any, Literal

import httpx

from agent_discovery.wire import EXTENSION_ID

__all__ = ["Caller", "WireName", "answer", "bearer"]

WireName = Literal["session", "stateless"]

SESSION = "2025-11-25"
STATELESS = "2026-07-28"
_CLIENT = {"name": "raw", "version": "1"}


def bearer(token: str) -> dict[str, str]:
    """The header that carries a token."""
    return {"authorization": f"Bearer {token}"}


def answer(response: httpx.Response) -> dict[str, Any]:
    """The JSON-RPC answer in a response, be it JSON or the last event of a stream."""
    text = response.text
    if response.headers.get("content-type", "").startswith("text/event-stream"):
        text = [line.removeprefix("data: ") for line in text.splitlines() if line.startswith("data: ")][-1]
    body: dict[str, Any] = json.loads(text)
    return body


class Caller:
    """One client on one wire. On the session wire it opens its session with the token it is made with."""

    def __init__(
        self,
        url: str,
        wire: WireName,
        token: str = "alice-read",
        *,
        declared: bool = True,
        settings: Any = None,
        handshake: str = SESSION,
    ) -> None:
        self.url = url
        self.wire = wire
        self.token = token
        self.capabilities: dict[str, Any] = {"extensions": {EXTENSION_ID: settings or {}}} if declared else {}
        # Nothing here is TLS, and loading certificates would be most of a test's time.
        self.http = httpx.Client(headers={"accept": "application/json, text/event-stream"}, timeout=10, verify=False)
        self._ids = itertools.count(1)
        self.session_headers: dict[str, str] = {}
        self.opening: dict[str, Any] = {}
        self._handshake = handshake
        if wire == "session":
            self._open()

    def __enter__(self) -> "Caller":
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self.http.close()

    def _open(self) -> None:
        params = {"protocolVersion": self._handshake, "capabilities": self.capabilities, "clientInfo": _CLIENT}
        opening = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params}
        response = self.http.post(self.url, json=opening, headers=bearer(self.token))
        self.opening = answer(response)
        self.session_headers = {
            "mcp-session-id": response.headers["mcp-session-id"],
            "mcp-protocol-version": self._handshake,
        }
        initialized = {"jsonrpc": "2.0", "method": "notifications/initialized"}
        self.http.post(self.url, json=initialized, headers={**bearer(self.token), **self.session_headers})

    def message(self, method: str, params: dict[str, Any] | None = None, **changes: Any) -> dict[str, Any]:
        """The JSON-RPC request for `method`; `changes` replace members of the envelope."""
        sent = dict(params or {})
        if self.wire == "stateless":
            sent["_meta"] = {
                "io.modelcontextprotocol/protocolVersion": STATELESS,
                "io.modelcontextprotocol/clientInfo": _CLIENT,
                "io.modelcontextprotocol/clientCapabilities": self.capabilities,
            }
        return {"jsonrpc": "2.0", "id": next(self._ids), "method": method, "params": sent, **changes}

    def headers(self, method: str, params: dict[str, Any] | None = None, token: str | None = None) -> dict[str, str]:
        """The headers for a request."""
        headers = {**bearer(token or self.token), "content-type": "application/json", **self.session_headers}
        if self.wire == "stateless":
            headers |= {"mcp-protocol-version": STATELESS, "mcp-method": method}
            if method == "tools/call" and isinstance((params or {}).get("name"), str):
                headers["mcp-name"] = (params or {})["name"]
        return headers

    def post(self, body: bytes, method: str, *, token: str | None = None, **headers: str) -> httpx.Response:
        """Send these very bytes."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return self.http.post(self.url, content=body, headers={**self.headers(method, None, token), **named})

    def send(
        self, method: str, params: dict[str, Any] | None = None, *, token: str | None = None, **changes: Any
    ) -> httpx.Response:
        """Send a request, properly."""
        message = self.message(method, params, **changes)
        return self.http.post(self.url, json=message, headers=self.headers(method, params, token))

    def call(self, method: str, params: dict[str, Any] | None = None, *, token: str | None = None) -> dict[str, Any]:
        """The result of a request that must succeed."""
        got = answer(self.send(method, params, token=token))
        assert "result" in got, got
        result: dict[str, Any] = got["result"]
        return result

    def tool(self, name: str, arguments: dict[str, Any] | None = None, *, token: str | None = None) -> dict[str, Any]:
        """The structured result of a tool."""
        result = self.call("tools/call", {"name": name, "arguments": arguments or {}}, token=token)
        structured: dict[str, Any] = result["structuredContent"]
        return structured
