"""Five requests that are wrong on purpose, each with the request that is right.

Owns what is wrong with each and how it is mended, in words and in deeds. The answers are the server's own.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from agent_discovery.host import HostError
from agent_discovery.wire import (
    AGENTS_GET,
    AGENTS_LIST,
    CLIENT_CAPABILITIES_META_KEY,
    CLIENT_INFO_META_KEY,
    EXTENSION_ID,
    PROTOCOL_VERSION_META_KEY,
    STATELESS_PROTOCOL_VERSION,
)
from demo.cast import ALICE, ALICE_STEPPED_UP, BOB, Caller
from demo.scene import Wire
from demo.tui.caught import Caught
from demo.tui.outcomes import Outcome, Question

if TYPE_CHECKING:  # a list of what can be broken is shown before anything has to be loaded that sends
    from agent_discovery.host import Connection
    from demo.tui.explorer import Explorer

__all__ = ["BREAKS", "Break"]

UNKNOWN_AGENT: Final = "no-such-agent"
STALE_CURSOR: Final = "c3RhbGUtY3Vyc29yLW9mLWxhc3QtcnVu"
GUARDED_AGENT: Final = "deploy-agent"

Act = Callable[["Explorer"], Awaitable[Outcome]]


@dataclass(frozen=True)
class Break:
    """One thing to break. `wrong` and `right` say in words what `do` and `mend` send."""

    title: str
    wrong: Mapping[Wire, str]
    right: Mapping[Wire, str]
    do: Act
    mend: Act


def _same(text: str) -> Mapping[Wire, str]:
    return {"session": text, "stateless": text}


async def _unknown_name(explorer: "Explorer") -> Outcome:
    return await explorer.ask(Question(AGENTS_GET, {"name": UNKNOWN_AGENT}))


async def _known_name(explorer: "Explorer") -> Outcome:
    """The first agent of the roster, whichever that is."""
    listed = await explorer.ask(Question(AGENTS_LIST))
    agents = (listed.result or {}).get("agents")
    names = [card.get("name") for card in agents if isinstance(card, dict)] if isinstance(agents, list) else []
    if listed.error is not None or not names:
        return listed
    return await explorer.ask(Question(AGENTS_GET, {"name": names[0]}))


async def _stale_cursor(explorer: "Explorer") -> Outcome:
    return await explorer.ask(Question(AGENTS_LIST, {"cursor": STALE_CURSOR}))


async def _first_page(explorer: "Explorer") -> Outcome:
    return await explorer.ask(Question(AGENTS_LIST))


async def _undeclared(explorer: "Explorer") -> Outcome:
    """A host of its own that does not declare the extension, as declaring is the business of the opening."""
    from agent_discovery.host import connect

    caller = explorer.acting

    async def ask(caught: Caught) -> Mapping[str, Any]:
        connection = await connect(
            explorer.url,
            caller.credential,
            wire=explorer.wire,
            timeout=explorer.timeout,
            client_info=explorer.CLIENT,
            observer=explorer.observer,
            declare_extension=False,
        )
        async with connection:
            connection.observe(caught)
            return await connection.request(AGENTS_LIST)

    return await _caught(explorer, Question(AGENTS_LIST), caller, ask)


async def _disagreeing(explorer: "Explorer") -> Outcome:
    """Two who say different things: header and body, or on the session wire the session's owner and the token's."""
    if explorer.wire == "session":
        return await _foreign_session(explorer)
    caller = explorer.acting
    headers = {"MCP-Protocol-Version": STATELESS_PROTOCOL_VERSION, "Mcp-Method": "tools/list"}
    meta = {
        PROTOCOL_VERSION_META_KEY: STATELESS_PROTOCOL_VERSION,
        CLIENT_INFO_META_KEY: explorer.CLIENT.to_wire(),
        CLIENT_CAPABILITIES_META_KEY: {"extensions": {EXTENSION_ID: {}}},
    }
    message = {"jsonrpc": "2.0", "id": 1, "method": AGENTS_LIST, "params": {"_meta": meta}}

    from demo.tui.raw_request import send_raw

    async def send(caught: Caught) -> Mapping[str, Any]:
        observers = (explorer.observer, caught)
        return await send_raw(explorer.url, caller, headers, message, timeout=explorer.timeout, observers=observers)

    return await _caught(explorer, Question(AGENTS_LIST), caller, send)


async def _foreign_session(explorer: "Explorer") -> Outcome:
    owner = explorer.acting
    stranger = ALICE if owner.user == BOB.user else BOB

    async def ask(caught: Caught) -> Mapping[str, Any]:
        connection: Connection = (await explorer.connection(owner)).as_token(stranger.credential)
        stop = connection.observe(caught)
        try:
            return await connection.request(AGENTS_LIST)
        finally:
            stop()

    return await _caught(explorer, Question(AGENTS_LIST), stranger, ask)


async def _missing_scope(explorer: "Explorer") -> Outcome:
    caller = ALICE if explorer.acting == ALICE_STEPPED_UP else explorer.acting
    return await explorer.ask(Question(AGENTS_GET, {"name": GUARDED_AGENT}), caller)


async def _with_scope(explorer: "Explorer") -> Outcome:
    return await explorer.ask(Question(AGENTS_GET, {"name": GUARDED_AGENT}), ALICE_STEPPED_UP)


async def _caught(
    explorer: "Explorer", question: Question, caller: Caller, work: Callable[[Caught], Awaitable[Mapping[str, Any]]]
) -> Outcome:
    caught = Caught(question.method, caller.name)
    result: Mapping[str, Any] | None = None
    error: HostError | None = None
    try:
        result = await work(caught)
    except HostError as problem:
        error = problem
    return Outcome(question, caller, explorer.wire, caught.request, caught.answer, result, error)


BREAKS: Final = (
    Break(
        "An agent that does not exist",
        _same(f'agents/get names "{UNKNOWN_AGENT}". A hidden agent answers in exactly the same way.'),
        _same("agents/list first, then agents/get with a name from it."),
        _unknown_name,
        _known_name,
    ),
    Break(
        "A stale cursor",
        _same("agents/list goes on from a cursor that this run of the server never handed out."),
        _same("agents/list from the first page, without a cursor."),
        _stale_cursor,
        _first_page,
    ),
    Break(
        "The extension not declared",
        {
            "session": "A new session whose initialize does not declare the extension asks for agents/list.",
            "stateless": "agents/list whose _meta does not declare the extension among the client's capabilities.",
        },
        _same("The same request from a host that declares the extension."),
        _undeclared,
        _first_page,
    ),
    Break(
        "Two that disagree",
        {
            "session": "agents/list in a session that belongs to somebody else: the token says one user, the session "
            "another.",
            "stateless": "The header Mcp-Method says tools/list, the body says agents/list.",
        },
        {
            "session": "agents/list in a session of the caller's own.",
            "stateless": "agents/list with the header that says so too.",
        },
        _disagreeing,
        _first_page,
    ),
    Break(
        "A scope too few",
        _same(f"agents/get names {GUARDED_AGENT}, with a token that lacks ops:deploy."),
        _same("The same request with the token of Alice stepped up, which has the scope."),
        _missing_scope,
        _with_scope,
    ),
)
