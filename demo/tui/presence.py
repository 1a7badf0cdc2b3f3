"""Whether the server is there. Screens tell it when they lost the server; it looks out for it and says when it is back.

It owns the notice and the waiting. Reconnecting is the screens' own business: they get a `ServerBack`.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from textual.message import Message

from demo.plain import printable

if TYPE_CHECKING:
    from demo.tui.app import WalkthroughApp

__all__ = ["Presence", "ServerBack", "lost_notice"]

_CONNECT_SECONDS: Final = 2.0
_FIRST_PAUSE, _LONGEST_PAUSE = 0.25, 3.0


class ServerBack(Message):
    """The server answers again: connect anew."""


class Presence:
    """Looks out for the server, one watch at a time."""

    def __init__(self, app: "WalkthroughApp") -> None:
        self._app = app
        self._lost = False

    @property
    def is_lost(self) -> bool:
        return self._lost

    def lost(self, error: Exception | None = None) -> None:
        """The server did not answer, or a connection to it broke. Telling it more than once does no harm."""
        url = self._app.url
        if self._lost or url is None:
            return
        self._lost = True
        self._app.log.warning(f"server lost: {error}")
        self._app.notice = lost_notice(url)
        work: Callable[[], Awaitable[None]] = partial(self._look_out, url)
        self._app.run_worker(work, name="presence", group="presence", exclusive=True)

    async def _look_out(self, url: str) -> None:
        for pause in _pauses():
            await asyncio.sleep(pause)
            if await _answers(url):
                break
        self._lost = False
        self._app.notice = ""
        self._app.tell_screens(ServerBack)


def lost_notice(url: str) -> str:
    """What a reader is told while nobody answers at `url`."""
    port = urlsplit(url).port or 80
    return f"The server at {printable(url)} does not answer. Start it: ./run serve --port {port}. Trying again..."


def _pauses() -> Iterator[float]:
    pause = _FIRST_PAUSE
    while True:
        yield pause
        pause = min(pause * 1.5, _LONGEST_PAUSE)


async def _answers(url: str) -> bool:
    parts = urlsplit(url)
    port = parts.port or (443 if parts.scheme == "https" else 80)
    try:
        async with asyncio.timeout(_CONNECT_SECONDS):
            _, writer = await asyncio.open_connection(parts.hostname, port)
    except OSError:
        return False
    writer.close()
    return True
