"""Beginning, losing the server, hanging, crashing, leaving: exit codes and what stays usable meanwhile."""

import asyncio
import gc
import logging
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from click.testing import CliRunner

from agent_discovery.host import Unreachable
from demo.__main__ import main
from demo.tui import run
from demo.tui.app import TuiSettings, WalkthroughApp
from demo.tui.exchange_view import ExchangeView
from demo.tui.explore import ExploreScreen
from demo.tui.presence import lost_notice
from demo.tui.run import summary
from demo.tui.serving import OwnServer
from tests.demo.tui.conftest import TuiFactory, Until
from tests.demo.tui.frames import fill
from tests.demo.tui.shell_screen import SharedScreen, ShellApp, build_shell

ScreenText = Callable[[WalkthroughApp], str]


@contextmanager
def _listening(port: int = 0) -> Iterator[int]:
    """A server that takes connections and says nothing."""
    with socket.socket() as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("127.0.0.1", port))
        listener.listen(8)
        yield int(listener.getsockname()[1])


def _free_port() -> int:
    with _listening() as port:
        return port


async def test_a_lost_server_is_told_in_one_notice_and_its_return_to_every_screen(
    tui_app: TuiFactory, until: Until, screen_text: ScreenText
) -> None:
    port = _free_port()
    url = f"http://127.0.0.1:{port}/mcp"
    async with tui_app(build=build_shell, url=url) as (app, pilot):
        fill(app.traffic, 1)
        await pilot.press("x", "x")
        screen = app.screen
        assert isinstance(screen, SharedScreen)
        screen.query_one(ExchangeView).record = app.traffic.records[0]
        for _ in range(3):
            app.presence.lost(Unreachable(url, "refused"))
        await until(pilot, lambda: f"./run serve --port {port}" in screen_text(app))
        assert app.presence.is_lost
        assert "HTTP 200 after" in screen_text(app)
        await pilot.press("x")
        await until(pilot, lambda: f"./run serve --port {port}" in screen_text(app))
        with _listening(port):
            await until(pilot, lambda: not app.presence.is_lost)
        await until(pilot, lambda: screen.returns == 1)
        other = app.screen
        assert isinstance(other, SharedScreen)
        await until(pilot, lambda: other.returns == 1)
        assert "does not answer" not in screen_text(app)


def test_the_notice_says_how_to_start_the_server() -> None:
    told = lost_notice("http://127.0.0.1:8080/mcp")
    assert told.startswith(
        "The server at http://127.0.0.1:8080/mcp does not answer. Start it: ./run serve --port 8080."
    )


async def test_quitting_works_while_a_call_hangs(tui_app: TuiFactory, until: Until) -> None:
    cancelled = threading.Event()

    async def hang() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()

    async with tui_app(build=build_shell) as (app, pilot):
        app.screen.run_worker(hang(), group="walk", exclusive=True)
        await pilot.pause()
        await pilot.press("q")
        await until(pilot, lambda: not app.is_running, seconds=3)
    assert cancelled.is_set()


@pytest.mark.parametrize(
    ("keys", "failed", "code"),
    [
        *((["q"], 0, 0), (["q"], 1, 1), (["ctrl+q"], 1, 1), (["ctrl+c", "ctrl+c"], 1, 1)),
        pytest.param(["ctrl+q"], 0, 0, marks=pytest.mark.slow),
        pytest.param(["ctrl+c", "ctrl+c"], 0, 0, marks=pytest.mark.slow),
    ],
)
async def test_leaving_gives_the_exit_code_of_the_checks(
    keys: list[str], failed: int, code: int, tui_app: TuiFactory, until: Until
) -> None:
    async with tui_app(build=build_shell) as (app, pilot):
        app.count_checks(1, held=3, failed=2)
        app.count_checks(1, held=4, failed=0)
        app.count_checks(2, held=1, failed=failed)
        await pilot.press(*keys)
        await until(pilot, lambda: not app.is_running)
    assert app.return_code == code
    assert summary(app, code)[0].startswith(f"5 of {5 + failed} checks held")


async def test_one_interrupt_asks_and_does_not_leave(tui_app: TuiFactory, until: Until) -> None:
    async with tui_app(build=build_shell) as (app, pilot):
        await pilot.press("ctrl+c")
        await until(pilot, lambda: any("again" in told.message for told in app._notifications))
        assert app.is_running


