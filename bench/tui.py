"""How fast the TUI is in a terminal of its own: its first paint, a key until its paint, and its memory over a long run.

The keys are measured with ten thousand exchanges in the log and an answer of two megabytes open. Everything runs in
processes of its own on a pseudo-terminal, and no server is needed.
"""

import fcntl
import os
import pty
import select
import statistics
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

import click

from agent_discovery.host import AnswerFrame, RequestFrame
from demo.tui.app import TuiSettings, WalkthroughApp, build_app
from demo.tui.base import TuiScreen
from demo.tui.exchange_view import ExchangeView
from demo.tui.records import TrafficLog
from demo.tui.traffic import TrafficPanel

ROOT: Final = Path(__file__).resolve().parent.parent
NOBODY: Final = "http://127.0.0.1:9/mcp"
EXCHANGES: Final = 10_000
BIG_ANSWER: Final = 2_000_000
HOUR: Final = 60_000
"""Exchanges of an hour: some sixteen a second, far more than anybody causes by hand."""
PATIENCE: Final = 60.0
_ONE_LINE: Final = """\
from textual.app import App
from textual.widgets import Static
App.compose = lambda self: [Static("q Quit")]
App().run()
"""
_FILLED: Final = "All exchanges are in the log."
DOWN, UP, PAGE_DOWN, PAGE_UP = b"\x1b[B", b"\x1b[A", b"\x1b[6~", b"\x1b[5~"


class _Terminal:
    """A program on a pseudo-terminal of 120 by 40."""

    def __init__(self, master: int) -> None:
        self._master = master

    def read_until(self, text: bytes) -> None:
        seen = b""
        while text not in seen:
            seen = seen[-200:] + self._read(PATIENCE)

    def drain(self, quiet: float = 0.15) -> None:
        """Read on until nothing has come for `quiet` seconds."""
        while select.select([self._master], [], [], quiet)[0]:
            self._read(quiet)

    def seconds_for(self, key: bytes) -> float:
        """From a key to the end of the first paint that follows it."""
        started = time.perf_counter()
        os.write(self._master, key)
        self._read(PATIENCE)
        return time.perf_counter() - started

    def write(self, keys: bytes) -> None:
        os.write(self._master, keys)

    def _read(self, seconds: float) -> bytes:
        if not select.select([self._master], [], [], seconds)[0]:
            raise TimeoutError(f"nothing was painted within {seconds} s")
        return os.read(self._master, 1 << 20)


@contextmanager
def _on_a_terminal(*command: str) -> Iterator[_Terminal]:
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
    environment = {**os.environ, "TERM": "xterm-256color", "COLORTERM": "truecolor"}
    process = subprocess.Popen(
        [sys.executable, *command], cwd=ROOT, stdin=slave, stdout=slave, stderr=slave, env=environment
    )
    os.close(slave)
    try:
        yield _Terminal(master)
    finally:
        process.terminate()
        # A program that ends still writes, and would wait for a reader.
        with suppress(OSError, TimeoutError):
            while True:
                os.read(master, 1 << 20)
        process.wait(PATIENCE)
        os.close(master)


def first_paints(rounds: int) -> dict[str, list[float]]:
    """Seconds from starting the process to the keys along the bottom, imports included.

    Of the two screens to begin with, and of a Textual program with one line of text, all in turns.
    """
    programs = {
        "walk": ("-m", "demo", "--tui", "--url", NOBODY),
        "explore": ("-m", "demo", "--explore", "--url", NOBODY),
        "one line": ("-c", _ONE_LINE),
    }
    times: dict[str, list[float]] = {name: [] for name in programs}
    for _ in range(rounds):
        for name, command in programs.items():
            started = time.perf_counter()
            with _on_a_terminal(*command) as terminal:
                terminal.read_until(b"Quit")
                times[name].append(time.perf_counter() - started)
    return times


def key_paints(where: str, keys: Sequence[bytes], count: int) -> list[float]:
    """Seconds from a key to its paint, `where` being the log or the answer that has the focus."""
    with _on_a_terminal("-m", "bench.tui", "--app", where) as terminal:
        terminal.read_until(_FILLED.encode())
        terminal.drain(1.0)
        times = []
        for number in range(count):
            times.append(terminal.seconds_for(keys[number % len(keys)]))
            terminal.drain(0.03)
    return times


