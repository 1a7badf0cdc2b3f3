"""Why an exchange failed, in one line with the next move. Values in, text out."""

from collections.abc import Mapping
from typing import Any, Final

from agent_discovery.host import AnswerFrame, FailureFrame, parse_challenges
from agent_discovery.wire import (
    AGENT_NOT_FOUND,
    EXTENSION_ID,
    EXTENSION_VERSION_NOT_SUPPORTED,
    HEADER_MISMATCH,
    INVALID_PARAMS,
    METHOD_NOT_FOUND,
    MISSING_CLIENT_CAPABILITY,
    PROTOCOL_VERSION_NOT_SUPPORTED,
    extension_settings,
)
from demo.plain import printable

__all__ = ["why_failed"]

_CODES: Final = {
    METHOD_NOT_FOUND: "the server does not know this method",
    INVALID_PARAMS: "the server does not accept these params",
    HEADER_MISMATCH: "header and body disagree: send the same method, name and version in both",
    MISSING_CLIENT_CAPABILITY: f"the request does not declare {EXTENSION_ID}: declare it among the capabilities",
    EXTENSION_VERSION_NOT_SUPPORTED: "the server has no version of the extension in common with this host",
    PROTOCOL_VERSION_NOT_SUPPORTED: "the server does not speak this protocol version: try the other wire",
}
_OPENINGS: Final = ("initialize", "server/discover")


def why_failed(answer: AnswerFrame | None, failure: FailureFrame | None) -> str | None:
    """One line on what went wrong, or None where nothing did or no answer is there yet."""
    if answer is None:
        return None if failure is None else _one_line(f"no answer: {failure.error}")
    reason = _http_refusal(answer) or _error(answer) or _not_advertised(answer)
    if reason is None and failure is not None:
        reason = f"the stream broke: {failure.error}"
    return None if reason is None else _one_line(reason)


def _http_refusal(answer: AnswerFrame) -> str | None:
    challenges = parse_challenges(answer.headers.get("www-authenticate", ""))
    if answer.status == 401:
        return "401, not authenticated: the request carries no token that this server accepts"
    if answer.status == 403 and challenges and challenges[0].error == "insufficient_scope":
        scope = " ".join(challenges[0].scope)
        return f'403, missing scope: step up to a token that also has "{scope}"'
    if answer.status == 403:
        return "403, forbidden: the server lets this caller not do that, and asks for no scope"
    if answer.status == 404 and "mcp-session-id" in answer.request.headers:
        return "404, the session is over or not this caller's: connect again"
    if answer.status >= 500:
        return f"HTTP {answer.status}, the server is at fault: look at its log"
    if answer.status >= 400 and _error_object(answer) is None:
        return f"HTTP {answer.status}, refused"
    return None


def _error(answer: AnswerFrame) -> str | None:
    error = _error_object(answer)
    if error is None:
        return _tool_error(answer)
    code, data = error.get("code"), error.get("data")
    reason = data.get("reason") if isinstance(data, Mapping) else None
    if reason == AGENT_NOT_FOUND:
        return f"refused, {code} {AGENT_NOT_FOUND}: no such agent, or none that this caller may know of"
    said = _CODES.get(code) if isinstance(code, int) else None
    marks = f"refused, {code}" + (f" {reason}" if reason else "")
    return f"{marks}: {said or error.get('message')}" + (f" ({error.get('message')})" if said else "")


def _error_object(answer: AnswerFrame) -> Mapping[str, Any] | None:
    error = (answer.message or {}).get("error")
    return error if isinstance(error, Mapping) else None


def _tool_error(answer: AnswerFrame) -> str | None:
    result = (answer.message or {}).get("result")
    if not isinstance(result, Mapping) or result.get("isError") is not True:
        return None
    content = result.get("content")
    texts = [str(part.get("text", "")) for part in content if isinstance(part, Mapping)] if content else []
    return f"the tool reports an error: {' '.join(texts)}"


def _not_advertised(answer: AnswerFrame) -> str | None:
    message = answer.request.message or {}
    result = (answer.message or {}).get("result")
    if message.get("method") not in _OPENINGS or not isinstance(result, Mapping):
        return None
    if extension_settings(result.get("capabilities")) is not None:
        return None
    return f"not advertised: this server does not offer {EXTENSION_ID}; go on with tools/list"


def _one_line(text: str) -> str:
    return " ".join(printable(text).split())
