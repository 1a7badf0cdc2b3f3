"""Frames as the host side makes them, for tests that need traffic without a network."""

from collections.abc import Mapping
from typing import Any

from agent_discovery.host import AnswerFrame, FailureFrame, HostError, NotificationFrame, RequestFrame
from demo.tui.records import TrafficLog

URL = "http://127.0.0.1:8080/mcp"
HEADERS = {"authorization": "Bearer ***", "content-type": "application/json", "mcp-session-id": "abc"}
CHALLENGE = 'Bearer error="insufficient_scope", scope="ops:read ops:deploy", error_description="more, please"'
TRAPS = ("[/", "[0]", "[b +", "[true, false]", "[/red]", "[@click=app.quit]x[/]", "\\[", "a\x1b[31mb")
"""Data that is markup, or a command to the terminal, where it is not taken for what it is."""
TWO_LINES = "two\nlines"
"""Data that takes two rows where there is one for it, if it is not taken for what it is."""


def request(
    method: str = "agents/list", params: Mapping[str, Any] | None = None, *, caller: str = "Alice", number: int = 1
) -> RequestFrame:
    """A JSON-RPC request on the session wire."""
    message = {"jsonrpc": "2.0", "id": number, "method": method, "params": dict(params or {})}
    return RequestFrame(number, caller, "POST", URL, HEADERS, message, 0.0)


def answer(
    sent: RequestFrame,
    result: Any = None,
    *,
    status: int = 200,
    headers: Mapping[str, str] | None = None,
    error: Mapping[str, Any] | None = None,
) -> AnswerFrame:
    """An answer with a result, or with a JSON-RPC error."""
    message: dict[str, Any] = {"jsonrpc": "2.0", "id": 1}
    message |= {"result": result if result is not None else {}} if error is None else {"error": error}
    return AnswerFrame(sent, status, headers or {"content-type": "application/json"}, message, message, 12.4, 0.0)


def challenged(sent: RequestFrame) -> AnswerFrame:
    """HTTP 403 that asks for more scopes."""
    return AnswerFrame(sent, 403, {"www-authenticate": CHALLENGE}, None, None, 3.0, 0.0)


def failed(sent: RequestFrame, error: HostError) -> FailureFrame:
    return FailureFrame(sent, error, 5.0, 0.0)


def notified(sent: RequestFrame, method: str) -> NotificationFrame:
    return NotificationFrame(sent, {"jsonrpc": "2.0", "method": method}, 7.0, 0.0)


def fill(log: TrafficLog, count: int, *, size: int = 0) -> None:
    """So many exchanges by turns of Alice and Bob, every second one challenged; `size` bytes more in each answer."""
    observe = log.observer(lambda: "session", URL, lambda: 3)
    for number in range(1, count + 1):
        sent = request(caller="Alice" if number % 2 else "Bob", number=number)
        observe(sent)
        agents = [{"name": f"agent-{number}", "description": "x" * size}]
        observe(answer(sent, {"agents": agents}) if number % 2 else challenged(sent))
