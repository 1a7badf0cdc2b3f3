"""What every test may use: the event loop, and one running demo server."""

import os
from collections.abc import Iterator

import pytest

from server.embedded import running_server


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """What `-n auto` means: one more than there are processors, as many a test waits for a terminal or a socket."""
    return (os.cpu_count() or 1) + 1


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    """Async tests run on asyncio, as the servers do."""
    return "asyncio"


@pytest.fixture(scope="session")
def demo_server() -> Iterator[str]:
    """The base URL of a demo server on a free port, shared by all tests of a run."""
    with running_server() as server:
        yield server.base_url
