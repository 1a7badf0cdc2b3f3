"""A host's connection to one MCP server, and what both wires have in common.

Owns what a connection and its views share, views that speak with another token, and trying again with another version
of the extension. What a request looks like is in `session` and `stateless`; sending it, and what an answer means, in
`exchange` and `answers`.
"""

import copy
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, ClassVar, Self, TypeVar

import anyio
import httpx

from agent_discovery import __version__
from agent_discovery.versions import Version
from agent_discovery.wire import EXTENSION_ID

from .declaration import Declaration
from .errors import BadRequest, ExtensionVersionNotSupported, ServerFault, SessionEnded, TimedOut
from .exchange import Call, Channel
from .frames import Observer
from .opening import Opening, Wire
from .source import Credential, Notification

__all__ = ["ClientInfo", "Connection", "checked_url"]

T = TypeVar("T")

_CLOSING_SECONDS = 2.0


@dataclass(frozen=True, slots=True)
class ClientInfo:
    """How this host introduces itself to servers."""

    name: str = "agent-discovery-host"
    version: str = __version__

    def to_wire(self) -> dict[str, str]:
        """The `clientInfo` object that travels."""
        return {"name": self.name, "version": self.version}


@dataclass(slots=True)
class Shared:
    """What a connection and its views share: one declaration, one opening, and on the session wire one session."""

    declaration: Declaration
    opening: Opening | None = None
    session_id: str | None = None
    protocol_version: str | None = None
    contexts: set[str] = field(default_factory=set)
    declaring: anyio.Lock = field(default_factory=anyio.Lock)


