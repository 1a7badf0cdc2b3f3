"""Stand-ins for the other side: a scripted HTTP server on a real socket, a connection without a network, a clock."""

import asyncio
import copy
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, ClassVar, Self

from agent_discovery.host import (
    Connection,
    Credential,
    HostError,
    Notification,
    Opening,
    ServerRefused,
    StreamLost,
    Wire,
)
from agent_discovery.wire import EXTENSION_ID

BOUND = 5.0
"""Seconds after which a test that waits for something has failed."""

CAPABILITIES = {"tools": {}, "extensions": {EXTENSION_ID: {"listChanged": True}}}


class Clock:
    """Monotonic seconds that pass only when a test says so."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now

    def advance(self, seconds: float) -> None:
        self.now += seconds


@dataclass(frozen=True)
class Received:
    """A request as the scripted server read it; header names are lower-case."""

    http_method: str
    path: str
    headers: Mapping[str, str]
    body: bytes

    @property
    def message(self) -> dict[str, Any]:
        message: dict[str, Any] = json.loads(self.body)
        return message

    @property
    def id(self) -> Any:
        return self.message.get("id")


class Reply:
    """The answering end of one request."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    async def raw(self, data: bytes, *, piece: int = 0) -> None:
        """Send the bytes as they are; in pieces of that size, each a packet of its own as far as the system allows."""
        for start in range(0, len(data), piece or len(data) or 1):
            self._writer.write(data[start : start + piece] if piece else data)
            await self._writer.drain()
            if piece:
                await asyncio.sleep(0)

    async def head(self, status: int = 200, headers: Mapping[str, str] | None = None) -> None:
        lines = [f"HTTP/1.1 {status} Scripted", *(f"{name}: {value}" for name, value in (headers or {}).items())]
        await self.raw("\r\n".join([*lines, "Connection: close", "", ""]).encode())

    async def body(
        self, body: bytes, status: int = 200, content_type: str = "text/plain", headers: Mapping[str, str] | None = None
    ) -> None:
        sizes = {"Content-Type": content_type, "Content-Length": str(len(body))}
        await self.head(status, {**sizes, **(headers or {})})
        await self.raw(body)

    async def json(self, body: object, status: int = 200, headers: Mapping[str, str] | None = None) -> None:
        await self.body(json.dumps(body).encode(), status, "application/json", headers)

    async def result(self, received: Received, result: object, headers: Mapping[str, str] | None = None) -> None:
        await self.json({"jsonrpc": "2.0", "id": received.id, "result": result}, headers=headers)

    async def open_events(self, headers: Mapping[str, str] | None = None) -> None:
        await self.head(200, {"Content-Type": "text/event-stream", "Transfer-Encoding": "chunked", **(headers or {})})

    async def chunk(self, data: bytes, *, piece: int = 0) -> None:
        """One HTTP chunk; with a piece size, as many chunks of that size."""
        for start in range(0, len(data), piece or len(data)):
            part = data[start : start + piece] if piece else data
            await self.raw(f"{len(part):x}\r\n".encode() + part + b"\r\n")

    async def event(self, message: object) -> None:
        await self.chunk(b"event: message\ndata: " + json.dumps(message).encode() + b"\n\n")

    async def end(self) -> None:
        await self.raw(b"0\r\n\r\n")

    async def until_hung_up(self) -> None:
        """Wait until the host has closed its end."""
        await self._reader.read()

    def reset(self) -> None:
        """Cut the connection without a goodbye."""
        self._writer.transport.abort()


Script = Callable[[Received, Reply], Awaitable[None]]


class ScriptedServer:
    """One request for each TCP connection, answered by `script`; what came is kept in `received`."""

    def __init__(self) -> None:
        self.received: list[Received] = []
        self.script: Script = self._unscripted
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._port}/mcp"

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self._port: int = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            received = await _read(reader)
            self.received.append(received)
            await self.script(received, Reply(reader, writer))
            await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError):
            return  # the host went away, as some tests have it do
        except asyncio.CancelledError:
            return  # the end of the test
        finally:
            self._tasks.discard(task)
            writer.close()

    @staticmethod
    async def _unscripted(received: Received, reply: Reply) -> None:
        await reply.body(b"the test gave no script", 500)


async def _read(reader: asyncio.StreamReader) -> Received:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    http_method, path, _ = head[0].split(" ")
    pairs = (line.split(": ", 1) for line in head[1:] if line)
    headers = {name.lower(): value for name, value in pairs}
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    return Received(http_method, path, headers, body)