async def test_an_interrupt_in_an_input_with_a_selection_copies_it(tui_app: TuiFactory, until: Until) -> None:
    async with tui_app(build=build_shell) as (app, pilot):
        await pilot.press("f", *"abc", "shift+home", "ctrl+c", "ctrl+c")
        await until(pilot, lambda: app.clipboard == "abc")
        assert app.is_running


async def test_a_crash_leaves_its_traceback_in_a_file_alone_and_exits_with_one(
    tui_app: TuiFactory, until: Until, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def crash() -> None:
        raise RuntimeError("a [/bug] with a secret")

    kept: list[WalkthroughApp] = []
    with pytest.raises(RuntimeError, match="bug"):  # noqa: PT012 - the crash comes out of the whole block
        async with tui_app(build=build_shell) as (app, pilot):
            kept.append(app)
            app.call_later(crash)
            await until(pilot, lambda: app.crash_log is not None)
    app = kept[0]
    assert app.return_code == 1
    assert app.crash_log is not None
    assert "RuntimeError: a [/bug] with a secret" in app.crash_log.read_text(encoding="utf-8")
    assert app.crash_log.stat().st_mode & 0o777 == 0o600
    lines = summary(app, 1)
    assert str(app.crash_log) in lines[-1]
    printed = capsys.readouterr()
    assert "bug" not in printed.out + printed.err


async def test_a_crash_in_a_worker_exits_with_one(tui_app: TuiFactory, until: Until) -> None:
    async def crash() -> None:
        raise RuntimeError("in a worker")

    kept: list[WalkthroughApp] = []
    with pytest.raises(Exception, match="in a worker"):  # noqa: PT012 - the crash comes out of the whole block
        async with tui_app(build=build_shell) as (app, pilot):
            kept.append(app)
            app.screen.run_worker(crash(), group="walk")
            await until(pilot, lambda: app.crash_log is not None)
    assert kept[0].return_code == 1
    crash_log = kept[0].crash_log
    assert crash_log is not None
    assert "in a worker" in crash_log.read_text(encoding="utf-8")


async def test_the_first_paint_does_not_wait_for_the_programs_own_server(
    monkeypatch: pytest.MonkeyPatch, until: Until, screen_text: ScreenText
) -> None:
    started, go_on = threading.Event(), threading.Event()

    def slow(self: OwnServer) -> None:
        started.set()
        go_on.wait(10)
        self._url = "http://127.0.0.1:9/mcp"
        self._ready.set()

    monkeypatch.setattr(OwnServer, "_run", slow)
    app = ShellApp(TuiSettings(None))
    async with app.run_test(size=(120, 40)) as pilot:
        await until(pilot, lambda: "starting a server..." in screen_text(app))
        await until(pilot, started.is_set)
        await pilot.press("v")
        assert app.show_tokens
        go_on.set()
        await until(pilot, lambda: "http://127.0.0.1:9/mcp" in screen_text(app))
        assert await app.server_url() == "http://127.0.0.1:9/mcp"


@pytest.fixture
def loading(monkeypatch: pytest.MonkeyPatch) -> threading.Event:
    """What sends is loaded once this is set."""
    go_on = threading.Event()

    def slow(name: str) -> ModuleType:
        go_on.wait(10)
        return import_module(name)

    monkeypatch.setattr("demo.tui.loading.import_module", slow)
    return go_on


@pytest.mark.parametrize("explore", [False, True])
async def test_a_screen_is_read_while_what_sends_is_still_loaded(
    explore: bool, loading: threading.Event, tui_app: TuiFactory, until: Until, screen_text: ScreenText
) -> None:
    async with tui_app(explore=explore) as (app, pilot):
        await until(pilot, lambda: "q Quit" in screen_text(app))
        await pilot.press("enter", "question_mark")
        await until(pilot, lambda: "Exploring." in screen_text(app) or "The walk." in screen_text(app))
        assert not app.traffic.records
        loading.set()
        await pilot.press("escape")
        await until(pilot, lambda: app.traffic.records)
        await pilot.press("q")
        await until(pilot, lambda: not app.is_running)


async def test_a_question_that_is_broken_off_while_it_waits_is_never_sent(
    loading: threading.Event, tui_app: TuiFactory, until: Until, screen_text: ScreenText
) -> None:
    async with tui_app(explore=True) as (app, pilot):
        await until(pilot, lambda: "q Quit" in screen_text(app))
        await pilot.press("p")
        screen = app.screen
        assert isinstance(screen, ExploreScreen)
        await until(pilot, lambda: screen.asking)
        await pilot.press("escape")
        await until(pilot, lambda: not screen.asking)
        loading.set()
        # The rosters are asked for after the question would have been.
        await until(pilot, lambda: {"agents/list"} <= {record.method for record in app.traffic.records})
        assert "tools/call" not in {record.method for record in app.traffic.records}
        await pilot.press("q")
        await until(pilot, lambda: not app.is_running)


async def test_a_step_that_is_broken_off_while_it_waits_is_never_played(
    loading: threading.Event, tui_app: TuiFactory, until: Until, screen_text: ScreenText
) -> None:
    async with tui_app() as (app, pilot):
        await until(pilot, lambda: "q Quit" in screen_text(app))
        await pilot.press("enter", "escape")
        loading.set()
        await until(pilot, lambda: "walk" not in {worker.name for worker in app.workers})
        assert not app.traffic.records


async def test_garbage_is_looked_for_again_after_the_first_paint(tui_app: TuiFactory, until: Until) -> None:
    gc.disable()  # as the command line does
    try:
        async with tui_app() as (_, pilot):
            await until(pilot, gc.isenabled)
    finally:
        gc.enable()


async def test_the_programs_own_server_answers_and_ends_with_the_program(until: Until) -> None:
    before = set(threading.enumerate())
    app = ShellApp(TuiSettings(None))
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: app.url is not None, seconds=30)
        port = int((app.url or "").split(":")[2].split("/")[0])
        socket.create_connection(("127.0.0.1", port), timeout=2).close()
    new = {thread.name for thread in threading.enumerate() if thread not in before}
    assert not new & {"own-server", "demo-server"}
    with pytest.raises(OSError, match="refused"):
        socket.create_connection(("127.0.0.1", port), timeout=2)


