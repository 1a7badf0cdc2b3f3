"""What the end-to-end tests share: demo servers in processes of their own."""

from collections.abc import Iterator

import pytest

from tests.broken_servers import TamperedServer, honest, running_tampered_server
from tests.e2e.processes import serving


@pytest.fixture(scope="session")
def served() -> Iterator[str]:
    """The URL of `python -m server`, both wires."""
    with serving() as server:
        yield server.url


@pytest.fixture(scope="session")
def served_session_only() -> Iterator[str]:
    with serving("--wire", "session") as server:
        yield server.url


@pytest.fixture(scope="session")
def served_stateless_only() -> Iterator[str]:
    with serving("--wire", "stateless") as server:
        yield server.url


@pytest.fixture(scope="session")
def _tampered() -> Iterator[TamperedServer]:
    with running_tampered_server() as server:
        yield server


@pytest.fixture
def tampered(_tampered: TamperedServer) -> Iterator[TamperedServer]:
    """A demo server in this process, honest until a test sets its `tamper`."""
    _tampered.tamper = honest
    _tampered.waiting.clear()
    _tampered.sessions.clear()
    yield _tampered
    _tampered.tamper = honest
