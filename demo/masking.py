"""Keeping tokens out of what is told: a server may send back what it was sent.

Frames never hold the token of a request; this is about texts and bodies that came from elsewhere.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final

__all__ = ["Mask"]

_MASKED: Final = "***"
_SHORTEST: Final = 4
"""A shorter token guards nothing, and masking it would leave nothing to read."""


class Mask:
    """Replaces each of these secrets wherever it stands."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        self._secrets = sorted({secret for secret in secrets if len(secret) >= _SHORTEST}, key=len, reverse=True)

    def text(self, text: str) -> str:
        for secret in self._secrets:
            text = text.replace(secret, _MASKED)
        return text

    def value(self, value: Any) -> Any:
        """A JSON value, copied, with the secrets in its texts and names replaced."""
        match value:
            case str():
                return self.text(value)
            case Mapping():
                return {self.text(str(name)): self.value(item) for name, item in value.items()}
            case list() | tuple():
                return [self.value(item) for item in value]
            case _:
                return value