async def test_an_own_server_that_does_not_start_is_told_and_the_program_stays(
    monkeypatch: pytest.MonkeyPatch, until: Until, screen_text: ScreenText
) -> None:
    def broken(self: OwnServer) -> None:
        self._problem = OSError("no [socket] left")
        self._ready.set()

    monkeypatch.setattr(OwnServer, "_run", broken)
    app = ShellApp(TuiSettings(None))
    async with app.run_test(size=(120, 40)) as pilot:
        await until(pilot, lambda: "no [socket] left" in screen_text(app))
        assert app.is_running


def test_an_interrupt_before_the_program_has_the_terminal_is_told_as_any_other(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def interrupted(*_: object) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr("demo.tui.fit.why_not", lambda: None)
    monkeypatch.setattr("demo.tui.run.run_tui", interrupted)
    try:
        result = CliRunner().invoke(main, ["--tui", "--url", "http://127.0.0.1:9/mcp"])
    finally:
        gc.enable()
    assert (result.exit_code, result.output) == (130, "Interrupted.\n")


def test_settings_that_make_no_sense_are_refused() -> None:
    with pytest.raises(ValueError, match="timeout must be more than 0 seconds, got 0"):
        TuiSettings("http://x", timeout=0)
    with pytest.raises(ValueError, match="at least one scene"):
        TuiSettings("http://x", scenes=())


class _Stub(WalkthroughApp):
    """Does not run at all: for what happens around it."""

    code = 0

    async def run_async(self, *_: Any, **__: Any) -> int | None:
        logging.getLogger("somebody").warning("a library has something to say")
        self._return_code = self.code
        return None


@pytest.mark.parametrize("code", [0, 1, 143])
def test_the_exit_code_is_the_programs_and_one_line_is_said_after_it(
    code: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    def build(settings: TuiSettings) -> WalkthroughApp:
        app = _Stub(settings)
        app.code = code
        return app

    root = logging.getLogger()
    before = root.handlers[:]
    monkeypatch.setattr(run, "build_app", build)
    try:
        assert run.run_tui("http://127.0.0.1:1/mcp") == code
    finally:
        for handler in root.handlers:
            handler.close()
        root.handlers[:] = before
    printed = capsys.readouterr()
    assert len(printed.out.splitlines()) == 1
    assert printed.err == ""
    log = tmp_path / "state" / "mcp-agent-discovery" / "tui.log"
    assert "a library has something to say" in log.read_text(encoding="utf-8")
