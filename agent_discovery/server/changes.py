"""list_changed to every open stream of both wires.

Owns who listens: the GET streams of sessions and the answer streams of `subscriptions/listen`. It leaves to `registry`
what changed and for whom. Each listener has its own task and keeps the fingerprint of the roster its caller last could
see, so a change that hides behind a policy wakes no client, a burst becomes one notification, and a client that does
not read delays nobody else. Delivery is best effort without replay (draft, "List changed").
"""

from collections.abc import Awaitable, Callable
from typing import Any, Final, cast

import anyio
from mcp.server.context import HandlerResult, ServerRequestContext
from mcp.server.session import ServerSession
from mcp_types import (
    Notification,
    NotificationParams,
    RequestId,
    ServerNotification,
    SubscriptionFilter,
    SubscriptionsAcknowledgedNotification,
)

from agent_discovery.server.access import Scopes
from agent_discovery.server.registry import AgentRegistry
from agent_discovery.wire import LIST_CHANGED, LISTEN_FILTER_KEY, SUBSCRIPTION_ID_META_KEY

__all__ = ["ChangeFeed", "Follower", "OpenStreams", "follow_session", "serve_listen"]

_SEND_TIMEOUT: Final = 5.0
"""Seconds to wait for one session's client to take a notification; after that it counts as lost."""


class _Changed(Notification[NotificationParams | None, str]):
    method: str = LIST_CHANGED
    params: NotificationParams | None = None


class Follower:
    """One caller's view of the roster over time: tells whether it changed since it was last looked at.

    Create it when the stream opens: what the caller could see then is what it is taken to know.
    """

    def __init__(self, registry: AgentRegistry, scopes: Scopes) -> None:
        self._registry = registry
        self._scopes = scopes
        self._seen = registry.view(scopes).fingerprint

    def take(self) -> bool:
        """Whether this caller's roster changed since the last call."""
        now = self._registry.view(self._scopes).fingerprint
        changed = now != self._seen
        self._seen = now
        return changed


class ChangeFeed:
    """Wakes a task after roster changes. Use it as a context manager, so that the registry forgets it afterwards."""

    def __init__(self, registry: AgentRegistry) -> None:
        self._registry = registry
        self._changed = anyio.Event()

    def __enter__(self) -> "ChangeFeed":
        self._stop = self._registry.on_change(self._wake)
        return self

    def __exit__(self, *_exc: object) -> None:
        self._stop()

    def _wake(self) -> None:
        self._changed.set()

    async def wait(self) -> None:
        """Return once something changed since the last return, however often."""
        await self._changed.wait()
        self._changed = anyio.Event()


class OpenStreams:
    """The GET streams that are open now, by session id; the edge reports them.

    A session's own scopes say nothing about who is listening: that is the token on the GET request.
    """

    def __init__(self, registry: AgentRegistry) -> None:
        self._registry = registry
        self._followers: dict[str, Follower] = {}

    def opened(self, session_id: str, scopes: Scopes) -> Callable[[], None]:
        """Note a stream that opens; returns what to call when it closes."""
        follower = self._followers[session_id] = Follower(self._registry, scopes)

        def closed() -> None:
            if self._followers.get(session_id) is follower:
                del self._followers[session_id]

        return closed

    def follower(self, session_id: str) -> Follower | None:
        """Who listens on a session's stream, or None while it has none open."""
        return self._followers.get(session_id)


async def follow_session(
    session: ServerSession, registry: AgentRegistry, follower: Callable[[], Follower | None]
) -> None:
    """Tell one session of changes until cancelled. `follower` gives who listens now, if anyone."""
    with ChangeFeed(registry) as feed:
        while True:
            await feed.wait()
            listening = follower()
            if listening is not None and listening.take():
                # The SDK's message router waits for a client that does not read; this task would wait with it.
                with anyio.move_on_after(_SEND_TIMEOUT):
                    await session.send_notification(cast(ServerNotification, _Changed()))


class _AcknowledgingSession:
    """The session of one listen request, whose acknowledgement also says that agent changes will come."""

    def __init__(self, session: ServerSession) -> None:
        self._session = session
        self.acknowledged = anyio.Event()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._session, name)

    async def send_notification(
        self, notification: ServerNotification, related_request_id: RequestId | None = None
    ) -> None:
        if not isinstance(notification, SubscriptionsAcknowledgedNotification):
            await self._session.send_notification(notification, related_request_id)
            return
        honoured = notification.params.notifications.model_dump(by_alias=True, exclude_none=True)
        both = SubscriptionFilter.model_validate({**honoured, LISTEN_FILTER_KEY: True})
        params = notification.params.model_copy(update={"notifications": both})
        await self._session.send_notification(notification.model_copy(update={"params": params}), related_request_id)
        self.acknowledged.set()


async def serve_listen(
    ctx: ServerRequestContext[Any, Any],
    registry: AgentRegistry,
    scopes: Scopes,
    serve: Callable[[ServerSession], Awaitable[HandlerResult]],
) -> HandlerResult:
    """Run the server's own listen handler, and beside it a task that adds agent changes to the same stream.

    `serve` runs the handler with the session it is given. The acknowledgement stays the first frame, and every frame
    carries the subscription id (SEP-2575).
    """
    session = _AcknowledgingSession(ctx.session)
    follower = Follower(registry, scopes)
    request_id = ctx.request_id
    changed = _Changed(params=NotificationParams(_meta={SUBSCRIPTION_ID_META_KEY: request_id}))
    result: HandlerResult = None
    failure: Exception | None = None

    async def tell(feed: ChangeFeed) -> None:
        await session.acknowledged.wait()
        while True:
            if follower.take():
                await ctx.session.send_notification(cast(ServerNotification, changed), request_id)
            await feed.wait()

    with ChangeFeed(registry) as feed:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(tell, feed)
            try:
                result = await serve(cast(ServerSession, session))
            except Exception as error:  # noqa: BLE001 - re-raised below, bare: the task group would wrap it
                failure = error
            tasks.cancel_scope.cancel()
    if failure is not None:
        raise failure
    return result
