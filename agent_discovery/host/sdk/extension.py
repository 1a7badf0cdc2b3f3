"""The extension as a client of the official SDK declares it, and what it hears of changes.

Owns the declaration and the listeners. Which stream a notification came on, and when a stream ends, is `source`.
"""

from collections import deque
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

import anyio
from mcp.client import ClientExtension, NotificationBinding
from pydantic import BaseModel, ConfigDict, Field

from agent_discovery.host.declaration import Declaration
from agent_discovery.host.errors import HostError
from agent_discovery.host.source import Notification
from agent_discovery.versions import Version
from agent_discovery.wire import EXTENSION_ID, LIST_CHANGED, SUBSCRIPTION_ID_META_KEY

from .http import HttpWatch

if TYPE_CHECKING:
    import httpx2

__all__ = ["AgentsExtension", "Heard", "agents_extension"]

_BACKLOG: Final = 64
"""Notifications kept for a listener that does not read; they all say the same, so older ones may go."""


class Told(BaseModel):
    """The params of a notification as they came."""

    model_config = ConfigDict(extra="allow")
    meta: dict[str, Any] = Field(default_factory=dict, alias="_meta")


class Heard:
    """What one listener has yet to read."""

    def __init__(self) -> None:
        self._waiting: deque[Told] = deque(maxlen=_BACKLOG)
        self._moved = anyio.Event()
        self._ended = False
        self._error: HostError | None = None

    def put(self, told: Told) -> None:
        self._waiting.append(told)
        self._moved.set()

    def end(self, error: HostError | None = None) -> None:
        if not self._ended:
            self._ended, self._error = True, error
            self._moved.set()

    async def read(self, subscription_id: object = None) -> AsyncIterator[Notification]:
        """The notifications of that subscription (None: of the session) until the end, which may be an error."""
        while True:
            while self._waiting:
                told = self._waiting.popleft()
                if subscription_id is None or told.meta.get(SUBSCRIPTION_ID_META_KEY) == subscription_id:
                    yield Notification(LIST_CHANGED, told.model_dump(by_alias=True, mode="json"))
            if self._ended:
                if self._error is not None:
                    raise self._error
                return
            await self._moved.wait()
            self._moved = anyio.Event()


class AgentsExtension(ClientExtension):
    """Declares agent discovery for one `mcp.Client`, and hears its change notifications; see `agents_extension`."""

    identifier = EXTENSION_ID

    def __init__(self, *, version: Version | str | None = None, http: "httpx2.AsyncClient | None" = None) -> None:
        self._declaration = Declaration.of(version)
        self._listeners: list[Heard] = []
        self.http = HttpWatch(http) if http is not None else None

    def settings(self) -> dict[str, Any]:
        """What the client declares for the extension."""
        return self._declaration.settings

    def notifications(self) -> Sequence[NotificationBinding[Any]]:
        """The one notification that the extension adds."""
        return (NotificationBinding(method=LIST_CHANGED, params_type=Told, handler=self._hear),)

    @contextmanager
    def listening(self) -> Iterator[Heard]:
        """Hear every notification that arrives while the block runs."""
        heard = Heard()
        self._listeners.append(heard)
        try:
            yield heard
        finally:
            self._listeners.remove(heard)

    async def _hear(self, told: Told) -> None:
        for listener in self._listeners:
            listener.put(told)


def agents_extension(
    *, version: Version | str | None = None, http: "httpx2.AsyncClient | None" = None
) -> AgentsExtension:
    """The extension to pass to `mcp.Client(extensions=[...])`; one for each client.

    `version` ("MAJOR.MINOR.PATCH") is declared where given. `http` is the HTTP client that the client's transport
    uses: with it a 403 is seen with its challenge, `as_token` and so `step_up` work, and the session wire's stream of
    changes is known to be open. Without it these three cannot be seen through the SDK, and a host over HTTP gets a
    `ServerRefused` that says so.
    """
    return AgentsExtension(version=version, http=http)
