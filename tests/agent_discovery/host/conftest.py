"""Fixtures of the host's tests: a scripted server on a real socket, and a clock that only moves when told."""

from collections.abc import AsyncIterator

import pytest

from tests.agent_discovery.host.fakes import Clock, ScriptedServer


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
async def scripted() -> AsyncIterator[ScriptedServer]:
    """A server that does to each request what the test says, byte by byte if need be."""
    async with ScriptedServer() as server:
        yield server
