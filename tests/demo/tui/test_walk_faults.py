"""The walk when something is wrong: hangs, lost servers, failed checks, crashes, and data that looks like markup."""

import asyncio
import socket
from collections.abc import AsyncGenerator, Callable
from dataclasses import replace

import pytest
from textual.worker import WorkerFailed

from demo.events import Event, SceneStarted
from demo.scene import Check, Finding, Scene
from demo.script import SCENES
from demo.stage import Stage
from demo.tui.app import WalkthroughApp
from demo.tui.player import SceneState
from server.embedded import running_server
from server.settings import Settings
from tests.broken_servers import Answer, Asked, TamperedServer
from tests.demo.tui.conftest import TuiFactory, Until
from tests.demo.tui.frames import TRAPS
from tests.demo.tui.walking import Reader


def withhold(*methods: str) -> Callable[[Asked, Answer], Answer | None]:
    """Answers to these never come."""
    return lambda asked, answer: None if asked.method in methods else answer


def failing(scene: Scene) -> Scene:
    """The scene with one check more, which never holds."""
    return replace(scene, checks=(*scene.checks, Check("[/never] holds", lambda _: Finding(False, "[0]", "[b +"))))


async def test_q_leaves_while_a_call_hangs(tui_app: TuiFactory, server: TamperedServer) -> None:
    server.tamper = withhold("agents/list")
    async with asyncio.timeout(50), tui_app(url=server.url, timeout=60.0) as (app, pilot):
        reader = await Reader(app, pilot).arrive()
        await reader.press("2", "enter")
        await pilot.press("enter")
        await reader.until(server.waiting.is_set)
        await pilot.press("q")
        await reader.until(lambda: app.return_value is not None, 5.0)
    assert app.return_code == 0


async def test_a_hanging_call_leaves_everything_to_be_looked_at_and_escape_breaks_it_off(
    tui_app: TuiFactory, server: TamperedServer
) -> None:
    server.tamper = withhold("agents/list")
    async with asyncio.timeout(50), tui_app(url=server.url, timeout=60.0) as (app, pilot):
        reader = await Reader(app, pilot).arrive()
        await reader.press("1", "enter", "2")
        await pilot.press("enter")
        await reader.until(server.waiting.is_set)
        await reader.until(lambda: "under way" in reader.text("exchange"))
        await pilot.press("1")
        await reader.until(lambda: reader.text("note").startswith("1. Connect"))
        await pilot.press("2", "escape")
        await reader.until(lambda: reader.state() is SceneState.TO_COME)
        assert not reader.screen.walking


async def test_a_scene_that_hangs_is_left_by_playing_another_one(tui_app: TuiFactory, server: TamperedServer) -> None:
    server.tamper = withhold("agents/list")
    async with asyncio.timeout(50), tui_app(url=server.url, timeout=60.0) as (app, pilot):
        reader = await Reader(app, pilot).arrive()
        await reader.press("2", "enter")
        await pilot.press("enter")
        await reader.until(server.waiting.is_set)
        await pilot.press("1")
        await reader.press("enter")
        assert reader.state() is SceneState.HELD
        assert reader.states[1] is SceneState.TO_COME


async def test_escape_stops_playing_at_the_next_rest(tui_app: TuiFactory, server: TamperedServer) -> None:
    server.tamper = withhold("agents/list")
    async with asyncio.timeout(50), tui_app(url=server.url, timeout=1.0) as (app, pilot):
        reader = await Reader(app, pilot).arrive()
        await pilot.press("a")
        await reader.until(server.waiting.is_set)
        await pilot.press("escape")
        await reader.rest()
        assert reader.run.scene.number == 2
        assert "no answer: TimedOut" in reader.text("diagram")
        assert "FAILED" in reader.text("checks")


async def test_a_failed_check_is_named_and_makes_the_exit_code_1(tui_app: TuiFactory) -> None:
    scenes = (failing(SCENES[0]), SCENES[1])
    async with tui_app(scenes=scenes) as (app, pilot):
        reader = await Reader(app, pilot).arrive()
        await reader.press("1", "enter")
        assert reader.state() is SceneState.FAILED
        assert reader.scenes.lines[0].startswith("▶1 ✗ ")
        assert reader.text("checks").startswith("✗ FAILED [/never] holds expected [0] got [b +")
        assert app.failed_checks == 1
        await pilot.press("q")
    assert app.return_code == 1


