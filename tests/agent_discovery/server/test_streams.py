"""Whose scopes count on a GET stream."""

from starlette.requests import Request
from starlette.types import Message, Receive, Scope, Send

from agent_discovery.server import Access, AgentDef, AgentRegistry, Scopes, holders_of
from agent_discovery.server.changes import Follower, OpenStreams
from agent_discovery.server.streams import Closing, StreamReporter

HIDDEN = AgentDef(name="hidden", access=Access(visible_to=holders_of("inside")))


async def _hears(door: str) -> bool:
    """Whether a stream opened by this door hears of an agent that only insiders see."""
    registry = AgentRegistry()
    streams = OpenStreams(registry)
    heard: list[Follower | None] = []

    def scopes_of(request: Request | None) -> Scopes:
        return frozenset({request.headers["x-door"]}) if request is not None else frozenset()

    async def app(_scope: Scope, _receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        heard.append(streams.follower("s1"))

    async def receive() -> Message:
        return {"type": "http.disconnect"}

    async def send(_message: Message) -> None:
        pass

    reporter = StreamReporter(app, streams=streams, scopes_of=scopes_of, closing=Closing())
    headers = [(b"mcp-session-id", b"s1"), (b"x-door", door.encode())]
    await reporter({"type": "http", "method": "GET", "headers": headers}, receive, send)
    registry.add(HIDDEN)
    assert heard[0] is not None
    return heard[0].take()


async def test_a_get_stream_hears_by_the_same_rule_as_every_request() -> None:
    assert await _hears("inside")
    assert not await _hears("outside")
