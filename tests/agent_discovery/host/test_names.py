"""The names that `agent_discovery.host` offers: each is loaded when it is asked for, and not before."""

import ast
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

from agent_discovery import host


def _loaded_by(code: str) -> set[str]:
    program = f"{code}; import sys; print(*sorted({{name.partition('.')[0] for name in sys.modules}}))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    return set(done.stdout.split())


def _told_to_type_checkers() -> dict[str, str]:
    """Each name with the module that it is imported from, as a type checker reads it."""
    tree = ast.parse(Path(host.__file__).read_text(encoding="utf-8"))
    block = next(node for node in tree.body if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING")
    imports = [node for node in block.body if isinstance(node, ast.ImportFrom)]
    return {alias.name: str(node.module) for node in imports for alias in node.names}


def test_each_name_is_what_a_type_checker_takes_it_for() -> None:
    told = _told_to_type_checkers()
    assert sorted(told) == host.__all__
    for name, module in told.items():
        assert getattr(host, name) is getattr(import_module(f"agent_discovery.host.{module}"), name), name


def test_all_names_are_listed_before_they_are_loaded() -> None:
    program = "import agent_discovery.host as host; print(*set(host.__all__) - set(dir(host)))"
    listed = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    assert listed.stdout.split() == []


def test_its_modules_are_attributes_whatever_was_asked_for_before() -> None:
    program = "import agent_discovery.host as host; print(host.errors.HostError is host.HostError)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.split() == ["True"]


def test_another_name_is_refused_as_by_any_module() -> None:
    with pytest.raises(AttributeError, match=r"module 'agent_discovery\.host' has no attribute 'AgentCash'"):
        _ = host.AgentCash  # type: ignore[attr-defined]
    with pytest.raises(ImportError, match="cannot import name 'AgentCash'"):
        exec("from agent_discovery.host import AgentCash")


def test_what_a_host_only_looks_at_loads_no_http_client() -> None:
    looked_at = "AnswerFrame, Credential, HostError, Opening, RoleTable, parse_challenges"
    assert not _loaded_by(f"from agent_discovery.host import {looked_at}") & {"httpx", "pydantic"}


def test_the_host_side_needs_neither_the_sdk_nor_a_user_interface() -> None:
    loaded = _loaded_by("from agent_discovery.host import *")
    assert "httpx" in loaded
    assert not loaded & {"mcp", "mcp_types", "textual", "starlette", "uvicorn"}
