"""Copying: always a file, the clipboard by the way that is there, and words that say no more than is known."""

import os
import stat
import subprocess
import sys
from datetime import datetime
from pathlib import Path

import pytest

from demo.tui.copying import clipboard_command, copy_text
from demo.tui.pager import pager_command
from demo.tui.places import new_file, state_directory


def _program(directory: Path, name: str, body: str) -> None:
    directory.mkdir(exist_ok=True)
    file = directory / name
    file.write_text(f"#!/bin/sh\n{body}\n", encoding="utf-8")
    file.chmod(0o755)


def test_a_copy_is_a_file_for_its_owner_alone(tmp_path: Path) -> None:
    outcome = copy_text("it's [b]", "curl command", environ={"PATH": ""}, directory=tmp_path / "new")
    assert outcome.file is not None
    assert outcome.file.read_text(encoding="utf-8") == "it's [b]"
    assert stat.S_IMODE(outcome.file.stat().st_mode) == 0o600
    assert outcome.file.suffix == ".sh"
    assert outcome.clipboard is None
    assert outcome.told == f"curl command: written to {outcome.file}. There is no clipboard to reach from here."


def test_a_clipboard_program_of_the_desktop_is_used_and_named(tmp_path: Path) -> None:
    _program(tmp_path / "bin", "xclip", f'/bin/cat > {tmp_path}/clip; echo "$@" > {tmp_path}/args')
    environ = {"PATH": str(tmp_path / "bin"), "DISPLAY": ":0"}
    asked: list[str] = []
    outcome = copy_text("text", "answer", terminal=asked.append, environ=environ, directory=tmp_path)
    assert (tmp_path / "clip").read_text(encoding="utf-8") == "text"
    assert (outcome.clipboard, outcome.sure) == ("xclip", True)
    assert "In the clipboard by xclip." in outcome.told
    assert asked == []


def test_a_clipboard_program_that_fails_leaves_it_to_the_terminal_which_is_only_asked(tmp_path: Path) -> None:
    _program(tmp_path / "bin", "xclip", "exit 1")
    environ = {"PATH": str(tmp_path / "bin"), "DISPLAY": ":0"}
    asked: list[str] = []
    outcome = copy_text("text", "answer", terminal=asked.append, environ=environ, directory=tmp_path)
    assert asked == ["text"]
    assert not outcome.sure
    assert "Asked the terminal to put it into the clipboard; that may not arrive." in outcome.told


def test_a_text_too_long_for_a_terminal_goes_into_the_file_alone(tmp_path: Path) -> None:
    asked: list[str] = []
    outcome = copy_text("x" * 80_000, "answer", terminal=asked.append, environ={"PATH": ""}, directory=tmp_path)
    assert asked == []
    assert outcome.clipboard is None


def test_a_directory_that_cannot_be_written_to_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    outcome = copy_text("text", "answer", environ={"PATH": ""}, directory=tmp_path / "file" / "below")
    assert outcome.file is None
    assert outcome.told.startswith("answer: no file (")


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        ({"DISPLAY": ":0"}, ("xclip", "-selection", "clipboard")),
        ({"WAYLAND_DISPLAY": "w", "DISPLAY": ":0"}, ("wl-copy",)),
        ({"DISPLAY": ":0", "SSH_CONNECTION": "1 2 3 4"}, None),
        ({"DISPLAY": ":0", "SSH_TTY": "/dev/pts/1"}, None),
        ({}, None),
    ],
)
def test_the_clipboard_is_that_of_the_desktop_the_reader_sits_at(
    environ: dict[str, str], expected: tuple[str, ...] | None, tmp_path: Path
) -> None:
    for name in ("wl-copy", "xclip", "xsel"):
        _program(tmp_path / "bin", name, "exit 0")
    assert clipboard_command({"PATH": str(tmp_path / "bin"), **environ}) == expected


def test_files_of_one_second_get_names_of_their_own(tmp_path: Path) -> None:
    now = datetime(2026, 7, 28, 10, 15)
    first = new_file(tmp_path, "curl /command", ".sh", now)
    first.touch()
    assert first.name == "curl--command-20260728-101500.sh"
    assert new_file(tmp_path, "curl /command", ".sh", now).name == "curl--command-20260728-101500-2.sh"


def test_files_go_to_the_users_own_state_directory_or_a_fresh_one(tmp_path: Path) -> None:
    place = state_directory({"XDG_STATE_HOME": str(tmp_path)})
    assert place == tmp_path / "mcp-agent-discovery"
    assert stat.S_IMODE(place.stat().st_mode) == 0o700
    assert state_directory({"HOME": str(tmp_path)}) == tmp_path / ".local" / "state" / "mcp-agent-discovery"
    (tmp_path / "file").write_text("", encoding="utf-8")
    other = state_directory({"XDG_STATE_HOME": str(tmp_path / "file")})
    assert other.is_dir()
    other.rmdir()


def test_the_pager_is_the_readers_own_else_less_else_more(tmp_path: Path) -> None:
    binaries = tmp_path / "bin"
    _program(binaries, "more", "exit 0")
    assert pager_command({"PATH": str(binaries), "PAGER": "nowhere -R"}) == ("more",)
    _program(binaries, "less", "exit 0")
    assert pager_command({"PATH": str(binaries)}) == ("less",)
    _program(binaries, "bat", "exit 0")
    assert pager_command({"PATH": str(binaries), "PAGER": "bat --plain 'a b'"}) == ("bat", "--plain", "a b")
    assert pager_command({"PATH": str(binaries), "PAGER": "'unclosed"}) == ("less",)
    assert pager_command({"PATH": ""}) is None


@pytest.mark.parametrize(("closed", "word"), [("0", "input"), ("1", "output"), ("2", "error")])
def test_where_a_stream_is_no_terminal_the_walk_is_told_as_plain_text(closed: str, word: str) -> None:
    program = (
        "import pty, os, sys\n"
        "pid, fd = pty.fork()\n"
        "if pid == 0:\n"
        f"    os.dup2(os.open(os.devnull, os.O_RDWR), {closed})\n"
        "    from demo.tui.fit import why_not\n"
        "    reason = why_not()\n"
        f"    assert 'textual' not in sys.modules\n"
        f"    os._exit(0 if reason == 'Standard {word} is no terminal, so here is the walk as plain text.' else 9)\n"
        "os._exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))\n"
    )
    environ = {**os.environ, "TERM": "xterm-256color"}
    assert subprocess.run([sys.executable, "-c", program], env=environ, check=False, timeout=30).returncode == 0