async def test_a_fault_of_the_program_ends_it_with_exit_code_1(
    tui_app: TuiFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def crash(_stage: Stage, scene: Scene) -> AsyncGenerator[Event]:
        yield SceneStarted(scene, 1)
        raise RuntimeError("[/ this must not be")

    monkeypatch.setattr(Stage, "play_scene", crash)
    started: list[WalkthroughApp] = []

    async def play() -> None:
        async with tui_app() as (app, pilot):
            started.append(app)
            reader = await Reader(app, pilot).arrive()
            await pilot.press("enter")
            await reader.until(lambda: app.return_code, 5.0)

    with pytest.raises(WorkerFailed, match="this must not be"):
        await play()
    assert started[0].return_code == 1


async def test_a_server_that_dies_and_comes_back_is_found_again_and_all_stays_readable(tui_app: TuiFactory) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    url = f"http://127.0.0.1:{port}/mcp"
    with running_server(Settings(port=port)):
        context = tui_app(url=url, wire="session", timeout=5.0)
        app, pilot = await context.__aenter__()
        reader = await Reader(app, pilot).arrive()
        await reader.press("1", "enter", "2", "enter")
    try:
        await reader.press("3", "enter")
        assert reader.state() is SceneState.FAILED
        assert app.presence.is_lost
        assert f"./run serve --port {port}" in app.notice
        assert "no answer: Unreachable" in reader.text("diagram")
        await reader.press("2")
        assert "agents/list, as Alice" in reader.text("diagram")
        with running_server(Settings(port=port)):
            await reader.until(lambda: not app.presence.is_lost, 10.0)
            await reader.rest()
            assert app.notice == ""
            await reader.press("3", "enter")
            while reader.state() is SceneState.RUNNING:
                await reader.press("enter")
            assert reader.state() is SceneState.HELD
            assert app.failed_checks == 0
    finally:
        await context.__aexit__(None, None, None)


async def test_the_explorer_says_why_a_roster_could_not_be_read(
    tui_app: TuiFactory, server: TamperedServer, until: Until, screen_text: Callable[[WalkthroughApp], str]
) -> None:
    server.tamper = lambda asked, answer: answer.with_result(agents="none") if asked.method == "agents/list" else answer
    async with tui_app(url=server.url, explore=True) as (app, pilot):
        told = {f"{name}'s roster could not be read" for name in ("Alice", "Bob")}
        await until(pilot, lambda: all(text in _toasts(app) for text in told))
        assert "agents" in _toasts(app)
        await pilot.press("p")
        await until(pilot, lambda: "roster of Bob could not be read" in screen_text(app))
        await pilot.press("q")
        await until(pilot, lambda: not app.is_running)


def _toasts(app: WalkthroughApp) -> str:
    return "\n".join(notification.message for notification in app._notifications)


@pytest.mark.parametrize("size", [(120, 40), pytest.param((40, 15), marks=pytest.mark.slow)])
async def test_data_that_looks_like_markup_is_shown_as_it_is(
    tui_app: TuiFactory, server: TamperedServer, size: tuple[int, int]
) -> None:
    cards = [{"name": trap, "description": trap, "capabilities": {"labels": [trap]}} for trap in TRAPS]

    def tamper(asked: Asked, answer: Answer) -> Answer:
        match asked.method:
            case "agents/list":
                return answer.with_result(agents=cards)
            case "agents/get" | "tools/list":
                return answer.refused(-32602, "[/", {"reason": "[/red] \x1b[31m"}, status=400)
            case _:
                return answer

    server.tamper = tamper
    async with tui_app(size, url=server.url) as (app, pilot):
        reader = await Reader(app, pilot).arrive()
        await reader.press("1", "enter", "2", "enter", "full_stop", "full_stop", "3", "enter", "enter")
        assert '-32602 {reason: "[/red] \\x1b[31m"}' in reader.text("diagram")
        assert "\x1b" not in "".join(reader.text(panel) for panel in ("diagram", "checks", "exchange", "host"))
        assert reader.state() is SceneState.FAILED
        await reader.press("2")
        assert all(trap in reader.text("exchange") for trap in ("[/", "[0]", "[b +", "[true, false]"))
        await reader.press("full_stop", "full_stop", "full_stop", "full_stop", "full_stop", "full_stop")
