"""What the transport shows: change notifications and their streams, Origin, and the stateless wire's own rules."""

import secrets
from collections.abc import AsyncIterator, Iterator, Mapping
from typing import Any, Final

from agent_discovery.wire import (
    HEADER_MISMATCH,
    LIST_CHANGED,
    LISTEN_ACKNOWLEDGED,
    LISTEN_FILTER_KEY,
    METHOD_NOT_FOUND,
    PROTOCOL_VERSION_NOT_SUPPORTED,
    SUBSCRIPTION_ID_META_KEY,
)
from demo.clauses.ground import NO_PROTOCOL, Ground
from demo.clauses.line import Seen
from demo.clauses.verdicts import Observation, broken, held, unexercised

__all__ = ["bad_origin", "promise", "stateless_rules", "streams"]

QUIET_SECONDS: Final = 0.3
"""How long a stream is listened to for what nobody asked for."""
_ORIGIN: Final = "https://origin.invalid"
_STATELESS_ONLY: Final = "the session wire has no such thing; check it with --wire stateless"


async def promise(ground: Ground) -> AsyncIterator[Observation]:
    """AD-13, as far as it is said: `listChanged` is a boolean."""
    settings, opening = ground.settings, ground.first.opening
    if not isinstance(settings, Mapping):
        yield broken("AD-13", f"the advertised settings are {type(settings).__name__}, not an object", opening)
    elif not isinstance(settings.get("listChanged", False), bool):
        yield broken("AD-13", f"listChanged is {str(settings['listChanged'])[:40]!r}, not a boolean", opening)


async def streams(ground: Ground) -> AsyncIterator[Observation]:
    """AD-13, AD-14 and CO-4. Nothing is changed here, so no notification is waited for."""
    settings = ground.settings
    promised = isinstance(settings, Mapping) and settings.get("listChanged") is True
    if ground.wire == "session":
        yield unexercised("AD-14", _STATELESS_ONLY)
        yield unexercised("CO-4", _STATELESS_ONLY)
        seen = await ground.first.line.overhear(None, first=QUIET_SECONDS, quiet=0)
        opens = seen.error is None
    else:
        seen = await ground.first.line.overhear({LISTEN_FILTER_KEY: True}, first=ground.timeout, quiet=QUIET_SECONDS)
        opens = _granted(seen).get(LISTEN_FILTER_KEY) is True
        other = {"toolsListChanged": True}
        unasked = await ground.first.line.overhear(
            other, first=ground.timeout, quiet=QUIET_SECONDS, note="not asking for agents"
        )
        for observation in (*_framing(seen), *_framing(unasked), *_asking(seen, unasked, promised)):
            yield observation
    yield _kept(promised, opens, seen)


def _kept(promised: bool, opens: bool, seen: Seen) -> Observation:
    heard = _heard(seen)
    if promised:
        if opens:
            return held("AD-13", "promised, and the stream for it opens; nothing was changed to hear of", seen)
        return broken("AD-13", f"promised, but no stream for it opens: {seen.answered}", seen)
    if heard or (opens and seen.told and seen.request.http_method == "POST"):
        return broken("AD-13", "not promised, yet notifications of the roster are granted or sent", seen)
    return held("AD-13", "not promised, and none came", seen)


def _framing(seen: Seen) -> Iterator[Observation]:
    """CO-4: the acknowledgement first, and the subscription's id on every frame."""
    if not seen.told:
        if seen.answer is not None and not seen.refusal:
            yield broken("CO-4", f"the stream brings no acknowledgement: {seen.answered}", seen)
        else:
            yield unexercised("CO-4", f"no listen stream opens: {seen.answered}")
        return
    opened = (seen.request.message or {}).get("id")
    first = seen.told[0].message.get("method")
    if first != LISTEN_ACKNOWLEDGED:
        yield broken("CO-4", f"the first frame is {str(first)[:60]}, not the acknowledgement", seen)
    elif odd := [frame for frame in seen.told if _subscription(frame.message) != opened]:
        yield broken("CO-4", f"a frame names subscription {_subscription(odd[0].message)!r}, not {opened!r}", seen)
    else:
        yield held("CO-4", "the acknowledgement comes first, with the subscription's id", seen)


def _asking(asked: Seen, unasked: Seen, promised: bool) -> Iterator[Observation]:
    """AD-14: who asks is told that it is granted, who does not ask gets nothing."""
    if _granted(unasked).get(LISTEN_FILTER_KEY) is True or _heard(unasked):
        yield broken("AD-14", "a stream that did not ask for the roster is granted it", unasked)
    elif not promised:
        yield unexercised("AD-14", "the server promises no notifications")
    elif _granted(asked).get(LISTEN_FILTER_KEY) is not True:
        yield broken("AD-14", f"the acknowledgement does not grant {LISTEN_FILTER_KEY}: {asked.answered}", asked)
    else:
        yield held("AD-14", "granted to who asks, and to nobody else", asked, unasked)


def _granted(seen: Seen) -> Mapping[str, Any]:
    params = seen.told[0].message.get("params") if seen.told else None
    granted = params.get("notifications") if isinstance(params, Mapping) else None
    return granted if isinstance(granted, Mapping) else {}


def _heard(seen: Seen) -> bool:
    return any(frame.message.get("method") == LIST_CHANGED for frame in seen.told)


def _subscription(message: Mapping[str, Any]) -> Any:
    holder = message.get("params", message.get("result"))
    meta = holder.get("_meta") if isinstance(holder, Mapping) else None
    return meta.get(SUBSCRIPTION_ID_META_KEY) if isinstance(meta, Mapping) else None


async def bad_origin(ground: Ground) -> AsyncIterator[Observation]:
    """CO-8."""
    seen = await ground.first.line.ask("tools/list", headers={"Origin": _ORIGIN}, note=f"Origin: {_ORIGIN}")
    if seen.status == 403:
        yield held("CO-8", f"Origin {_ORIGIN} is refused", seen)
    else:
        yield broken("CO-8", f"Origin {_ORIGIN}: expected HTTP 403, got {seen.answered}", seen)


async def stateless_rules(ground: Ground) -> AsyncIterator[Observation]:
    """CO-9."""
    if ground.wire == "session":
        yield unexercised("CO-9", _STATELESS_ONLY)
        return
    line = ground.first.line
    mismatch = await line.ask("tools/list", headers={"Mcp-Method": "agents/list"}, note="Mcp-Method: agents/list")
    method = await line.ask(f"nobody/{secrets.token_hex(6)}", note="a method of nobody's")
    version = await line.ask("tools/list", protocol_version=NO_PROTOCOL, note=f"protocol {NO_PROTOCOL}")
    wrong = []
    if (mismatch.status, mismatch.code) != (400, HEADER_MISMATCH):
        wrong.append(f"a header that disagrees with the body: HTTP 400 with -32020, got {mismatch.answered}")
    if (method.status, method.code) != (404, METHOD_NOT_FOUND):
        wrong.append(f"an unknown method: HTTP 404 with -32601, got {method.answered}")
    listed = isinstance(version.data.get("supported"), list)
    if (version.status, version.code, listed) != (400, PROTOCOL_VERSION_NOT_SUPPORTED, True):
        wrong.append(f"an unsupported version: HTTP 400 with -32022 and a list, got {version.answered}")
    if wrong:
        yield broken("CO-9", "; ".join(wrong), mismatch, method, version)
    else:
        yield held("CO-9", "400, 404 and 400, each with its code", mismatch, method, version)
