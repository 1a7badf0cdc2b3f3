"""The examples in the library's docstrings say what they say they say."""

import doctest
from importlib import import_module
from pathlib import Path

import pytest

import agent_discovery

ROOT = Path(agent_discovery.__file__).parent
WITH_EXAMPLES = sorted(
    path.relative_to(ROOT.parent).with_suffix("").as_posix().replace("/", ".")
    for path in ROOT.rglob("*.py")
    if ">>> " in path.read_text(encoding="utf-8")
)


def test_there_are_examples() -> None:
    assert {"agent_discovery.host.delegate", "agent_discovery.host.roles"} <= set(WITH_EXAMPLES)


@pytest.mark.parametrize("module", WITH_EXAMPLES)
def test_an_example_gives_what_it_says(module: str) -> None:
    result = doctest.testmod(import_module(module))
    assert result.attempted
    assert not result.failed