def memory_of_an_hour() -> list[int]:
    """Resident megabytes of the program after each quarter of an hour's exchanges."""
    command = [sys.executable, "-m", "bench.tui", "--memory"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True, timeout=600)
    return [int(word) for word in done.stdout.split()]


# What runs in the other process


def fill(log: TrafficLog, count: int, *, big: bool = False) -> None:
    """So many exchanges; the last answer is a big one where that is asked for."""
    observe = log.observer(lambda: "session", NOBODY)
    for number in range(1, count + 1):
        message = {"jsonrpc": "2.0", "id": number, "method": "agents/list", "params": {}}
        request = RequestFrame(number, "Alice", "POST", NOBODY, {"authorization": "Bearer ***"}, message, 0.0)
        cards = [{"name": f"agent-{at}", "description": "x" * 60, "capabilities": ["a", "b"]} for at in range(6)]
        if big and number == count:
            cards *= BIG_ANSWER // 700
        answer = {"jsonrpc": "2.0", "id": number, "result": {"agents": cards}}
        observe(request)
        observe(AnswerFrame(request, 200, {"content-type": "application/json"}, answer, answer, 5.0, 0.0))


class _Filled(WalkthroughApp):
    """The program with a full log and a big answer, and the focus in one of the two."""

    where = "log"

    def on_ready(self) -> None:
        fill(self.traffic, EXCHANGES, big=True)
        self.call_after_refresh(self._focus)

    def _focus(self) -> None:
        screen = self.screen
        if not isinstance(screen, TuiScreen):
            return
        view, panel = screen.query(ExchangeView).first(), screen.query(TrafficPanel).first()
        view.record = self.traffic.records[-1]
        if self.where == "log":
            screen.bring_into_view(panel)
            panel.list.focus()
        else:
            view.answer.focus()
        self.notice = _FILLED


async def _memory() -> None:
    app = build_app(TuiSettings(NOBODY))
    async with app.run_test(size=(120, 40)) as pilot:
        for _ in range(4):
            for _ in range(30):
                fill(app.traffic, HOUR // 120)
                app.traffic.filtered("agent-5")
                await pilot.pause()
            click.echo(_resident_megabytes())


def _resident_megabytes() -> int:
    for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) // 1024
    return 0


def report(rounds: int, keys: int) -> None:
    """Measure all of it and print one line each."""
    paints = {name: statistics.median(times) for name, times in first_paints(rounds).items()}
    told = ", ".join(f"{name} {seconds:.2f} s" for name, seconds in paints.items())
    click.echo(f"tui        first paint, medians of {rounds}: {told}")
    for where, pressed in (("log", [UP, DOWN, UP, UP]), ("answer", [PAGE_DOWN, PAGE_DOWN, PAGE_UP, DOWN])):
        times = sorted(key_paints(where, pressed, keys))
        click.echo(
            f"tui        a key to its paint in the {where}, {EXCHANGES:,} exchanges and {BIG_ANSWER:,} bytes open:"
            f" {statistics.median(times) * 1000:.0f} ms, 95 of 100 within {times[int(len(times) * 0.95)] * 1000:.0f} ms"
        )
    megabytes = ", ".join(str(size) for size in memory_of_an_hour())
    click.echo(f"tui        memory over {HOUR:,} exchanges, a quarter each: {megabytes} MB")


@click.command()
@click.option("--rounds", type=click.IntRange(min=1), default=5, show_default=True, help="Starts.")
@click.option("--keys", type=click.IntRange(min=20), default=100, show_default=True, help="Keys in each pane.")
@click.option("--app", type=click.Choice(["log", "answer"]), hidden=True)
@click.option("--memory", is_flag=True, hidden=True)
def main(rounds: int, keys: int, app: str | None, memory: bool) -> None:
    """Measure the TUI: first paint, keys, memory."""
    if app is not None:
        program = _Filled(TuiSettings(NOBODY))
        program.where = app
        program.run()
    elif memory:
        import asyncio

        asyncio.run(_memory())
    else:
        report(rounds, keys)


if __name__ == "__main__":
    main(prog_name="python -m bench.tui")
