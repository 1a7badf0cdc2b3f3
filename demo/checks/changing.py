"""Scene 7: that the cache answers while it may, and that one notification ends that."""

from agent_discovery.wire import AGENTS_LIST, LIST_CHANGED, SUBSCRIPTION_ID_META_KEY
from demo.cast import ALICE, RELEASE_AGENT
from demo.checks.wording import names_of, some, words
from demo.memory import Memory, NotReached
from demo.scene import Disturbance, Finding

__all__ = [
    "cached_roster_answered",
    "new_roster_has_release_agent",
    "notification_arrived",
    "notification_dropped_the_roster",
    "someone_changed_the_roster",
    "starts_without_release_agent",
]


def starts_without_release_agent(memory: Memory) -> Finding:
    names = names_of(memory, "list-before")
    return Finding(RELEASE_AGENT not in names, f"no {RELEASE_AGENT} yet", some(names))


def cached_roster_answered(memory: Memory) -> Finding:
    trace = memory.trace("list-again")
    hits = [event for event in trace.cache if event.kind == "hit"]
    got = f"{len(trace.requests)} requests, " + (
        f"fresh for {hits[0].remaining_ms / 1000:.0f} s more" if hits else "no hit"
    )
    return Finding(not trace.requests and bool(hits) and hits[0].remaining_ms > 0, "0 requests, and still fresh", got)


def notification_arrived(memory: Memory) -> Finding:
    heard = memory.trace("hear-changed").notifications
    if not heard:
        return Finding(False, LIST_CHANGED, "nothing arrived")
    message = heard[0].message
    stamp = ((message.get("params") or {}).get("_meta") or {}).get(SUBSCRIPTION_ID_META_KEY)
    opened = heard[0].request.message
    expected_stamp = opened.get("id") if opened is not None and memory.wire == "stateless" else None
    held = message.get("method") == LIST_CHANGED and stamp == expected_stamp
    where = "on the GET stream" if memory.wire == "session" else "stamped with its subscription"
    return Finding(held, f"{LIST_CHANGED} {where}", f"{message.get('method')}, subscription id {words(stamp)}")


def notification_dropped_the_roster(memory: Memory) -> Finding:
    dropped = [
        event for event in memory.trace("hear-changed").cache if event.kind == "dropped" and event.what == "roster"
    ]
    expected = "dropped by the notification, while it was fresh"
    if not dropped:
        return Finding(False, expected, "not dropped")
    left = dropped[0].remaining_ms
    return Finding(left > 0, expected, f"dropped with {left / 1000:.0f} s left")


def new_roster_has_release_agent(memory: Memory) -> Finding:
    sent = len(memory.trace("list-after").requests)
    names = names_of(memory, "list-after")
    held = sent >= 1 and RELEASE_AGENT in names
    return Finding(held, f"a request, and {RELEASE_AGENT} in its answer", f"{sent} sent: {some(names)}")


async def someone_changed_the_roster(memory: Memory) -> Disturbance | None:
    """What shows that another client changed the roster while this scene was played, or None."""
    try:
        published = memory.result("publish").get("structuredContent") or {}
        if RELEASE_AGENT in names_of(memory, "list-before"):
            return Disturbance(f"{RELEASE_AGENT} was published again right after this scene retired it")
    except NotReached:
        published = {}
    # Whoever changes the roster is heard, unless the change is taken back at once: that is none to the server's eyes.
    # So without a notification it may be the server that says one thing and does another.
    unheard = not memory.heard
    if published.get("changed") is False:
        return Disturbance(f"{RELEASE_AGENT} was already published when this scene did", doubtful=unheard)
    if len(memory.heard) > 1:
        return Disturbance(f"{len(memory.heard)} notifications came for the one change this scene made")
    if published.get("changed") is True and unheard:
        page = await memory.connection(ALICE).request(AGENTS_LIST)
        if RELEASE_AGENT not in [card.get("name") for card in page.get("agents", [])]:
            return Disturbance(f"{RELEASE_AGENT} was retired again before the notification went out", doubtful=True)
    return None
