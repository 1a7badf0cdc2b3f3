"""The demo server behind a wrapper that tampers with what it answers, on a real socket.

Owns the wrapper and the running of it. It leaves what is tampered with to whoever gives the function, and knows nothing
of the walkthrough. Answers that are one JSON body and the frames of event streams are treated alike.
"""

import json
import socket
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Final

import uvicorn
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from server.app import DemoApp, build_app
from server.settings import MCP_PATH, Settings
from server.tokens import DEMO_TOKENS

__all__ = ["Answer", "Asked", "Tamper", "TamperedServer", "honest", "running_tampered_server"]

_USERS: Final = {f"Bearer {known.token}": known.user for known in DEMO_TOKENS}


@dataclass(frozen=True)
class Asked:
    """A request as the wrapper saw it; `message` is empty for GET and DELETE."""

    http_method: str
    user: str
    stepped_up: bool
    message: Mapping[str, Any]

    @property
    def method(self) -> str:
        return str(self.message.get("method", self.http_method))

    @property
    def params(self) -> Mapping[str, Any]:
        params = self.message.get("params")
        return params if isinstance(params, Mapping) else {}

    @property
    def name(self) -> str:
        """The agent or the tool that is asked for."""
        return str(self.params.get("name", ""))


@dataclass(frozen=True)
class Answer:
    """A whole answer, or one frame of a stream (then only `message` can be changed).

    `message` is what the body holds as JSON, None where it is empty or no JSON; `raw` replaces the body, whatever it
    was.
    """

    status: int
    headers: Mapping[str, str]
    message: Any
    raw: bytes | None = None

    def with_result(self, **members: Any) -> "Answer":
        """The same with members of the result replaced; None takes a member out."""
        result = {**self.message["result"], **members}
        kept = {name: value for name, value in result.items() if value is not None}
        return replace(self, message={**self.message, "result": kept})

    def with_header(self, name: str, value: str) -> "Answer":
        return replace(self, headers={**self.headers, name: value})

    def refused(self, code: int, message: str, data: Any = None, *, status: int = 200) -> "Answer":
        """A JSON-RPC error in place of it."""
        request_id = self.message.get("id") if isinstance(self.message, Mapping) else None
        error = {"code": code, "message": message, "data": data}
        body = {"jsonrpc": "2.0", "id": request_id, "error": error}
        return Answer(status, {"content-type": "application/json"}, body)


Tamper = Callable[[Asked, Answer], Answer | None]
"""Makes an answer out of the true one. None: it never comes, and whoever asked waits."""


def honest(_: Asked, answer: Answer) -> Answer | None:
    return answer


@dataclass
class TamperedServer:
    """A running server; `tamper` may be replaced at any time. `sessions` are those that were opened and not ended."""

    url: str
    tamper: Tamper
    sessions: set[str] = field(default_factory=set)
    streams: int = 0
    """How many event streams are open now."""
    waiting: threading.Event = field(default_factory=threading.Event)
    """Set when an answer is withheld: from then on somebody waits for it."""


class _Wrapper:
    """The ASGI side of it."""

    def __init__(self, app: ASGIApp, server: TamperedServer) -> None:
        self._app = app
        self._server = server

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        body = await _read(receive) if scope["method"] == "POST" else b""
        asked = _asked(scope, body)
        begun = _Begun(asked, self._server, send)
        try:
            await self._app(scope, _replaying(body, receive), begun.send)
            if begun.withheld:
                self._server.waiting.set()
                while (await receive())["type"] != "http.disconnect":
                    pass
        finally:
            begun.close()


