"""Making connections: the one place that knows both wires.

Owns the checks of what a caller passes, and `auto`: the session wire first, the stateless one where the server says
that it has no sessions.
"""

from typing import Final, Literal

import httpx

from agent_discovery.versions import Version
from agent_discovery.wire import HEADER_MISMATCH, METHOD_NOT_FOUND

from .connection import ClientInfo, Connection, checked_url
from .errors import BadRequest, ServerRefused, UnsupportedProtocolVersion
from .exchange import Channel
from .frames import Observer
from .opening import Wire
from .session import SessionConnection
from .source import Credential
from .stateless import StatelessConnection

__all__ = ["build_connection", "connect"]

_WIRES: Final[dict[Wire, type[Connection]]] = {"session": SessionConnection, "stateless": StatelessConnection}
_NO_SESSIONS_HERE: Final = (METHOD_NOT_FOUND, HEADER_MISMATCH)
"""How a server without sessions refuses `initialize`, where it does not name the versions that it speaks."""

_DEFAULT_CLIENT = ClientInfo()


def build_connection(
    url: str,
    credential: Credential | None = None,
    *,
    wire: Wire = "session",
    timeout: float = 10.0,
    client_info: ClientInfo = _DEFAULT_CLIENT,
    observer: Observer | None = None,
    declare_extension: bool = True,
    extension_version: Version | str | None = None,
    http: httpx.AsyncClient | None = None,
) -> Connection:
    """A connection that has sent nothing yet; `await connection.open()` opens it.

    `timeout` is in seconds, for each exchange as a whole. `http` is a client of the caller's own, which is then not
    closed here. `declare_extension=False` makes a host that does not know of agents. `extension_version`
    ("MAJOR.MINOR.PATCH") is the version of the extension that this host declares; without one it is taken to speak
    1.0.0, which it speaks in any case. Raises `BadRequest`.
    """
    if wire not in _WIRES:
        raise BadRequest(f"wire must be 'session' or 'stateless', got {wire!r}; only connect() knows 'auto'")
    if not timeout > 0:
        raise BadRequest(f"timeout must be more than 0 seconds, got {timeout!r}; pass e.g. 10.0")
    channel = Channel(checked_url(url), http)
    if observer is not None:
        channel.observe(observer)
    return _WIRES[wire](
        channel,
        credential,
        timeout=timeout,
        client_info=client_info,
        declare_extension=declare_extension,
        extension_version=extension_version,
    )


async def connect(
    url: str,
    credential: Credential | None = None,
    *,
    wire: Wire | Literal["auto"] = "auto",
    timeout: float = 10.0,
    client_info: ClientInfo = _DEFAULT_CLIENT,
    observer: Observer | None = None,
    declare_extension: bool = True,
    extension_version: Version | str | None = None,
    http: httpx.AsyncClient | None = None,
) -> Connection:
    """Open a connection; see `build_connection` for what can be passed.

    `auto` tries the session wire and falls to the stateless one where the server refuses the session wire as such;
    every other error is raised, and nothing is left open.
    """
    first: Wire = "session" if wire == "auto" else wire
    connection = build_connection(
        url,
        credential,
        wire=first,
        timeout=timeout,
        client_info=client_info,
        observer=observer,
        declare_extension=declare_extension,
        extension_version=extension_version,
        http=http,
    )
    try:
        try:
            await connection.open()
        except ServerRefused as error:
            if wire != "auto" or not _refuses_sessions(error):
                raise
            connection = connection.on_wire(StatelessConnection)
            await connection.open()
    except BaseException:
        await connection.aclose()
        raise
    return connection


def _refuses_sessions(error: ServerRefused) -> bool:
    return isinstance(error, UnsupportedProtocolVersion) or error.code in _NO_SESSIONS_HERE
