"""Which room may import which: the host side stays small, and nothing points backwards."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
SDK_ADAPTER = ROOT / "agent_discovery/host/sdk"
"""The one part of the host side that is about the official SDK's client."""


def _imports(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                package = path.relative_to(ROOT).with_suffix("").parts[: -node.level]
                base = ".".join((*package, base)).rstrip(".")
            yield base
            yield from (f"{base}.{alias.name}" for alias in node.names)


def _within(name: str, package: str) -> bool:
    return name == package or name.startswith(f"{package}.")


@pytest.mark.parametrize(
    ("room", "forbidden"),
    [
        ("agent_discovery", ["demo", "server", "bench", "textual", "rich", "click"]),
        ("agent_discovery/host", ["mcp", "mcp_types", "agent_discovery.server"]),
        ("agent_discovery/server", ["agent_discovery.host"]),
        ("agent_discovery/wire.py", ["mcp", "mcp_types", "agent_discovery.host", "agent_discovery.server"]),
        ("server", ["demo", "bench", "agent_discovery.host", "textual"]),
        ("demo", ["mcp", "mcp_types", "bench", "agent_discovery.server"]),
    ],
)
def test_a_room_imports_only_what_it_may(room: str, forbidden: list[str]) -> None:
    place = ROOT / room
    files = [place] if place.suffix else sorted(place.rglob("*.py"))
    if "mcp" in forbidden:
        files = [path for path in files if not path.is_relative_to(SDK_ADAPTER)]
    assert files, f"{room} holds no Python file"
    wrong = [
        f"{path.relative_to(ROOT)} imports {name}"
        for path in files
        for name in _imports(path)
        if any(_within(name, package) for package in forbidden)
    ]
    assert not wrong


def test_the_servers_command_line_answers_for_itself_before_it_loads_the_sdk() -> None:
    program = "import server.__main__, sys; print(*sorted({'mcp', 'mcp_types', 'starlette'} & set(sys.modules)))"
    loaded = subprocess.run([sys.executable, "-c", program], cwd=ROOT, check=True, capture_output=True, text=True)
    assert loaded.stdout.split() == []


@pytest.mark.parametrize("screen", ["walk", "explore"])
def test_the_tui_shows_its_first_screen_before_it_loads_what_sends(screen: str) -> None:
    program = f"import demo.__main__, demo.tui.run, demo.tui.{screen}, sys; "
    program += "print(*sorted({'httpx', 'pydantic', 'anyio', 'mcp'} & set(sys.modules)))"
    loaded = subprocess.run([sys.executable, "-c", program], cwd=ROOT, check=True, capture_output=True, text=True)
    assert loaded.stdout.split() == []


def test_a_plain_walk_does_not_load_what_surveys_and_reports_need() -> None:
    program = "import demo.__main__, demo.runs, sys; print(*sorted({'demo.clauses', 'demo.report'} & set(sys.modules)))"
    loaded = subprocess.run([sys.executable, "-c", program], cwd=ROOT, check=True, capture_output=True, text=True)
    assert loaded.stdout.split() == []


@pytest.mark.parametrize("module", ["agent_discovery.host.connecting", "demo.__main__", "demo.runs"])
def test_the_host_side_loads_neither_the_sdk_nor_textual(module: str) -> None:
    program = f"import {module}, sys; print(*sorted({{'mcp', 'mcp_types', 'textual', 'jinja2'}} & set(sys.modules)))"
    loaded = subprocess.run([sys.executable, "-c", program], cwd=ROOT, check=True, capture_output=True, text=True)
    assert loaded.stdout.split() == []
