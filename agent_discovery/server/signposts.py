"""Every text that names a next move, in one place.

Owns the wording that models and people read at a dead end. It leaves to its callers the decision that there is one. No
text here names anything but what it is given, and callers give only what the reader may see; a hidden and an unknown
name take the same way through the same function.
"""

import json
from collections.abc import Collection, Iterable
from itertools import islice
from typing import Final

from agent_discovery.server.agents import MAX_NAME_LENGTH
from agent_discovery.wire import AGENTS_GET, AGENTS_LIST, EXTENSION_ID

__all__ = [
    "NOT_ATTACHED",
    "agent_not_found",
    "extension_not_declared",
    "instructions_for",
    "insufficient_scope",
    "invalid_agent_definition",
    "malformed_settings",
    "malformed_version",
    "unknown_tool",
    "version_not_supported",
    "wrong_params",
]

_NAMED_AT_MOST: Final = 20

_TAKES: Final = {
    AGENTS_LIST: f"{AGENTS_LIST} takes no params but a cursor, which is a text; call it without any for the first page",
    AGENTS_GET: f"{AGENTS_GET} takes a name, which is a text; call {AGENTS_LIST} and use a name from there",
    "tools/call": "tools/call takes the name of a tool, and arguments as an object; call tools/list for both",
}

NOT_ATTACHED: Final = (
    "AgentDiscovery got a request but was never attached; call discovery.attach(server) once, "
    "after the server is built and before it serves"
)


def agent_not_found(name: str, visible: Collection[str]) -> str:
    """For a name that this reader cannot open because, as far as it may know, there is no such agent."""
    return (
        f"There is no agent {_quoted(name)}. Call {AGENTS_LIST} and use a name from there; "
        f"this caller can see: {_listed(visible)}."
    )


def invalid_agent_definition(name: str) -> str:
    """For an agent that names a tool the server does not have. The tool's name is for the operator's log."""
    return (
        f"The agent {_quoted(name)} cannot be opened: its definition names a tool that this server does not have. "
        f"Retrying does not help until the server's operator mends it; call {AGENTS_LIST} for other agents."
    )


def unknown_tool(name: str, visible: Collection[str]) -> str:
    """For a tool that this reader cannot call because, as far as it may know, there is no such tool."""
    return (
        f"There is no tool {_quoted(name)}. Call tools/list for the current ones; "
        f"this caller can see: {_listed(visible)}."
    )


def wrong_params(method: str) -> str | None:
    """For a request whose params are not of the method's kind; None for methods that are none of ours."""
    return _TAKES.get(method)


def insufficient_scope(action: str, needed: Iterable[str]) -> str:
    """For something the reader sees and may not do yet. `action` is a phrase such as "opening agent x"."""
    scopes = " ".join(needed)
    return f"{action} takes the scope {scopes}; get a token for the same user that has it and send the request again"


def extension_not_declared() -> str:
    """For a client that calls a method of the extension and did not declare the extension."""
    return (
        f"This method belongs to the extension {EXTENSION_ID}, which the client did not declare; "
        "declare it under capabilities.extensions and send the request again"
    )


def malformed_settings(settings: object) -> str:
    """For a client whose settings for the extension are no object."""
    return (
        f"The client's settings for the extension {EXTENSION_ID} must be an object, got {_shown(settings)}; "
        'declare {} or {"version": "1.0.0"} and send the request again'
    )


def malformed_version(version: object) -> str:
    """For a client that declares a version of the extension which is none."""
    return (
        f"The client's version of the extension {EXTENSION_ID} must be a text MAJOR.MINOR.PATCH, "
        f'got {_shown(version)}; declare one such as "1.0.0" and send the request again'
    )


def version_not_supported(requested: str, supported: Collection[str]) -> str:
    """For a client whose major version of the extension the server does not have."""
    return (
        f"This server does not serve version {requested} of the extension {EXTENSION_ID}; "
        f"declare one of: {_listed(supported)}, and send the request again"
    )


def instructions_for(*, declared: bool, tools: Collection[str] | None, own: str | None = None) -> str:
    """The server's `instructions` for one client: the server's own text first, then where to begin.

    Args:
        declared: whether the client declared the extension.
        tools: the tools this caller may see; None where they are not known here.
        own: the instructions the server has without the extension.
    """
    if declared:
        hint = (
            f"This server publishes agents. Call {AGENTS_LIST} to see which there are, then {AGENTS_GET} with a name "
            "for that agent's instructions and tools; run it yourself through tools/call."
        )
    elif tools is None:
        hint = "Call tools/list to see what this server can do."
    else:
        hint = f"This server's tools: {_listed(tools)}. Call tools/list for their arguments."
    return f"{own}\n\n{hint}" if own else hint


def _listed(names: Collection[str]) -> str:
    if not names:
        return "none"
    listed = ", ".join(islice(names, _NAMED_AT_MOST))
    more = len(names) - _NAMED_AT_MOST
    return f"{listed} and {more} more" if more > 0 else listed


def _quoted(name: str) -> str:
    """A name that came from outside, made fit to print."""
    return f"'{_printable(name)}'"


def _shown(value: object) -> str:
    """JSON that came from outside, in JSON's own spelling and made fit to print."""
    return _printable(json.dumps(value, ensure_ascii=False, default=str))


def _printable(text: str) -> str:
    """A text, bounded and without anything that cannot be shown."""
    shown = "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in text[:MAX_NAME_LENGTH])
    return f"{shown}…" if len(text) > MAX_NAME_LENGTH else shown
