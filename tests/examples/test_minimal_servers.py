"""The example servers as processes of their own: over HTTP on both wires, over stdio in both eras of the SDK."""

import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client, StdioServerParameters
from mcp.client.extension import ClientExtension, NotificationBinding
from mcp_types import NotificationParams, Request, RequestParams
from pydantic import BaseModel, ConfigDict

from agent_discovery.wire import EXTENSION_ID, LIST_CHANGED

ROOT = Path(__file__).resolve().parents[2]
SECONDS = 20
MODES = ["legacy", "2026-07-28"]

pytestmark = pytest.mark.parametrize("example", ["minimal_server", "minimal_lowlevel_server"])


class _Anything(BaseModel):
    model_config = ConfigDict(extra="allow")


class _Params(RequestParams):
    model_config = ConfigDict(extra="allow")


class _Ear(ClientExtension):
    """A client's half of the extension that waits for changes."""

    identifier = EXTENSION_ID

    def __init__(self) -> None:
        self.heard = anyio.Event()

    def notifications(self) -> Sequence[NotificationBinding[Any]]:
        return (NotificationBinding(method=LIST_CHANGED, params_type=NotificationParams, handler=self._hear),)

    async def _hear(self, _params: NotificationParams | None) -> None:
        self.heard.set()


async def _ask(client: Client, method: str, params: dict[str, Any] | None = None) -> dict[str, Any]:
    request: Request[Any, Any] = Request(method=method, params=_Params.model_validate(params or {}))
    result = await client.session.send_request(request, _Anything)
    return result.model_dump()


async def _names(client: Client) -> list[str]:
    return [card["name"] for card in (await _ask(client, "agents/list"))["agents"]]


async def _uses_it(client: Client) -> None:
    """What any host does: list, open, and call what the agent's tools are."""
    first = (await _ask(client, "agents/list"))["agents"][0]
    assert first == {"name": "croupier", "description": "Throws dice.", "capabilities": ["dice"]}
    agent = await _ask(client, "agents/get", {"name": "croupier"})
    assert "roll" in agent["instructions"]
    listed = (await _ask(client, "tools/list"))["tools"]
    assert [tool["name"] for tool in listed] == ["roll", "hire"]
    assert agent["tools"] == [listed[0]]
    rolled = await client.call_tool("roll", {})
    assert not rolled.is_error
    assert rolled.content[0].text in set("123456")  # type: ignore[union-attr]


@contextmanager
def _over_http(example: str) -> Iterator[str]:
    command = [sys.executable, "-m", f"examples.{example}", "0"]
    with subprocess.Popen(command, cwd=ROOT, text=True, stderr=subprocess.PIPE) as started:
        try:
            assert started.stderr is not None
            found = None
            while found is None:
                line = started.stderr.readline()
                assert line, "it ended before it was ready"
                found = re.search(r"running on (http://127\.0\.0\.1:\d+)", line)
            yield f"{found[1]}/mcp"
        finally:
            started.terminate()
            started.communicate(timeout=SECONDS)


async def test_over_http_a_host_of_either_wire_lists_opens_and_runs_the_agent(example: str) -> None:
    with _over_http(example) as url, anyio.fail_after(SECONDS):
        for mode in MODES:
            async with Client(url, mode=mode, extensions=[_Ear()], cache=None) as client:
                await _uses_it(client)
                await client.call_tool("hire", {"name": mode})
                assert mode in await _names(client)


@pytest.mark.parametrize("mode", MODES)
async def test_over_stdio_a_host_does_the_same_and_hears_of_a_change(example: str, mode: str) -> None:
    ear = _Ear()
    parameters = StdioServerParameters(command=sys.executable, args=["-m", f"examples.{example}"], cwd=ROOT)
    async with Client(parameters, mode=mode, extensions=[ear], cache=None) as client:
        with anyio.fail_after(SECONDS):
            await _uses_it(client)
            async with anyio.create_task_group() as tasks:
                if mode != "legacy":
                    wanted = {"notifications": {"agentsListChanged": True}}
                    tasks.start_soon(_ask, client, "subscriptions/listen", wanted)
                # The listen request goes out before the call does, and the server takes them in that order.
                await anyio.wait_all_tasks_blocked()
                await client.call_tool("hire", {"name": "dealer"})
                await ear.heard.wait()
                assert await _names(client) == ["croupier", "dealer"]
                tasks.cancel_scope.cancel()


def test_it_is_short_enough_to_read_at_a_glance(example: str) -> None:
    lines = [line for line in (ROOT / "examples" / f"{example}.py").read_text().splitlines() if line.strip()]
    assert len(lines) <= {"minimal_server": 30, "minimal_lowlevel_server": 45}[example]
