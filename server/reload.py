"""Reading a roster file again: on request, and when the file has changed.

Owns when the file is read and what becomes of a broken one. It leaves the format to `roster_file` and the step from one
roster to the next to `published`. The file is looked at once in an interval, and read only after it has stayed the same
for one, so that a file that is still being written is left alone; a request reads it at once.
"""

import logging
from pathlib import Path

import anyio
import anyio.to_thread

from server.published import Difference, Published
from server.roster import Roster
from server.roster_file import RosterFileError, load_roster

__all__ = ["RosterReload", "RosterSource"]

_logger = logging.getLogger(__name__)

_Stamp = tuple[int, int, int] | None


class RosterSource:
    """A roster file, and whether it is still as it was when it was last read."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._read: _Stamp = None

    def read(self) -> Roster:
        """The roster in the file now.

        Raises:
            RosterFileError: the file cannot be read, or is no roster. It counts as read all the same.
        """
        # Taken first: a change while reading is a change since.
        self._read = self.stamp()
        return load_roster(self.path)

    def stamp(self) -> _Stamp:
        """What tells one state of the file from another; None while there is no file."""
        try:
            found = self.path.stat()
        except (OSError, ValueError):
            return None
        return found.st_mtime_ns, found.st_size, found.st_ino

    def changed(self, stamp: _Stamp) -> bool:
        """Whether a state is another than the one last read."""
        return stamp != self._read


class RosterReload:
    """Keeps what is published in step with a file. A file with mistakes changes nothing, and its mistakes are logged.

    Args:
        source: the file, read once already.
        published: what to change.
        poll_seconds: how often to look at the file.
    """

    def __init__(self, source: RosterSource, published: Published, *, poll_seconds: float = 1.0) -> None:
        self._source = source
        self._published = published
        self._poll_seconds = poll_seconds
        self._asked = anyio.Event()

    def request(self) -> None:
        """Read the file again, whether it changed or not. Does not wait. Call it on the event loop."""
        self._asked.set()

    async def run(self) -> None:
        """Watch until cancelled."""
        seen = self._source.stamp()
        while True:
            asked = await self._asked_in_time()
            now = self._source.stamp()
            if asked or (now == seen and self._source.changed(now)):
                await self.once()
            seen = now

    async def once(self) -> Difference | None:
        """Read the file and publish what it says; None, and a line in the log for each mistake, where it is refused."""
        try:
            # In a thread: a large file takes a while, and meanwhile requests are to be answered.
            roster = await anyio.to_thread.run_sync(self._source.read)
            difference = self._published.apply(roster)
        except RosterFileError as error:
            _logger.error("roster file refused; what was published before stays:\n%s", error)
            return None
        except Exception:  # the boundary of a task that must outlive any file
            _logger.exception("reading the roster file again failed; what was published before stays")
            return None
        _logger.info("roster file read again: %s", difference)
        return difference

    async def _asked_in_time(self) -> bool:
        with anyio.move_on_after(self._poll_seconds):
            await self._asked.wait()
        asked = self._asked.is_set()
        if asked:
            self._asked = anyio.Event()
        return asked
