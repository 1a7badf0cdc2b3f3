"""A step of the script as shell commands that a reader can paste: curl, and what it takes to follow a stream.

The command says what the step's request said when the script was played, header by header and member by member; only
the token and the session id are shell variables. It owns the wording of the commands and the quoting; which requests
a step makes is in `demo.script`, what they looked like in `demo.recording`. Everything is for a POSIX `sh`, and holds
no comments, as some interactive shells do not take any.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from agent_discovery.wire import LISTEN_ACKNOWLEDGED
from demo.cast import Caller
from demo.recording import SentRequest
from demo.scene import Accepted, Challenged, Exchange, Hear, Leave, Listen, Open, Step, Unlisten, Wire

__all__ = ["quoted", "session_variable", "shell_commands"]

HEADERS_FILE: Final = "headers.txt"
STREAM_FILE: Final = "changes.txt"

_SPELLING: Final = {
    "accept": "Accept",
    "content-type": "Content-Type",
    "mcp-session-id": "Mcp-Session-Id",
    "mcp-protocol-version": "MCP-Protocol-Version",
    "mcp-method": "Mcp-Method",
    "mcp-name": "Mcp-Name",
}
"""The headers as the specifications write them; recordings hold lower-case names."""

_WAIT_FOR: Final = """\
wait_for() {
  for second in 1 2 3 4 5 6 7 8 9 10; do
    if grep -q "$1" "$2"; then return 0; fi
    sleep 1
  done
  echo "No $1 within ten seconds" >&2
  return 1
}"""

_JUST_THE_STATUS: Final = ("-o /dev/null", r"-w 'HTTP %{http_code}\n'")
_ONE_LINE: Final = (r"-w '\n'",)


def quoted(text: str) -> str:
    """The text as one word of a POSIX shell, taken literally: in single quotes, whatever it holds."""
    return "'" + text.replace("'", "'\\''") + "'"


def session_variable(caller: Caller) -> str:
    """The shell variable with the session that this caller's host opened, e.g. `ALICE_SESSION`."""
    return f"{caller.user.upper()}_SESSION"


def shell_commands(step: Step, wire: Wire, requests: Sequence[SentRequest] = ()) -> tuple[str, ...]:
    """The commands for a step: one for each request that it makes, or one for what happens on the open stream.

    Args:
        step: a step of the script.
        wire: the wire that the requests were made on.
        requests: the step's requests as recorded.

    Returns:
        Commands without a trailing line break; none for a step in which nothing has to be typed.
    """
    match step:
        case Open(caller=caller):
            return tuple(_opening(request, caller) for request in requests)
        case Exchange(caller=caller, answer=Challenged()):
            return tuple(_curl(request, caller, flags="-sSi", extra=_ONE_LINE) for request in requests)
        case Exchange(caller=caller, answer=Accepted()) | Leave(caller=caller):
            return tuple(_curl(request, caller, extra=_JUST_THE_STATUS) for request in requests)
        case Exchange(caller=caller):
            return tuple(_curl(request, caller, extra=_ONE_LINE) for request in requests)
        case Listen(caller=caller):
            return tuple(_listening(request, caller, wire) for request in requests)
        case Hear(method=method):
            return (f"wait_for {method} {STREAM_FILE}\n{_messages('tail -n 1')}",)
        case Unlisten():
            return (f'kill "$STREAM"\nrm -f {HEADERS_FILE} {STREAM_FILE}',)
        case _:
            return ()


def _opening(request: SentRequest, caller: Caller) -> str:
    match (request.message or {}).get("method"):
        case "initialize":
            keep = (
                f"{session_variable(caller)}=$(sed -n 's/^[Mm]cp-[Ss]ession-[Ii]d: *//p' {HEADERS_FILE} | tr -d '\\r')"
            )
            return _curl(request, caller, extra=(f"-D {HEADERS_FILE}", *_ONE_LINE)) + "\n" + keep
        case "notifications/initialized":
            return _curl(request, caller, extra=_JUST_THE_STATUS)
        case _:
            return _curl(request, caller, extra=_ONE_LINE)


def _listening(request: SentRequest, caller: Caller, wire: Wire) -> str:
    """Opens the stream in the background and waits until it is open: what changes earlier is not told."""
    if wire == "session":
        # Nothing is said on the stream before there is news, but curl writes the headers as soon as they are there.
        told, opened = HEADERS_FILE, f"wait_for '^HTTP/1.1 200' {HEADERS_FILE}"
        extra, shown = [f"-D {HEADERS_FILE}"], []
    else:
        told, opened = STREAM_FILE, f"wait_for {LISTEN_ACKNOWLEDGED} {STREAM_FILE}"
        extra, shown = [], [_messages("tail -n 1")]
    curl = _curl(request, caller, flags="-sSN", extra=(*extra, f"> {STREAM_FILE} &"))
    return "\n".join([_WAIT_FOR, f": > {told}", curl, "STREAM=$!", opened, *shown])


def _messages(which: str) -> str:
    return f"sed -n 's/^data: {{/{{/p' {STREAM_FILE} | tr -d '\\r' | {which}"


def _curl(request: SentRequest, caller: Caller, *, flags: str = "-sS", extra: Sequence[str] = ()) -> str:
    start = f'curl {flags} "$URL"'
    if request.message is None and request.http_method != "GET":
        start = f'curl {flags} -X {request.http_method} "$URL"'
    body = () if request.message is None else (f"-d {quoted(_one_line(request.message))}",)
    return " \\\n  ".join([start, *_headers(request.headers, caller), *body, *extra])


def _headers(headers: Mapping[str, str], caller: Caller) -> list[str]:
    lines = []
    if "authorization" in headers:
        lines.append(f'-H "Authorization: Bearer ${caller.variable}"')
    if "mcp-session-id" in headers:
        lines.append(f'-H "Mcp-Session-Id: ${session_variable(caller)}"')
    lines += [
        f"-H {quoted(f'{spelling}: {headers[name]}')}"
        for name, spelling in _SPELLING.items()
        if name in headers and name != "mcp-session-id"
    ]
    return lines


def _one_line(message: Mapping[str, Any]) -> str:
    return json.dumps(message, ensure_ascii=False)
