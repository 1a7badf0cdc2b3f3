"""Standard output that cannot be written: a full disk, or a reader who has left.

Owns how the commands end then. It leaves what is written to them.
"""

import errno
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import click

__all__ = ["written_output"]

LEFT: Final = 1
UNWRITABLE: Final = 2

_NOWHERE: Final = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EBADF}


@contextmanager
def written_output() -> Iterator[None]:
    """Write out what the block prints; where that cannot be, end the process instead of raising.

    Exits with 1 and without a word where the reader has left, with 2 and one line where there is no room.
    """
    try:
        try:
            yield
        finally:
            if sys.stdout is not None:
                sys.stdout.flush()
    except BrokenPipeError:
        _silence()
        sys.exit(LEFT)
    except OSError as problem:
        if problem.errno not in _NOWHERE:
            raise
        _silence()
        click.echo(f"error: cannot write standard output: {problem.strerror}; send it somewhere else", err=True)
        sys.exit(UNWRITABLE)


def _silence() -> None:
    """Nothing more can be said there, not even by the interpreter at its exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