async def never(_received: Received, _reply: Reply) -> None:
    """A script that does not answer."""
    await asyncio.Event().wait()


def initialize_result(version: str = "2025-11-25") -> dict[str, Any]:
    return {"protocolVersion": version, "capabilities": CAPABILITIES, "serverInfo": {"name": "scripted"}}


def discover_result(versions: tuple[str, ...] = ("2026-07-28",)) -> dict[str, Any]:
    meta = {"io.modelcontextprotocol/serverInfo": {"name": "scripted"}}
    return {"supportedVersions": list(versions), "capabilities": CAPABILITIES, "_meta": meta, "resultType": "complete"}


def card(name: str) -> dict[str, Any]:
    return {"name": name, "description": f"does {name}", "capabilities": ["ci"]}


def page(*names: str, ttl: object = 60_000, scope: object = "private", cursor: object = None) -> dict[str, Any]:
    result: dict[str, Any] = {"agents": [card(name) for name in names], "ttlMs": ttl, "cacheScope": scope}
    return result if cursor is None else {**result, "nextCursor": cursor}


def details(name: str, ttl: object = 60_000, scope: object = "private") -> dict[str, Any]:
    tools = [{"name": "list_failed_pipelines", "inputSchema": {"type": "object"}}]
    return {"agent": card(name), "instructions": f"You are {name}.", "tools": tools, "ttlMs": ttl, "cacheScope": scope}


def agent_not_found() -> ServerRefused:
    return ServerRefused("no such agent", code=-32602, data={"reason": "agent_not_found"}, status=200)


Respond = Callable[[str, Mapping[str, Any]], Awaitable[dict[str, Any]]]


@dataclass
class Backend:
    """What fake connections to one server ask: `respond` answers, `asked` keeps (context, method, params)."""

    respond: Respond
    url: str = "http://fake.example/mcp"
    asked: list[tuple[str, str, Mapping[str, Any]]] = field(default_factory=list)

    def methods(self) -> list[str]:
        return [method for _, method, _ in self.asked]


class FakeConnection(Connection):
    """A connection without a network: requests go to a backend, notifications come from `streams`."""

    wire: ClassVar[Wire] = "stateless"

    def __init__(self, backend: Backend, credential: Credential | None = None, *, agents: bool = True) -> None:
        self._backend = backend
        self._streams: asyncio.Queue[asyncio.Queue[Notification | HostError | None] | HostError] = asyncio.Queue()
        self.credential = credential
        self.timeout = BOUND
        capabilities = CAPABILITIES if agents else {}
        self._opening = Opening.of("stateless", "2026-07-28", {"name": "fake"}, capabilities, None)

    @property
    def url(self) -> str:
        return self._backend.url

    @property
    def opening(self) -> Opening | None:
        return self._opening

    async def open(self) -> Opening:
        return self._opening

    def as_token(self, credential: Credential | None) -> Self:
        view = copy.copy(self)
        view.credential = credential
        return view

    async def request(
        self, method: str, params: Mapping[str, Any] | None = None, *, timeout: float | None = None
    ) -> dict[str, Any]:
        self._backend.asked.append((self.authorization, method, params or {}))
        return await self._backend.respond(method, params or {})

    def next_stream(self) -> "asyncio.Queue[Notification | HostError | None]":
        """Have the next opening of the stream succeed; what is put into the queue comes out of it, None ends it."""
        stream: asyncio.Queue[Notification | HostError | None] = asyncio.Queue()
        self._streams.put_nowait(stream)
        return stream

    def next_opening_fails(self, error: HostError | None = None) -> None:
        self._streams.put_nowait(error or StreamLost("scripted"))

    def notifications(self) -> AbstractAsyncContextManager[AsyncIterator[Notification]]:
        return self._listen()

    @asynccontextmanager
    async def _listen(self) -> AsyncIterator[AsyncIterator[Notification]]:
        stream = await self._streams.get()
        if isinstance(stream, HostError):
            raise stream
        yield self._told(stream)

    async def _told(self, stream: "asyncio.Queue[Notification | HostError | None]") -> AsyncIterator[Notification]:
        while (item := await stream.get()) is not None:
            if isinstance(item, HostError):
                raise item
            yield item

    async def _say_goodbye(self) -> None:
        """Nothing to say."""

    def _dress(self, message: dict[str, Any]) -> Any:
        raise AssertionError("this connection answers by itself and dresses no request")
