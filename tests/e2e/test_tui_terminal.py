"""The TUI in a real terminal (tmux): it paints, is left in every way there is, and leaves the terminal as it was."""

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from tests.e2e.processes import ROOT, environment, run, serving

pytestmark = pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed")

PATIENCE = 30.0
_PAGER = "PAGER='sh -c \"head -3 \\$1; read line\" sh'"
_OF_THIS_TERMINAL = ("TMUX", "DISPLAY", "TEXTUAL", "COLUMNS", "LINES")
"""What speaks of the terminal that the tests run in (or of none), not of the one that they open."""


class Tmux:
    """One terminal of a tmux server of its own."""

    def __init__(self, name: str, directory: Path, size: tuple[int, int]) -> None:
        self._name = name
        self._directory = directory
        kept = environment(TERM="xterm-256color", XDG_STATE_HOME=str(directory), XDG_CONFIG_HOME=str(directory))
        self._environment = {name: value for name, value in kept.items() if name not in _OF_THIS_TERMINAL}
        width, height = (str(number) for number in size)
        # A plain shell with a prompt of its own: whatever it prints is what the program left behind.
        self("new-session", "-d", "-x", width, "-y", height, "env", "PS1=shell> ", "ENV=", "sh")

    def __call__(self, *arguments: str) -> str:
        command = ["tmux", "-L", self._name, "-f", "/dev/null", *arguments]
        done = subprocess.run(
            command, cwd=ROOT, env=self._environment, capture_output=True, text=True, check=False, timeout=PATIENCE
        )
        return done.stdout

    def start(self, *arguments: str, before: str = "", after: str = "") -> None:
        words = " ".join([before, f"{sys.executable} -m demo", *arguments, after])
        self.type(f"{words}; echo code=$?")
        self.press("Enter")

    def type(self, text: str) -> None:
        self("send-keys", "-l", text)

    def press(self, *keys: str) -> None:
        self("send-keys", *keys)

    @property
    def screen(self) -> str:
        return self("capture-pane", "-p")

    @property
    def modes(self) -> str:
        """Whether the alternate screen is up, and whether the program wants the mouse: 0 or 1 each."""
        return self("display", "-p", "#{alternate_on}#{mouse_any_flag}").strip()

    @property
    def process(self) -> int:
        """The pid of the program that runs in the shell."""
        shell = self("display", "-p", "#{pane_pid}").strip()
        children = subprocess.run(["ps", "-o", "pid=", "--ppid", shell], capture_output=True, text=True, check=False)
        return int(children.stdout.split()[0])

    def until(self, condition: Callable[[], object], seconds: float = PATIENCE) -> None:
        end = time.monotonic() + seconds
        while not condition():
            assert time.monotonic() < end, f"not within {seconds} s; on the screen:\n{self.screen}"
            threading.Event().wait(0.05)  # tmux tells nobody that a screen has changed: it has to be looked at again

    def see(self, *texts: str, seconds: float = PATIENCE) -> None:
        """Wait until all of these are on the screen."""
        self.until(lambda: all(text in self.screen for text in texts), seconds)

    def code(self, seconds: float = PATIENCE) -> int:
        """The exit code, once the program has ended."""
        self.until(lambda: re.search(r"^code=\d+", self.screen, re.MULTILINE), seconds)
        found = re.search(r"^code=(\d+)", self.screen, re.MULTILINE)
        assert found is not None
        return int(found[1])


@contextmanager
def terminal(directory: Path, size: tuple[int, int] = (120, 40)) -> Iterator[Tmux]:
    name = f"tui-{os.getpid()}-{directory.name}"
    tmux = Tmux(name, directory, size)
    try:
        tmux.see("shell>")
        yield tmux
    finally:
        tmux("kill-server")


