"""What the rosters themselves show: cards, names, pages, and how long they may be kept."""

from collections.abc import AsyncIterator, Iterator, Mapping
from typing import Any, Final

from agent_discovery.wire import AGENTS_LIST, INVALID_PARAMS
from demo.clauses.ground import Ground, Visit, made_up_name
from demo.clauses.line import Seen
from demo.clauses.verdicts import Observation, broken, held, unexercised

__all__ = ["caching", "cards", "names", "pages"]

_CARD_MEMBERS: Final = frozenset({"name", "description", "capabilities", "_meta"})
_OLDER_MEMBERS: Final = ("agentId", "delegateTool")
_NO_ROSTER: Final = "no roster could be read: {}"


def _is_older_shape(visit: Visit) -> bool:
    """Whether the cards are those of an earlier form of the draft, with `agentId` and `delegateTool`."""
    return any(
        isinstance(card, Mapping) and any(name in card for name in _OLDER_MEMBERS) for card in visit.roster.items
    )


async def names(ground: Ground) -> AsyncIterator[Observation]:
    """AD-4."""
    for visit in _readable(ground):
        given = [
            card["name"] for card in visit.roster.items if isinstance(card, Mapping) and _is_name(card.get("name"))
        ]
        twice = sorted({name for name in given if given.count(name) > 1}) if len(set(given)) < len(given) else []
        if twice:
            yield broken("AD-4", f"{visit.label} is given more than once: {', '.join(twice[:5])}", *visit.roster.cited)
        elif given:
            yield held("AD-4", f"{visit.label} sees each name once, {len(given)} in all", *visit.roster.cited)
    yield unexercised("AD-4", _nothing_to_see(ground))


async def cards(ground: Ground) -> AsyncIterator[Observation]:
    """AD-5."""
    for visit in _readable(ground):
        if _is_older_shape(visit):
            yield broken(
                "AD-5",
                "this is the older roster shape, with agentId and delegateTool; the draft now has name, description "
                "and capabilities, and agents/get in place of the delegate tool",
                *visit.roster.cited,
            )
            continue
        wrong = [text for card in visit.roster.items for text in _wrong_with(card, frozenset(visit.tools.by_name))]
        if wrong:
            more = f" and {len(wrong) - 3} more" if len(wrong) > 3 else ""
            yield broken("AD-5", f"{visit.label}: {'; '.join(wrong[:3])}{more}", *visit.roster.cited)
        elif visit.roster.items:
            yield held("AD-5", f"{visit.label}'s cards carry routing fields only", *visit.roster.cited)
    yield unexercised("AD-5", _nothing_to_see(ground))


def _wrong_with(card: Any, tools: frozenset[str]) -> Iterator[str]:
    if not isinstance(card, Mapping):
        yield f"a card is {type(card).__name__}, not an object"
        return
    name = card.get("name")
    if not _is_name(name):
        yield "a card has no name"
    if extra := sorted(set(map(str, card)) - _CARD_MEMBERS):
        yield f"the card of {name} also has {', '.join(extra[:5])}"
    if not isinstance(card.get("description", ""), str):
        yield f"the description of {name} is no text"
    labels = card.get("capabilities")
    if not isinstance(labels, list) or not all(isinstance(label, str) for label in labels):
        yield f"the capabilities of {name} are no list of texts"
    elif named := sorted(tools & set(labels)):
        yield f"the capabilities of {name} name tools: {', '.join(named[:5])}"


