"""An `mcp.Client` as an `AgentSource`: asking, and being told of changes, on both wires.

Owns the adapter. What it declares and hears is `extension`, how HTTP is looked at past the SDK is `http`, and what an
error becomes is `errors`.
"""

import asyncio
import copy
import uuid
from collections.abc import AsyncIterator, Mapping
from contextlib import (
    AbstractAsyncContextManager,
    AbstractContextManager,
    AsyncExitStack,
    asynccontextmanager,
    nullcontext,
)
from typing import Any, Self, cast

import anyio
from mcp import Client
from mcp.client import ClientSession
from mcp.client.subscriptions import Subscription, SubscriptionLost, listen
from mcp_types import SERVER_INFO_META_KEY, Request
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import BaseModel, RootModel

from agent_discovery.host.errors import BadRequest, ServerRefused, StreamLost, TimedOut
from agent_discovery.host.opening import Opening, Wire
from agent_discovery.host.source import Credential, Notification
from agent_discovery.wire import LISTEN, LISTEN_FILTER_KEY

from .errors import translated
from .extension import AgentsExtension, Heard
from .http import Exchange, GetStream

__all__ = ["ClientSource", "adapt"]


class _Raw(RootModel[dict[str, Any]]):
    """A result object as it came."""


async def adapt(
    client: Client, credential: Credential | None = None, *, url: str | None = None, timeout: float = 10.0
) -> "ClientSource":
    """Use an entered `mcp.Client` as a source of agents; it stays the caller's, and is not closed by this.

    `credential` names the authorization context: pass the token that the client's requests carry, so that two clients
    with the same token share what is cached. Without it, what this client reads is never shared with another's.
    `url` names the server in the cache; by default the client's own URL if it was made from one. `timeout` is in
    seconds. Raises `HostError`; `BadRequest` where the client was made without `agents_extension`.
    """
    extension = next((each for each in client.extensions or () if isinstance(each, AgentsExtension)), None)
    if extension is None:
        raise BadRequest("adapt: the client declares no agents; write Client(..., extensions=[agents_extension()])")
    if not timeout > 0:
        raise BadRequest(f"adapt: timeout must be more than 0 seconds, got {timeout!r}; pass e.g. 10.0")
    try:
        session = client.session
    except RuntimeError as error:
        raise BadRequest("adapt: the client is not connected; call it inside `async with client`") from error
    exchange = Exchange()
    with translated("server/discover", timeout, exchange, str(client.server)):
        opening = await _opening(client, session)
    own_url = client.server if isinstance(client.server, str) else None
    return ClientSource(
        client, extension, opening, credential, url=url or own_url or f"client:{uuid.uuid4().hex}", timeout=timeout
    )


