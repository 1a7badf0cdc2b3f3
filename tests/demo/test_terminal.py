"""The terminal teller: everything a walk does is told, in words a screen reader gets too."""

import io

from rich.console import Console

from agent_discovery.host import ExtensionMissing, HostError, NotAuthenticated, TimedOut, UnsupportedProtocolVersion
from demo.arrows import scripted
from demo.events import Event, Stopped, WalkEnded
from demo.scene import Wire
from demo.script import SCENES
from demo.terminal import Terminal
from tests.broken_servers import TamperedServer
from tests.demo.walks import walk


def told(*events: Event) -> str:
    out = io.StringIO()
    terminal = Terminal(Console(file=out, width=100))
    for event in events:
        terminal.tell(event)
    return out.getvalue()


async def test_each_scene_arrow_and_check_is_told(server: TamperedServer) -> None:
    for wire in ("session", "stateless"):
        await _told_in_full(server, wire)


async def _told_in_full(server: TamperedServer, wire: Wire) -> None:
    lines = told(*(await walk(server.url, wire=wire)).events).splitlines()
    for scene in SCENES:
        assert f"{scene.number}. {scene.title}" in lines
        for check in scene.checks:
            assert f"   held   {check.title}" in lines
        for step in (*scene.steps, *scene.cleanup):
            for arrow in scripted(step, wire):
                assert f"   {arrow.direction} {arrow.label}" in lines
    assert "     RoleTable maps the hint to a model of the host's own: " in "\n".join(lines)
    assert lines[-1] == "33 of 33 checks held."


def _last_line(error: HostError) -> str:
    return told(WalkEnded(0, (), Stopped(SCENES[0], error))).splitlines()[-1]


def test_where_the_walk_stops_the_next_move_is_one_of_this_command_line() -> None:
    where = "The walkthrough stops in scene 1 (Connect and look for the extension): "
    moves = {
        "or allow more time with --timeout": TimedOut("initialize", 10),
        "give a server that does, e.g. python -m server": ExtensionMissing("it"),
        "choose the wire that it speaks, or --wire auto": UnsupportedProtocolVersion("no"),
        "or a token of this one with --token": NotAuthenticated("no", status=401),
    }
    for move, error in moves.items():
        assert _last_line(error).startswith(where)
        assert _last_line(error).endswith(move)


def test_an_endless_error_text_is_cut() -> None:
    assert len(_last_line(NotAuthenticated("x" * 100_000))) < 1_000
