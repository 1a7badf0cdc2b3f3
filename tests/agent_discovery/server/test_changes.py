"""Change notifications without HTTP: whom they reach, and how often."""

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any, cast

import anyio
import pytest
from mcp import Client, MCPError
from mcp.client.extension import ClientExtension, NotificationBinding
from mcp.server.mcpserver import MCPServer
from mcp.server.session import ServerSession
from mcp_types import (
    Notification,
    NotificationParams,
    SubscriptionFilter,
    SubscriptionsAcknowledgedNotification,
    SubscriptionsAcknowledgedNotificationParams,
)

from agent_discovery.server import Access, AgentDef, AgentDiscovery, AgentRegistry, holders_of
from agent_discovery.server.changes import ChangeFeed, Follower, OpenStreams, follow_session, serve_listen
from agent_discovery.wire import EXTENSION_ID, LIST_CHANGED, SUBSCRIPTION_ID_META_KEY

NOBODY: frozenset[str] = frozenset()
HIDDEN = AgentDef(name="hidden", access=Access(visible_to=holders_of("inside")))


class _Ear(ClientExtension):
    """A client's half of the extension that counts what it hears."""

    identifier = EXTENSION_ID

    def __init__(self) -> None:
        self.count = 0
        self.heard = anyio.Event()

    def notifications(self) -> Sequence[NotificationBinding[Any]]:
        return (NotificationBinding(method=LIST_CHANGED, params_type=NotificationParams, handler=self._hear),)

    async def _hear(self, _params: NotificationParams | None) -> None:
        self.count += 1
        self.heard.set()


def _server(**options: Any) -> tuple[MCPServer[Any], AgentRegistry]:
    discovery = AgentDiscovery(AgentRegistry(), **options)
    server: MCPServer[Any] = MCPServer("plain", extensions=[discovery])
    discovery.attach(server)
    return server, discovery.registry


async def test_a_session_without_http_hears_once_of_a_burst_that_it_can_see() -> None:
    server, registry = _server()
    ear = _Ear()
    async with Client(server, mode="legacy", extensions=[ear], cache=None) as client:
        await client.list_tools()
        await anyio.wait_all_tasks_blocked()
        registry.add(HIDDEN)
        await anyio.wait_all_tasks_blocked()
        assert ear.count == 0
        registry.add(AgentDef(name="new"))
        registry.add(AgentDef(name="newer"))
        registry.remove("hidden")
        with anyio.fail_after(5):
            await ear.heard.wait()
        await anyio.wait_all_tasks_blocked()
        assert ear.count == 1


async def test_the_scopes_of_a_session_without_http_are_those_it_opened_with() -> None:
    server, registry = _server(scopes_of=lambda _ctx: frozenset({"inside"}))
    ear = _Ear()
    async with Client(server, mode="legacy", extensions=[ear], cache=None) as client:
        await client.list_tools()
        await anyio.wait_all_tasks_blocked()
        registry.add(HIDDEN)
        with anyio.fail_after(5):
            await ear.heard.wait()


async def test_a_session_that_ended_is_forgotten() -> None:
    server, registry = _server()
    async with Client(server, mode="legacy", extensions=[_Ear()], cache=None) as client:
        await client.list_tools()
        await anyio.wait_all_tasks_blocked()
        assert len(registry._listeners) == 1  # nothing public counts listeners, and nobody but this test asks
    await anyio.wait_all_tasks_blocked()
    assert not registry._listeners


def test_a_change_that_comes_and_goes_between_two_looks_is_none() -> None:
    registry = AgentRegistry()
    follower = Follower(registry, NOBODY)
    registry.add(AgentDef(name="a"))
    registry.remove("a")
    assert not follower.take()
    registry.add(AgentDef(name="a"))
    assert follower.take()
    assert not follower.take()


async def test_a_change_between_two_waits_is_not_lost() -> None:
    registry = AgentRegistry()
    with ChangeFeed(registry) as feed:
        registry.add(AgentDef(name="a"))
        registry.add(AgentDef(name="b"))
        with anyio.fail_after(5):
            await feed.wait()
        with pytest.raises(TimeoutError), anyio.fail_after(0):
            await feed.wait()


class _Session:
    """A session whose client takes notifications only if it reads."""

    def __init__(self, *, reads: bool) -> None:
        self._reads = reads
        self.reached = anyio.Event()
        self.count = 0

    async def send_notification(self, _notification: object) -> None:
        self.count += 1
        self.reached.set()
        if not self._reads:
            await anyio.sleep_forever()


async def test_a_session_that_does_not_read_delays_neither_a_change_nor_another_session() -> None:
    registry = AgentRegistry()
    deaf, reading = _Session(reads=False), _Session(reads=True)
    async with anyio.create_task_group() as tasks:
        for session in (deaf, reading):
            follower = Follower(registry, NOBODY)
            tasks.start_soon(follow_session, cast(ServerSession, session), registry, lambda one=follower: one)
        await anyio.wait_all_tasks_blocked()
        for number in range(3):
            registry.add(AgentDef(name=str(number)))
            await anyio.wait_all_tasks_blocked()
        assert (deaf.count, reading.count) == (1, 3)
        tasks.cancel_scope.cancel()


async def test_a_change_during_the_acknowledgement_comes_after_it_and_is_not_lost() -> None:
    registry = AgentRegistry()
    frames: list[dict[str, Any]] = []
    told = anyio.Event()

    class Reader:
        async def send_notification(self, notification: Notification[Any, Any], related_request_id: object) -> None:
            assert related_request_id == "sub"
            await anyio.wait_all_tasks_blocked()
            frames.append(notification.model_dump(by_alias=True, exclude_none=True))
            if frames[-1]["method"] == LIST_CHANGED:
                told.set()

    async def serve(session: ServerSession) -> None:
        registry.add(AgentDef(name="early"))
        await anyio.wait_all_tasks_blocked()
        params = SubscriptionsAcknowledgedNotificationParams(
            notifications=SubscriptionFilter(tools_list_changed=True), _meta={SUBSCRIPTION_ID_META_KEY: "sub"}
        )
        await session.send_notification(SubscriptionsAcknowledgedNotification(params=params), "sub")
        with anyio.fail_after(5):
            await told.wait()

    ctx: Any = SimpleNamespace(session=Reader(), request_id="sub")
    await serve_listen(ctx, registry, NOBODY, serve)
    stamp = {"_meta": {SUBSCRIPTION_ID_META_KEY: "sub"}}
    assert frames == [
        {
            "method": "notifications/subscriptions/acknowledged",
            "params": {**stamp, "notifications": {"toolsListChanged": True, "agentsListChanged": True}},
        },
        {"method": LIST_CHANGED, "params": stamp},
    ]
    assert not registry._listeners  # as above


async def test_a_refused_listen_request_fails_with_its_own_error() -> None:
    async def serve(_session: ServerSession) -> None:
        raise MCPError(-32603, "Subscription limit reached")

    ctx: Any = SimpleNamespace(session=None, request_id="sub")
    with pytest.raises(MCPError, match="limit"):
        await serve_listen(ctx, AgentRegistry(), NOBODY, serve)


def test_a_stream_that_closes_late_does_not_close_its_successor() -> None:
    streams = OpenStreams(AgentRegistry())
    first = streams.opened("session", NOBODY)
    second = streams.opened("session", NOBODY)
    first()
    assert streams.follower("session") is not None
    second()
    assert streams.follower("session") is None
