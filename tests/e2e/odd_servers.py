"""Whoever else may listen at an address that somebody gives to the walkthrough: a web site, silence, noise."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["answering", "closed_port"]


def closed_port() -> int:
    """A port at which nobody listens."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


@contextmanager
def answering(raw: bytes | None) -> Iterator[str]:
    """The URL of a TCP server that sends these bytes to whoever sends something; None: it never answers."""
    over = threading.Event()
    open_ones: list[socket.socket] = []
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(0.1)

        def serve() -> None:
            while not over.is_set():
                try:
                    connection, _ = listener.accept()
                except TimeoutError:
                    continue
                open_ones.append(connection)
                if raw is not None:
                    connection.settimeout(5)
                    connection.recv(65_536)
                    connection.sendall(raw)
                    connection.shutdown(socket.SHUT_WR)

        thread = threading.Thread(target=serve, name="odd-server")
        thread.start()
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}/mcp"
        finally:
            over.set()
            thread.join(10)
            for connection in open_ones:
                connection.close()
