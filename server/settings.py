"""How the demo server runs, as values that are checked when they are written down.

Owns the settings and their ranges. It leaves what becomes of them to `app` and `embedded`, and imports neither the SDK
nor anything that does, so that the command line answers `--help` and wrong usage at once.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal, get_args

from agent_discovery.versions import Version, one_per_major

__all__ = ["LOG_LEVELS", "MCP_PATH", "WIRES", "Settings", "Wire"]

Wire = Literal["dual", "session", "stateless"]

MCP_PATH: Final = "/mcp"
WIRES: Final[tuple[Wire, ...]] = get_args(Wire)
LOG_LEVELS: Final = ("debug", "info", "warning", "error", "critical")


@dataclass(frozen=True, kw_only=True)
class Settings:
    """How the demo server runs. The defaults are those of `python -m server`, but for the port.

    Args:
        host: the address to listen on.
        port: 0 takes a free one.
        wire: which of the two wires to serve.
        ttl_ms: milliseconds for which hosts may take lists and details for fresh.
        page_size: cards on a page of `agents/list`.
        synthetic: how many made-up agents to add.
        json_response: whether answers are JSON where possible, or always streams.
        roster_file: another roster than the built-in one; read again when it changes (see `roster_file`, `reload`).
        roster_poll_seconds: how often to look whether it has.
        extension_versions: versions of the extension to advertise and serve; without any it is 1.0.0, unadvertised.
        log_level: the lowest level that is logged.
        shutdown_seconds: how long open requests may take to end when the server does.

    Raises:
        ValueError: a value is out of its range.
    """

    host: str = "127.0.0.1"
    port: int = 0
    wire: Wire = "dual"
    ttl_ms: int = 60_000
    page_size: int = 50
    synthetic: int = 0
    roster_file: Path | None = None
    roster_poll_seconds: float = 1.0
    json_response: bool = True
    extension_versions: tuple[str, ...] = ()
    log_level: str = "warning"
    shutdown_seconds: int = 2

    def __post_init__(self) -> None:
        if self.wire not in WIRES:
            raise ValueError(
                f"Settings.wire must be one of {', '.join(WIRES)}, got {self.wire!r}; leave it out for both"
            )
        if self.log_level not in LOG_LEVELS:
            raise ValueError(
                f"Settings.log_level must be one of {', '.join(LOG_LEVELS)}, got {self.log_level!r}; choose one"
            )
        for name, least, most in (
            ("port", 0, 65_535),
            ("ttl_ms", 0, None),
            ("page_size", 1, None),
            ("synthetic", 0, 99_999),
            ("shutdown_seconds", 1, None),
            ("roster_poll_seconds", 0.01, None),
        ):
            value = getattr(self, name)
            if value < least or (most is not None and value > most):
                bounds = f"{least} or more" if most is None else f"{least} to {most}"
                raise ValueError(f"Settings.{name} must be {bounds}, got {value!r}; leave it out for the default")
        if self.extension_versions:
            one_per_major(map(Version.parse, self.extension_versions))