class _Begun:
    """One answer under way: held back until it is known what becomes of it."""

    def __init__(self, asked: Asked, server: TamperedServer, send: Send) -> None:
        self._asked = asked
        self._server = server
        self._send = send
        self._start: Message = {}
        self._streams = False
        self._pending = b""
        self.withheld = False

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self._start = message
            self._streams = _headers(message).get("content-type", "").startswith("text/event-stream")
            if self._streams:
                self._server.streams += 1
                await self._send(message)
            return
        self._pending += message.get("body", b"")
        more = message.get("more_body", False)
        if self._streams:
            await self._frames(more=more)
        elif not more:
            await self._whole()

    def close(self) -> None:
        if self._streams:
            self._server.streams -= 1

    async def _frames(self, *, more: bool) -> None:
        *frames, self._pending = self._pending.replace(b"\r\n", b"\n").split(b"\n\n")
        kept = [changed for frame in frames if (changed := self._frame(frame)) is not None]
        await self._send({"type": "http.response.body", "body": b"".join(kept), "more_body": more})

    def _frame(self, frame: bytes) -> bytes | None:
        lines = frame.split(b"\n")
        data = b"\n".join(line[5:].strip() for line in lines if line.startswith(b"data:"))
        if not data:
            return frame + b"\n\n"
        answer = self._server.tamper(self._asked, Answer(200, _headers(self._start), json.loads(data)))
        if answer is None:
            return None
        others = [line for line in lines if not line.startswith(b"data:")]
        content = answer.raw if answer.raw is not None else json.dumps(answer.message).encode()
        return b"\n".join([*others, b"data: " + content]) + b"\n\n"

    async def _whole(self) -> None:
        headers = _headers(self._start)
        true = Answer(self._start["status"], headers, _parsed(self._pending))
        answer = self._server.tamper(self._asked, true)
        if answer is None:
            self.withheld = True
            return
        self._note_session(true)
        content = self._pending if answer is true else b"" if answer.message is None else _encoded(answer.message)
        content = content if answer.raw is None else answer.raw
        sent = {**answer.headers, "content-length": str(len(content))}
        raw = [(name.encode(), value.encode("latin-1")) for name, value in sent.items()]
        await self._send({"type": "http.response.start", "status": answer.status, "headers": raw})
        await self._send({"type": "http.response.body", "body": content, "more_body": False})

    def _note_session(self, true: Answer) -> None:
        session = true.headers.get("mcp-session-id")
        if self._asked.method == "initialize" and session is not None:
            self._server.sessions.add(session)
        if self._asked.http_method == "DELETE" and true.status == 200 and session is not None:
            self._server.sessions.discard(session)


@contextmanager
def running_tampered_server(tamper: Tamper = honest, settings: Settings | None = None) -> Iterator[TamperedServer]:
    """Run it in a thread of its own until the block ends."""
    chosen = settings if settings is not None else Settings()
    # Named as TCP, so that asyncio turns Nagle's algorithm off: with it each answer would wait for an acknowledgement.
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP) as listener:
        listener.bind((chosen.host, 0))
        base_url = f"http://{chosen.host}:{listener.getsockname()[1]}"
        demo = build_app(chosen, base_url)
        server = TamperedServer(f"{base_url}{MCP_PATH}", tamper)
        runner = _Runner(_Wrapper(demo.asgi, server), demo)
        thread = threading.Thread(target=runner.run, args=([listener],), name="tampered-server")
        thread.start()
        try:
            if not runner.ready.wait(20):
                raise RuntimeError("the tampered server did not start")
            yield server
        finally:
            runner.should_exit = True
            thread.join(10)
            if thread.is_alive():
                raise RuntimeError("the tampered server did not end")


class _Runner(uvicorn.Server):
    """uvicorn in a thread; our streams end before it waits for them."""

    def __init__(self, app: ASGIApp, demo: DemoApp) -> None:
        super().__init__(
            uvicorn.Config(app, log_config=None, log_level="critical", lifespan="on", timeout_graceful_shutdown=1)
        )
        self._demo = demo
        self.ready = threading.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.ready.set()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._demo.discovery.close()
        await super().shutdown(sockets)


async def _read(receive: Receive) -> bytes:
    body = b""
    while (message := await receive())["type"] == "http.request":
        body += message.get("body", b"")
        if not message.get("more_body", False):
            break
    return body


def _replaying(body: bytes, receive: Receive) -> Receive:
    messages = [{"type": "http.request", "body": body, "more_body": False}]

    async def replayed() -> Message:
        return messages.pop() if messages else await receive()

    return replayed


def _asked(scope: Scope, body: bytes) -> Asked:
    authorization = _headers(scope).get("authorization", "")
    try:
        message = json.loads(body) if body else {}
    except ValueError:
        message = {}
    known = message if isinstance(message, dict) else {}
    return Asked(scope["method"], _USERS.get(authorization, ""), authorization == "Bearer alice-deploy", known)


def _headers(message: Mapping[str, Any]) -> dict[str, str]:
    return {name.decode().lower(): value.decode("latin-1") for name, value in message.get("headers", ())}


def _parsed(content: bytes) -> Any:
    """What the body holds as JSON; None for one that is something else, which goes out as it came unless replaced."""
    try:
        return json.loads(content) if content else None
    except ValueError:
        return None


def _encoded(message: Any) -> bytes:
    return json.dumps(message, separators=(",", ":")).encode()