class Connection(ABC):
    """One server, one wire, one token. Requests may be under way at the same time, also through views.

    Make one with `connect` (opened) or `build_connection` (not opened yet). Use it as an async context manager, or
    call `aclose`.
    """

    wire: ClassVar[Wire]

    def __init__(
        self,
        channel: Channel,
        credential: Credential | None,
        *,
        timeout: float,
        client_info: ClientInfo,
        declare_extension: bool,
        extension_version: Version | str | None = None,
    ) -> None:
        self._channel = channel
        self._shared = Shared(Declaration.of(extension_version))
        self._client_info = client_info
        self._declares = declare_extension
        self._is_view = False
        self.timeout = timeout
        self.credential = credential
        self._shared.contexts.add(self.authorization)

    @property
    def url(self) -> str:
        """The endpoint, as given."""
        return self._channel.url

    @property
    def opening(self) -> Opening | None:
        """What the server said of itself; None before `open`."""
        return self._shared.opening

    @property
    def authorization(self) -> str:
        """Names the authorization context of this connection's token; empty without a token."""
        return self.credential.context if self.credential else ""

    @property
    def listens_for(self) -> frozenset[str]:
        """The authorization contexts whose changes `notifications` of this connection announce."""
        return frozenset({self.authorization})

    @property
    def extension_version(self) -> Version:
        """The version of the extension that may be relied on: never more than both sides are known to have.

        Until the server was asked what it has, that is the `.0` minor of the major that this host declares. Raises
        `ServerFault` where what the server advertises is malformed.
        """
        offered = self.opening.extension_versions if self.opening is not None and self.opening.has_agents else None
        return self._shared.declaration.effective(offered)

    @abstractmethod
    async def open(self) -> Opening:
        """Ask the server who it is and what it offers. Raises `HostError`."""

    @abstractmethod
    def notifications(self) -> AbstractAsyncContextManager[AsyncIterator[Notification]]:
        """A stream of what the server tells unasked; entered only once it is really open.

        Iteration ends where the server ended the stream on purpose and raises `StreamLost` where it broke.
        """

    @abstractmethod
    def _dress(self, message: dict[str, Any]) -> Call:
        """The request as this wire sends it: headers, and what belongs into the message."""

    async def request(
        self, method: str, params: Mapping[str, Any] | None = None, *, timeout: float | None = None
    ) -> dict[str, Any]:
        """Send a JSON-RPC request; returns its `result` object as received. Raises `HostError`.

        `timeout` in seconds covers the whole exchange, and is the connection's own where it is not given. Where the
        server refuses the declared major of the extension, the request is made once more with one that both have.
        """
        return await self._agreeing(lambda: self._ask(method, params, self.timeout if timeout is None else timeout))

    def as_token(self, credential: Credential | None) -> Self:
        """The same connection speaking with another token: same session, HTTP pool, frame numbers and observers.

        Closing a view closes nothing.
        """
        view = copy.copy(self)
        view.credential = credential
        view._is_view = True
        self._shared.contexts.add(view.authorization)
        return view

    def on_wire(self, other: "type[Connection]") -> "Connection":
        """An unopened connection on the other wire, with this one's HTTP pool, frame numbers and observers."""
        return other(
            self._channel,
            self.credential,
            timeout=self.timeout,
            client_info=self._client_info,
            declare_extension=self._declares,
            extension_version=self._shared.declaration.version,
        )

    def observe(self, observer: Observer) -> Callable[[], None]:
        """Have `observer` called with each frame of this connection and its views; returns what undoes it."""
        return self._channel.observe(observer)

    async def aclose(self) -> None:
        """End the session, if there is one, and close the HTTP pool. Bounded, idempotent, never raises."""
        if self._is_view or self._channel.closed:
            return
        with anyio.CancelScope(shield=True):
            with anyio.move_on_after(_CLOSING_SECONDS):
                await self._say_goodbye()
            await self._channel.aclose()

    async def __aenter__(self) -> Self:
        """Open the connection unless it is open already."""
        if self.opening is None:
            try:
                await self.open()
            except BaseException:
                await self.aclose()
                raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the connection; see `aclose`."""
        await self.aclose()

    @abstractmethod
    async def _say_goodbye(self) -> None:
        """What this wire tells the server before closing."""

    async def _ask(self, method: str, params: Mapping[str, Any] | None, timeout: float) -> dict[str, Any]:
        message: dict[str, Any] = {"jsonrpc": "2.0", "id": self._channel.next_id(), "method": method}
        if params is not None:
            message["params"] = dict(params)
        call = self._dress(message)
        try:
            answer = await self._channel.ask(call, timeout)
        except (TimedOut, anyio.get_cancelled_exc_class()):
            await self._abandon(message["id"])
            raise
        return answer.result

    async def _abandon(self, request_id: int) -> None:  # noqa: B027 - one wire has nothing to do here
        """Tell the server that nobody waits for that answer any more; here the closed stream has told it."""

    async def _agreeing(self, attempt: Callable[[], Awaitable[T]]) -> T:
        """Run `attempt`; where it is refused for the declared version, turn to a shared one and run it once more."""
        declared = self._shared.declaration.version
        try:
            return await attempt()
        except (ExtensionVersionNotSupported, SessionEnded) as refusal:
            if not await self._redeclared(declared, refusal):
                raise
        return await attempt()

    async def _redeclared(self, declared: Version | None, refusal: ExtensionVersionNotSupported | SessionEnded) -> bool:
        """Whether what was refused is not declared any more: by this request's doing, or by another's meanwhile."""
        async with self._shared.declaring:
            if self._shared.declaration.version != declared:
                return True  # a session that ended did so because another one took its place
            if isinstance(refusal, SessionEnded) or not self._shared.declaration.turn_to(refusal.supported):
                return False
            await self._declare_anew()
            return True

    def _turns_to_a_shared_major(self, opening: Opening) -> bool:
        """Whether the declaration changed, as the server says that it lacks the declared major and has another."""
        if not self._declares or not opening.has_agents:
            return False
        try:
            return self._shared.declaration.turn_to(opening.extension_versions)
        except ServerFault:
            return False  # core MCP goes on; whoever asks for agents is told what is wrong

    async def _declare_anew(self) -> None:  # noqa: B027 - one wire has nothing to do here
        """Make the changed declaration known, where requests do not carry it anyway."""

    def _call(self, headers: Mapping[str, str], message: Mapping[str, Any] | None, http_method: str = "POST") -> Call:
        token, label = (self.credential.token, self.credential.label) if self.credential else (None, "")
        return Call(
            http_method=http_method,
            headers={"Accept": "application/json, text/event-stream", **headers},
            message=message,
            token=token,
            caller=label,
            in_session="Mcp-Session-Id" in headers,
        )

    def _capabilities(self) -> dict[str, Any]:
        return {"extensions": {EXTENSION_ID: self._shared.declaration.settings}} if self._declares else {}


def checked_url(url: str) -> str:
    """The endpoint, or `BadRequest` where it cannot be one."""
    try:
        parsed = httpx.URL(url)
        host = parsed.host  # decodes the name, which fails where an xn-- label is none
    except (httpx.InvalidURL, TypeError, UnicodeError) as error:
        raise BadRequest(
            f"url must be an http or https address, got {url!r} ({error}); e.g. http://host/mcp"
        ) from error
    if parsed.scheme not in ("http", "https") or not host:
        raise BadRequest(f"url must be an http or https address, got {url!r}; e.g. http://host/mcp")
    if parsed.userinfo:
        raise BadRequest("url must not hold a user name or password; pass a Credential instead")
    return url