class ClientSource:
    """An `mcp.Client` as an `AgentSource`; made by `adapt`. Views by `as_token` share the client."""

    def __init__(
        self,
        client: Client,
        extension: AgentsExtension,
        opening: Opening,
        credential: Credential | None,
        *,
        url: str,
        timeout: float,
    ) -> None:
        self.client = client
        self.credential = credential
        self.timeout = timeout
        self._extension = extension
        self._opening = opening
        self._url = url
        self._own_context = f"client-{uuid.uuid4().hex}"
        self._is_view = False
        self._contexts = {self.authorization}

    @property
    def url(self) -> str:
        """Names the server."""
        return self._url

    @property
    def opening(self) -> Opening:
        """What the server said of itself."""
        return self._opening

    @property
    def wire(self) -> Wire:
        """Which of the two wires the client negotiated."""
        return self._opening.wire

    @property
    def authorization(self) -> str:
        """Names the authorization context: the credential's, else one of this client's own."""
        return self.credential.context if self.credential else self._own_context

    @property
    def listens_for(self) -> frozenset[str]:
        """On the session wire all contexts of this client, which has one stream; else this one."""
        return frozenset({self.authorization} if self.wire == "stateless" else self._contexts)

    def as_token(self, credential: Credential | None) -> Self:
        """The same client asking with another token, which `agents_extension(http=...)` puts on the requests."""
        if self._extension.http is None:
            raise BadRequest("as_token: the client's HTTP is out of reach; make it with agents_extension(http=...)")
        if credential is None:
            raise BadRequest("as_token: a client of the SDK cannot leave its token out, got None; pass a Credential")
        view = copy.copy(self)
        view.credential, view._is_view = credential, True
        self._contexts.add(view.authorization)
        return view

    async def request(
        self, method: str, params: Mapping[str, Any] | None = None, *, timeout: float | None = None
    ) -> dict[str, Any]:
        """Send a JSON-RPC request through the client; returns its `result`. Raises `HostError`.

        The SDK drops from the core methods' results what the negotiated protocol version does not have.
        """
        seconds = self.timeout if timeout is None else timeout
        request = Request[dict[str, Any], str](method=method, params=dict(params or {}))
        with self._asking() as exchange, self._translated(method, exchange, seconds):
            result = await self.client.session.send_request(request, _Raw, request_read_timeout_seconds=seconds)
        return result.root

    def notifications(self) -> AbstractAsyncContextManager[AsyncIterator[Notification]]:
        """The roster's changes: a listen stream of its own on the stateless wire, else what the session is told.

        On the session wire over HTTP it is entered once the client's GET stream is open and ends with that stream, if
        `agents_extension(http=...)` can see it; without `http` it is entered at once and lasts as long as the block.
        """
        return self._listen() if self.wire == "stateless" else self._follow_session()

    @asynccontextmanager
    async def _listen(self) -> AsyncIterator[AsyncIterator[Notification]]:
        async with AsyncExitStack() as stack:
            heard = stack.enter_context(self._extension.listening())
            asking = cast("ClientSession", _AskingForAgents(self.client.session))
            # Only for the opening: the task that it starts keeps the context, and the block is not part of it.
            with self._asking() as exchange, self._translated(LISTEN, exchange), anyio.fail_after(self.timeout):
                subscription = await stack.enter_async_context(listen(asking))
            if (subscription.honored.model_extra or {}).get(LISTEN_FILTER_KEY) is not True:
                granted = subscription.honored.model_dump(by_alias=True, exclude_none=True)
                raise ServerRefused(f"its acknowledgement does not grant {LISTEN_FILTER_KEY}", data=granted)
            ending = asyncio.create_task(_until_ended(subscription, heard))
            try:
                yield heard.read(subscription.subscription_id)
            finally:
                ending.cancel()
                await asyncio.wait([ending])

    @asynccontextmanager
    async def _follow_session(self) -> AsyncIterator[AsyncIterator[Notification]]:
        with self._extension.listening() as heard:
            stream = await self._get_stream()
            if stream is not None:
                stream.on_end = lambda: heard.end(StreamLost("the client's GET stream ended"))
            yield heard.read()

    async def _get_stream(self) -> GetStream | None:
        """The session's GET stream, open; None where there is none to be seen."""
        http = self._extension.http
        if http is None:
            return None
        with self._asking() as exchange, self._translated("ping", exchange):
            await self.client.session.send_ping()  # names the session, which the SDK does not
        if exchange.session_id is None:
            raise ServerRefused("it keeps no session, so on this wire it has no stream to tell of changes")
        try:
            stream = await http.stream_of(exchange.session_id, timeout=self.timeout)
        except TimeoutError as error:
            raise TimedOut("the client's GET stream", self.timeout) from error
        if not stream.is_open:
            raise ServerRefused("it opens no stream to tell of changes", status=stream.status)
        return stream

    def _asking(self) -> AbstractContextManager[Exchange]:
        http = self._extension.http
        return nullcontext(Exchange()) if http is None else http.asking(self.credential if self._is_view else None)

    def _translated(
        self, method: str, exchange: Exchange, timeout: float | None = None
    ) -> AbstractContextManager[None]:
        return translated(method, self.timeout if timeout is None else timeout, exchange, self.url)


async def _opening(client: Client, session: ClientSession) -> Opening:
    """What the server said of itself; a client pinned to a version has not asked, and made up an empty answer."""
    version = session.protocol_version or ""
    wire: Wire = "stateless" if version in MODERN_PROTOCOL_VERSIONS else "session"
    said: Mapping[str, Any]
    if client.mode in MODERN_PROTOCOL_VERSIONS and client.prior_discover is None:
        said = await session.send_discover(version)
        meta = said.get("_meta")
        info = meta.get(SERVER_INFO_META_KEY) if isinstance(meta, dict) else None
        return Opening.of(wire, version, info, said.get("capabilities"), said.get("instructions"))
    capabilities, server = session.server_capabilities, session.server_info
    return Opening.of(wire, version, _plain(server), _plain(capabilities), session.instructions)


def _plain(model: BaseModel | None) -> dict[str, Any] | None:
    return model.model_dump(by_alias=True, mode="json", exclude_none=True) if model is not None else None


async def _until_ended(subscription: Subscription, heard: Heard) -> None:
    """Pass on how the stream ends; the SDK's own events, which were not asked for, are read past."""
    try:
        async for _event in subscription:
            pass
    except SubscriptionLost as error:
        heard.end(StreamLost(str(error)))
    else:
        heard.end()


class _AskingForAgents:
    """The session as the SDK's `listen` sees it, with agent changes in the filter of what it asks for.

    `listen` takes the core's kinds only and its request can be reached nowhere else: `_stamp`, which it calls on the
    finished request, has no public counterpart. All else, the acknowledgement and the end, is the SDK's own doing.
    """

    def __init__(self, session: ClientSession) -> None:
        self._session = session

    def __getattr__(self, name: str) -> Any:
        return getattr(self._session, name)

    def _stamp(self, data: dict[str, Any], opts: Any) -> None:
        data["params"]["notifications"][LISTEN_FILTER_KEY] = True
        self._session._stamp(data, opts)
