"""The program's own demo server, in a thread, from the moment somebody asks for it until the program ends."""

import threading

__all__ = ["OwnServer"]


class OwnServer:
    """A demo server on a free port: `wait` gives its address, `stop` ends it. Both may be called from any thread."""

    def __init__(self) -> None:
        self._stop = threading.Event()
        self._ready = threading.Event()
        self._url: str | None = None
        self._problem: Exception | None = None
        self._thread = threading.Thread(target=self._run, name="own-server", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def wait(self) -> str:
        """The server's endpoint, once it answers; raises what kept it from starting."""
        self._ready.wait()
        if self._url is None:
            raise self._problem or RuntimeError("the server was stopped before it had started")
        return self._url

    def stop(self, timeout: float = 8.0) -> None:
        """End the server and wait for its end. Idempotent.

        One that is still being loaded is not waited for: it finds out by itself that nobody wants it any more.
        """
        self._stop.set()
        if not self._ready.is_set():
            self._ready.set()
        elif self._thread.is_alive():
            self._thread.join(timeout)

    def _run(self) -> None:
        try:
            from server.embedded import running_server  # takes a second, and the first paint does not wait for it

            if self._stop.is_set():
                return
            with running_server() as running:
                self._url = running.url
                self._ready.set()
                self._stop.wait()
        except Exception as problem:  # noqa: BLE001 - the thread's boundary: `wait` raises it where it can be told
            self._problem = problem
        finally:
            self._ready.set()
