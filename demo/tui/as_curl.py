"""A request that really travelled as shell commands that can be pasted into a POSIX shell.

The command itself is worded and quoted in `demo.curl`; this adds what it takes to run it alone: the address, and the
variables for what was masked.
"""

from urllib.parse import urlsplit

from agent_discovery.host import RequestFrame
from demo.cast import CAST, Caller
from demo.curl import quoted, session_variable, shell_commands
from demo.recording import SentRequest
from demo.scene import Challenged, Exchange, Wire

__all__ = ["curl_command"]


def curl_command(request: RequestFrame, wire: Wire, *, token: str | None = None) -> str:
    """The request, with its own headers and body, behind the lines that set `URL` and what else it refers to.

    Args:
        request: what was sent; its secrets are masked.
        wire: the wire that it was sent on.
        token: written into the caller's variable; without it the line says what to fill in.
    """
    caller = _caller(request.caller)
    sent = SentRequest(
        request.caller, request.http_method, urlsplit(request.url).path, request.headers, request.message
    )
    # As a step that may be challenged, it shows the answer's status and headers beside its body.
    step = Exchange("copied", caller, "", Challenged(""))
    lines = [f"URL={quoted(request.url)}"]
    if "authorization" in request.headers:
        filled = quoted(token) if token is not None else f'"${{{caller.variable}:?put the token here}}"'
        lines.append(f"{caller.variable}={filled}")
    if "mcp-session-id" in request.headers:
        lines.append(f"{session_variable(caller)}={quoted(request.headers['mcp-session-id'])}")
    return "\n".join([*lines, *shell_commands(step, wire, (sent,))]) + "\n"


def _caller(label: str) -> Caller:
    for caller in CAST:
        if caller.name == label:
            return caller
    return Caller(label or "nobody", "caller", "", (), "TOKEN")
