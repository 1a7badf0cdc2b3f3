"""How the walkthrough's command ends: the exit codes, which CI relies on. `README.md` explains them."""

from typing import Final

__all__ = ["FAILED", "HELD", "INTERRUPTED", "NO_SERVER", "USAGE"]

HELD: Final = 0
FAILED: Final = 1
USAGE: Final = 2
NO_SERVER: Final = 3
INTERRUPTED: Final = 130
