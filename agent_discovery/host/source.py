"""What a cache, a watch and a step-up need of a connection, whoever made it.

Owns the protocol between those and the ways to reach a server, and the small values that it speaks in. This package's
own connections are in `connection`, the official SDK's client as one of them is in `sdk`.
"""

import hashlib
from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import Any, Protocol, Self

from agent_discovery.wire import LIST_CHANGED

from .errors import BadRequest
from .opening import Opening

__all__ = ["AgentSource", "Credential", "Notification"]


@dataclass(frozen=True, slots=True)
class Credential:
    """A bearer token (RFC 6750), and a label for people. Its repr does not show the token."""

    token: str = field(repr=False)
    label: str = ""

    def __post_init__(self) -> None:
        if not self.token or not all("!" <= character <= "~" for character in self.token):
            raise BadRequest(
                "Credential: token must be visible ASCII without spaces; pass the bare token, no 'Bearer '"
            )

    @property
    def context(self) -> str:
        """Names the authorization context without giving away the token: stable, one per token."""
        return "token-" + hashlib.sha256(self.token.encode()).hexdigest()[:32]


@dataclass(frozen=True, slots=True)
class Notification:
    """A notification as it arrived on a stream; `params` is empty where it had none."""

    method: str
    params: Mapping[str, Any]

    @property
    def is_list_changed(self) -> bool:
        """Whether it says that the roster, or a card in it, changed."""
        return self.method == LIST_CHANGED


class AgentSource(Protocol):
    """One server as one caller sees it: what can be asked, and what it tells unasked."""

    @property
    def url(self) -> str:
        """Names the server: what is kept for one name is never used for another."""

    @property
    def opening(self) -> Opening | None:
        """What the server said of itself; None before it was asked."""

    @property
    def authorization(self) -> str:
        """Names the authorization context that requests are made in."""

    @property
    def listens_for(self) -> frozenset[str]:
        """The authorization contexts whose changes `notifications` announce."""

    async def request(
        self, method: str, params: Mapping[str, Any] | None = None, *, timeout: float | None = None
    ) -> dict[str, Any]:
        """Send a JSON-RPC request; returns its `result` object as received. Raises `HostError`."""

    def notifications(self) -> AbstractAsyncContextManager[AsyncIterator[Notification]]:
        """A stream of what the server tells unasked; entered only once it is really open.

        Iteration ends where the server ended the stream on purpose and raises `StreamLost` where it broke.
        """

    def as_token(self, credential: Credential | None) -> Self:
        """The same server, asked with another token. Raises `BadRequest` where that cannot be done."""
