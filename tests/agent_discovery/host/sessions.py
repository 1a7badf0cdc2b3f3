"""A scripted server with the session wire's handshake, and a host that speaks with it."""

from typing import Any

from agent_discovery.host import Connection, Credential, Frame, build_connection
from tests.agent_discovery.host.fakes import BOUND, Received, Reply, Script, ScriptedServer, initialize_result


def serving(
    *, get: Script | None = None, post: Script | None = None, version: str = "2025-11-25", session: bool = True
) -> Script:
    """A server with a handshake; `post` answers other requests, `get` the stream."""

    async def script(received: Received, reply: Reply) -> None:
        if received.http_method == "DELETE":
            await reply.body(b"", 200)
        elif received.http_method == "GET":
            await (get or _no_stream)(received, reply)
        elif received.message.get("method") == "initialize":
            headers = {"Mcp-Session-Id": "session-7"} if session else None
            await reply.result(received, initialize_result(version), headers)
        elif "id" not in received.message or "method" not in received.message:
            await reply.body(b"", 202)
        elif post is not None:
            await post(received, reply)
        else:
            await reply.result(received, {"ok": True})

    return script


async def _no_stream(_received: Received, reply: Reply) -> None:
    await reply.body(b"", 405, headers={"Allow": "POST"})


def host(server: ScriptedServer, frames: list[Frame] | None = None, **options: Any) -> Connection:
    observer = None if frames is None else frames.append
    return build_connection(
        server.url, Credential("alice-read"), wire="session", timeout=BOUND, observer=observer, **options
    )


def sent(server: ScriptedServer) -> list[str]:
    return [r.message.get("method", "a response") if r.body else r.http_method for r in server.received]
