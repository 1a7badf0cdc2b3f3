"""The demo server inside another process: for the command line, the walkthrough and the tests alike.

Owns the socket, the thread and a graceful end. It leaves what is served to `app`.
"""

import asyncio
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final, TypeVar

import uvicorn

from agent_discovery.server import AgentRegistry
from server.app import DemoApp, build_app
from server.settings import MCP_PATH, Settings

__all__ = ["RunningServer", "ServerFailed", "running_server"]

_T = TypeVar("_T")

_READY_SECONDS: Final = 20.0
_EXTRA_SECONDS: Final = 3.0
"""Beyond what open requests get, for the thread to end."""


class ServerFailed(RuntimeError):
    """The server did not start, or stopped by itself. The text says what to look at."""


@dataclass(frozen=True)
class RunningServer:
    """A server that answers at `url` while the context manager that gave it is open.

    `registry` belongs to the server's own event loop: change it through `call`.
    """

    url: str
    base_url: str
    port: int
    registry: AgentRegistry
    _app: DemoApp
    _server: "_Uvicorn"
    _loop: asyncio.AbstractEventLoop
    _thread: threading.Thread

    def call(self, function: Callable[[], _T], timeout: float = 5.0) -> _T:
        """Run `function` on the server's event loop and return what it returns, within `timeout` seconds."""

        async def run() -> _T:
            return function()

        return asyncio.run_coroutine_threadsafe(run(), self._loop).result(timeout)

    def reload(self) -> None:
        """Read the roster file again, if there is one. Does not wait."""
        if self._app.reload is not None:
            self._loop.call_soon_threadsafe(self._app.reload.request)

    def begin_shutdown(self) -> None:
        """Begin to end the server, as leaving the block does; streams get their last words. Does not wait."""
        self._server.should_exit = True

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until the server ended by itself, `timeout` seconds at most; whether it did."""
        self._thread.join(timeout)
        return not self._thread.is_alive()


class _Uvicorn(uvicorn.Server):
    """uvicorn, which ends our streams before it waits for them to end."""

    def __init__(self, config: uvicorn.Config, app: DemoApp) -> None:
        super().__init__(config)
        self._demo = app
        self.ready = threading.Event()
        self.loop: asyncio.AbstractEventLoop | None = None

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        self.loop = asyncio.get_running_loop()
        await super().startup(sockets)
        self.ready.set()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._demo.discovery.close()
        await super().shutdown(sockets)


@contextmanager
def running_server(settings: Settings | None = None) -> Iterator[RunningServer]:
    """Run the demo server in a thread of its own until the block ends; its streams are then ended properly.

    Raises:
        OSError: the address cannot be had.
        RosterFileError: the roster file of the settings is none.
        ServerFailed: it did not come up in time.
    """
    chosen = settings if settings is not None else Settings()
    with _bound(chosen.host, chosen.port) as listener:
        port = int(listener.getsockname()[1])
        host = f"[{chosen.host}]" if ":" in chosen.host else chosen.host
        base_url = f"http://{host}:{port}"
        app = build_app(chosen, base_url)
        server = _Uvicorn(_config(app, chosen), app)
        thread = threading.Thread(target=server.run, args=([listener],), name="demo-server")
        thread.start()
        try:
            if not _came_up(server, thread) or server.loop is None:
                raise ServerFailed("the demo server did not start; run it with --log-level debug to see why")
            yield RunningServer(f"{base_url}{MCP_PATH}", base_url, port, app.registry, app, server, server.loop, thread)
        finally:
            server.should_exit = True
            thread.join(chosen.shutdown_seconds + _EXTRA_SECONDS)
            if thread.is_alive():
                server.force_exit = True


def _came_up(server: _Uvicorn, thread: threading.Thread) -> bool:
    """Wait until the server answers, or until it cannot any more."""
    waited = 0.0
    while waited < _READY_SECONDS and thread.is_alive():
        if server.ready.wait(0.05):
            return server.started
        waited += 0.05
    return False


def _bound(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # Named as TCP: asyncio turns Nagle's algorithm off only for connections whose socket says so, and with it on each
    # answer's body waits some 40 ms for the client to acknowledge the headers.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        # Without this a restart within a minute finds the port taken by connections that are already over.
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
        listener.listen(128)
    except OSError:
        listener.close()
        raise
    return listener


def _config(app: DemoApp, settings: Settings) -> uvicorn.Config:
    return uvicorn.Config(
        app.asgi,
        log_level=settings.log_level,
        access_log=settings.log_level in ("info", "debug"),
        log_config=None,
        lifespan="on",
        ws="none",
        server_header=False,
        timeout_graceful_shutdown=settings.shutdown_seconds,
    )
