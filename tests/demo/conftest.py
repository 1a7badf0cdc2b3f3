"""What the walkthrough's tests share: a server that tampers with its answers, and walks against it."""

from collections.abc import Iterator

import pytest

from tests.broken_servers import TamperedServer, honest, running_tampered_server


@pytest.fixture(scope="session")
def _tampered_server() -> Iterator[TamperedServer]:
    with running_tampered_server() as server:
        yield server


@pytest.fixture
def server(_tampered_server: TamperedServer) -> Iterator[TamperedServer]:
    """A running demo server, honest until a test sets its `tamper`."""
    _tampered_server.tamper = honest
    _tampered_server.waiting.clear()
    _tampered_server.sessions.clear()
    yield _tampered_server
    _tampered_server.tamper = honest


@pytest.fixture
def no_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    """Scenes that start again do so at once."""
    monkeypatch.setattr("demo.stage.random.uniform", lambda *_: 0.0)
