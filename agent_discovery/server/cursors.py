"""Cursors that mean something to this server only.

Owns the sealing of a place in the roster into an opaque string and back. It leaves to `views` what a place is. The seal
is deterministic and authenticated (AES-SIV, RFC 5297): it cannot be read, altered or made up, so a caller can neither
count nor place agents that are hidden from it.
"""

import base64
import binascii
from typing import Final

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESSIV

__all__ = ["CursorSeal", "InvalidCursor"]

_PURPOSE: Final = [b"agents/list"]
_PLACE_BYTES: Final = 8
_TEXT_LENGTH: Final = 32
"""16 bytes of tag and 8 of place are exactly 32 base64 characters: no padding, and one spelling only."""


class InvalidCursor(ValueError):
    """The cursor is not one this server handed out, or an earlier run of it did.

    `cursor` is what was given. The next move is to list again from the first page.
    """

    def __init__(self, cursor: object) -> None:
        super().__init__("this cursor is not one of ours; call agents/list again without a cursor")
        self.cursor = cursor


class CursorSeal:
    """Seals places (non-negative integers below 2**64) with one key.

    Args:
        key: 32, 48 or 64 random bytes; None makes a fresh key, so that cursors end with the process. Give one where
            several processes answer for the same roster.
    """

    def __init__(self, key: bytes | None = None) -> None:
        if key is not None and len(key) not in (32, 48, 64):
            raise ValueError(
                f"cursor_key must be 32, 48 or 64 bytes, got {len(key)} bytes; make one with secrets.token_bytes(32)"
            )
        self._cipher = AESSIV(key if key is not None else AESSIV.generate_key(256))

    def seal(self, place: int) -> str:
        """The cursor for `place`: 32 characters, the same for the same place."""
        sealed = self._cipher.encrypt(place.to_bytes(_PLACE_BYTES, "big"), _PURPOSE)
        return base64.urlsafe_b64encode(sealed).decode("ascii")

    def open(self, cursor: object) -> int:
        """The place in `cursor`.

        Raises:
            InvalidCursor: whatever is wrong with it, of whatever type or length.
        """
        if not isinstance(cursor, str) or len(cursor) != _TEXT_LENGTH:
            raise InvalidCursor(cursor)
        try:
            sealed = base64.b64decode(cursor.encode("ascii"), altchars=b"-_", validate=True)
            return int.from_bytes(self._cipher.decrypt(sealed, _PURPOSE), "big")
        except (UnicodeEncodeError, binascii.Error, InvalidTag) as error:
            raise InvalidCursor(cursor) from error