@contextmanager
def _silent_server() -> Iterator[str]:
    """Takes connections and never answers."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(16)
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/mcp"


def _left_as_it_was(tmux: Tmux) -> None:
    assert tmux.modes == "00"
    tmux.type("echo still $((40+2))")
    tmux.press("Enter")
    tmux.see("still 42")
    assert "Traceback" not in tmux.screen


@pytest.mark.parametrize("wire", ["session", pytest.param("stateless", marks=pytest.mark.slow)])
def test_a_whole_walk_is_played_by_one_key_and_left_with_zero(wire: str, tmp_path: Path) -> None:
    with serving() as server, terminal(tmp_path) as tmux:
        tmux.start("--tui", "--url", server.url, "--wire", wire)
        tmux.see("q Quit", "Scenes")
        assert tmux.modes == "11"
        tmux.press("a")
        tmux.until(lambda: len(re.findall(r"\d ✓ ", tmux.screen)) == 7)
        tmux.press("q")
        assert tmux.code() == 0
        tmux.see("33 of 33 checks held.")
        _left_as_it_was(tmux)


def test_being_continued_without_having_been_stopped_changes_nothing(tmp_path: Path) -> None:
    with _silent_server() as url, terminal(tmp_path) as tmux:
        tmux.start("--tui", "--url", url)
        tmux.see("q Quit")
        process = tmux.process
        os.kill(process, signal.SIGCONT)
        tmux.press("q")
        # A hang-up brings one along too, whatever the program is doing then.
        with suppress(ProcessLookupError):
            while Path(f"/proc/{process}").exists():
                os.kill(process, signal.SIGCONT)
        assert tmux.code() == 0
        tmux.type("stty -a")
        tmux.press("Enter")
        tmux.see(" echo ")
        _left_as_it_was(tmux)


@pytest.mark.slow
def test_it_brings_its_own_server_and_takes_it_along(tmp_path: Path) -> None:
    if not _nobody_at_the_default_address():
        pytest.skip("somebody listens at the default address")
    with terminal(tmp_path, (80, 24)) as tmux:
        tmux.start("--explore")
        tmux.see("explore", "q Quit")
        tmux.until(lambda: "http://127.0.0.1:" in tmux.screen or re.search(r"Alice", tmux.screen))
        tmux.press("q")
        assert tmux.code() == 0
        _left_as_it_was(tmux)


def _nobody_at_the_default_address() -> bool:
    try:
        socket.create_connection(("127.0.0.1", 8080), timeout=1).close()
    except OSError:
        return True
    return False


def test_quitting_works_at_once_while_a_call_hangs(tmp_path: Path) -> None:
    with _silent_server() as url, terminal(tmp_path) as tmux:
        tmux.start("--tui", "--url", url, "--timeout", "60")
        tmux.see("q Quit")
        tmux.press("Enter")
        tmux.see("initialize")
        tmux.press("q")
        assert tmux.code(seconds=5) == 0
        _left_as_it_was(tmux)


@pytest.mark.parametrize(
    "number",
    [
        signal.SIGTERM,
        pytest.param(signal.SIGHUP, marks=pytest.mark.slow),
        pytest.param(signal.SIGINT, marks=pytest.mark.slow),
    ],
)
def test_a_signal_ends_it_with_the_code_of_the_signal_and_leaves_the_terminal_as_it_was(
    number: signal.Signals, tmp_path: Path
) -> None:
    with serving() as server, terminal(tmp_path) as tmux:
        tmux.start("--tui", "--url", server.url)
        tmux.see("q Quit")
        os.kill(tmux.process, number)
        assert tmux.code(seconds=8) == 128 + number
        _left_as_it_was(tmux)


@pytest.mark.slow
def test_control_c_twice_leaves(tmp_path: Path) -> None:
    with serving() as server, terminal(tmp_path, (40, 15)) as tmux:
        tmux.start("--tui", "--url", server.url)
        tmux.see("q Quit")
        tmux.press("C-c")
        tmux.see("again")
        tmux.press("C-c")
        assert tmux.code(seconds=8) == 0
        _left_as_it_was(tmux)


def test_a_server_that_dies_is_told_and_found_again_when_it_is_back(tmp_path: Path) -> None:
    with terminal(tmp_path) as tmux:
        with serving() as server:
            port = server.url.split(":")[2].split("/")[0]
            tmux.start("--tui", "--url", server.url)
            tmux.see("q Quit")
            tmux.press("Enter")
            tmux.until(lambda: re.search(r"1 ✓ ", tmux.screen))
            server.kill()
            tmux.press("Enter", "Enter")
            tmux.see("does not answer", f"./run serve --port {port}")
            assert "q Quit" in tmux.screen
        with serving("--port", port):
            tmux.until(lambda: "does not answer" not in tmux.screen)
            tmux.press("r", "a")
            tmux.until(lambda: re.search(r"7 ✓ ", tmux.screen))
        tmux.press("q")
        tmux.code()
        _left_as_it_was(tmux)


def test_without_colours_what_is_chosen_and_what_failed_is_told_in_words_and_symbols(tmp_path: Path) -> None:
    with serving() as server, terminal(tmp_path) as tmux:
        tmux.start("--tui", "--url", server.url, before="NO_COLOR=1")
        tmux.see("q Quit", "to come")
        tmux.press("Enter")
        tmux.see("initialize")
        # Shades of grey are no colors: 0, 7, 8, 15, 16 and 231 to 255 of the 256, and no others.
        numbers = re.findall(r"[34]8;5;(\d+)", tmux("capture-pane", "-p", "-e"))
        assert {int(number) for number in numbers} <= {0, 7, 8, 15, 16, 59, 102, 145, 188, *range(231, 256)}
        assert not re.search(r"\x1b\[(?:\d+;)*(?:3[1-6]|4[1-6]|9[1-6])m", tmux("capture-pane", "-p", "-e"))
        tmux.press("q")
        assert tmux.code() == 0


@pytest.mark.slow
def test_sixteen_colours_are_enough(tmp_path: Path) -> None:
    with serving() as server, terminal(tmp_path) as tmux:
        tmux.start("--tui", "--url", server.url, before="TERM=xterm-16color COLORTERM=")
        tmux.see("q Quit", "to come")
        tmux.press("q")
        assert tmux.code() == 0


@pytest.mark.slow
def test_a_terminal_that_cannot_place_text_gets_the_plain_walk(tmp_path: Path) -> None:
    with serving() as server, terminal(tmp_path) as tmux:
        tmux.start("--tui", "--non-interactive", "--url", server.url, before="TERM=dumb")
        assert tmux.code() == 0
        tmux.see("33 of 33 checks held.")
        tmux.press("C-l")
        tmux.start("--tui", "--url", server.url, before="clear; TERM=dumb")
        tmux.see("This terminal cannot place text", "[Enter next, q quit]")
        assert tmux.modes == "00"
        tmux.press("q")


def test_without_any_terminal_the_walk_is_told_as_text_with_one_line_about_it() -> None:
    with serving() as server:
        ended = run("--tui", "--url", server.url, "--scene", "1")
    assert ended.code == 0
    assert sum("is no terminal, so here is the walk as plain text." in line for line in ended.lines) == 1
    assert "\x1b" not in ended.output


@pytest.mark.slow
def test_frames_never_end_up_where_errors_are_redirected_to(tmp_path: Path) -> None:
    with serving() as server, terminal(tmp_path) as tmux:
        tmux.start("--tui", "--url", server.url, after=f"2> {tmp_path}/errors")
        tmux.see("[Enter next, q quit]")
        tmux.press("q")
        assert tmux.code() == 0
    assert (tmp_path / "errors").read_text(encoding="utf-8") == (
        "Standard error is no terminal, so here is the walk as plain text.\n"
    )


def test_a_text_is_read_in_the_pager_and_the_program_comes_back(tmp_path: Path) -> None:
    with serving() as server, terminal(tmp_path) as tmux:
        tmux.start("--tui", "--url", server.url, before=_PAGER)
        tmux.see("q Quit")
        tmux.press("Enter")
        tmux.see("initialize", "HTTP 202 after")
        tmux.press("o")
        tmux.until(lambda: "q Quit" not in tmux.screen)
        tmux.press("Enter")
        tmux.see("q Quit", "initialize")
        tmux.press("q")
        assert tmux.code() == 0
        _left_as_it_was(tmux)


def test_a_copy_names_its_file_and_the_file_holds_a_command_that_runs(tmp_path: Path) -> None:
    with serving() as server, terminal(tmp_path) as tmux:
        tmux.start("--tui", "--url", server.url, "--wire", "stateless")
        tmux.see("q Quit")
        tmux.press("Enter")
        tmux.see("server/discover", "HTTP 200 after")
        tmux.press("c")
        place = tmp_path / "mcp-agent-discovery"
        tmux.until(lambda: list(place.glob("curl-command-*.sh")))
        tmux.press("q")
        assert tmux.code() == 0
        [script] = place.glob("curl-command-*.sh")
        if shutil.which("curl") is None:
            return
        done = subprocess.run(
            ["sh", str(script)], env={**os.environ, "ALICE": "alice-read"}, capture_output=True, text=True, check=False
        )
        assert "HTTP/1.1 200" in done.stdout
        assert "io.modelcontextprotocol/agents" in done.stdout


@pytest.mark.parametrize(
    "busy_with",
    [
        pytest.param("nothing", marks=pytest.mark.slow),
        pytest.param("playing", marks=pytest.mark.slow),
        "a pager",
        "nothing, and no signal reaches it",
    ],
)
def test_a_terminal_that_is_closed_takes_the_program_along(tmp_path: Path, busy_with: str) -> None:
    """Textual's writer dies with the terminal, and the program would wait for it for ever."""
    with serving() as server, terminal(tmp_path) as tmux:
        # In a session of its own the program is sent no SIGHUP: it has to see for itself that the terminal is gone.
        before = f"{_PAGER} setsid -w" if "no signal" in busy_with else _PAGER
        tmux.start("--tui", "--url", server.url, before=before)
        tmux.see("Connect and look")
        found = subprocess.run(
            ["pgrep", "-f", f"demo --tui --url {server.url}"], capture_output=True, text=True, check=True
        )
        programs = found.stdout.split()
        if busy_with == "playing":
            tmux.press("a")
            tmux.see("2 ")
        elif busy_with == "a pager":
            tmux.press("Enter")
            tmux.see("initialize", "HTTP 202 after")
            tmux.press("o")
            tmux.until(lambda: "q Quit" not in tmux.screen)
        tmux("kill-server")
        end = time.monotonic() + PATIENCE
        while left := [program for program in programs if Path(f"/proc/{program}").exists()]:
            assert time.monotonic() < end, f"{left} outlive their terminal"
            threading.Event().wait(0.1)