async def pages(ground: Ground) -> AsyncIterator[Observation]:
    """AD-12: the pages that there are, and a cursor that is none of the server's."""
    for visit in ground.visits:
        if visit.roster.in_cursors:
            yield broken("AD-12", str(visit.roster.trouble), *visit.roster.seen[-2:])
            return
    if (first := ground.first).roster.trouble is not None:
        yield unexercised("AD-12", _NO_ROSTER.format(first.roster.trouble))
        return
    foreign = await first.line.ask(AGENTS_LIST, {"cursor": made_up_name()}, note="a cursor of nobody's")
    if foreign.code != INVALID_PARAMS:
        yield broken("AD-12", f"a cursor that is none of the server's: -32602, got {foreign.answered}", foreign)
        return
    count = len(first.roster.seen)
    text = f"{count} pages, each reached by the cursor before" if count > 1 else "one page, without nextCursor"
    yield held("AD-12", f"{text}; a cursor of nobody's is refused", *first.roster.cited, foreign)


async def caching(ground: Ground) -> AsyncIterator[Observation]:
    """AD-17, AD-18 and CO-1."""
    lists = [(visit, visit.roster.seen) for visit in ground.visits]
    details = [(visit, [one for one in visit.opened.values() if one.result is not None]) for visit in ground.visits]
    results = [one for _, seen in [*lists, *details] for one in seen if one.result is not None]
    if not results:
        for clause in ("AD-17", "AD-18", "CO-1"):
            yield unexercised(clause, _nothing_to_see(ground))
        return
    for one in results:
        if absent := [name for name in ("ttlMs", "cacheScope") if name not in (one.result or {})]:
            yield broken("AD-17", f"{one.asked} lacks {' and '.join(absent)}", one)
            break
    else:
        if any(seen for _, seen in details):
            examples = [results[0], next(seen[0] for _, seen in details if seen)]
            yield held("AD-17", "roster and details both carry ttlMs and cacheScope", *examples)
        yield unexercised("AD-17", "no agent could be opened")
    for observation in _values(ground, results):
        yield observation
    yield _scope(ground, results)


def _values(ground: Ground, results: list[Seen]) -> Iterator[Observation]:
    listed = [page for visit in ground.visits for page in visit.tools.seen if page.result is not None]
    given = 0
    for one in [*results, *listed]:
        result = one.result or {}
        if "ttlMs" in result and not (type(result["ttlMs"]) is int and result["ttlMs"] >= 0):
            yield broken("CO-1", f"ttlMs of {one.asked} is {str(result['ttlMs'])[:40]!r}", one)
            return
        if "cacheScope" in result and result["cacheScope"] not in ("public", "private"):
            yield broken("CO-1", f"cacheScope of {one.asked} is {str(result['cacheScope'])[:40]!r}", one)
            return
        given += "ttlMs" in result or "cacheScope" in result
    for visit in ground.visits:
        for whole in (visit.roster, visit.tools):
            scopes = {(page.result or {}).get("cacheScope") for page in whole.seen if page.result is not None}
            if len(scopes) > 1:
                yield broken("CO-1", f"the pages of one list of {whole.member} differ in cacheScope", *whole.cited)
                return
    yield held("CO-1", "all values are as they may be", results[0]) if given else unexercised("CO-1", "none is given")


def _scope(ground: Ground, results: list[Seen]) -> Observation:
    public = [one for one in results if (one.result or {}).get("cacheScope") == "public"]
    if not public:
        return held("AD-18", "every roster and every agent's details are private", results[0])
    rosters = [visit.names for visit in ground.visits if visit.roster.is_whole]
    if len(set(rosters)) > 1:
        return broken("AD-18", "public, though callers see different agents", *public[:2])
    if len(rosters) > 1:
        return held("AD-18", f"public, and the same for these {len(rosters)} callers", *public[:1])
    return unexercised("AD-18", "public: give a second token with --token to see whether it is the same for everyone")


def _is_name(name: object) -> bool:
    return isinstance(name, str) and bool(name)


def _readable(ground: Ground) -> list[Visit]:
    return [visit for visit in ground.visits if visit.roster.items]


def _nothing_to_see(ground: Ground) -> str:
    troubles = [visit.roster.trouble for visit in ground.visits if visit.roster.trouble is not None]
    return _NO_ROSTER.format(troubles[0]) if troubles else "no caller sees any agent"
