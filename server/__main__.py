"""The command line of the demo server: `python -m server`.

Owns options, the line that says where the server is, and exit codes. It leaves serving to `embedded`.
"""

import errno
import logging
import signal
import sys
import threading
from pathlib import Path
from types import FrameType
from typing import Final, cast

import click

from agent_discovery.versions import InvalidVersion, Version, one_per_major
from server.settings import LOG_LEVELS, WIRES, Settings, Wire

__all__ = ["main"]

_HELP: Final = {"help_option_names": ["-h", "--help"]}


def _versions(_context: click.Context, _parameter: click.Parameter, value: tuple[str, ...]) -> tuple[str, ...]:
    try:
        if value:
            one_per_major(map(Version.parse, value))
    except InvalidVersion as error:
        raise click.BadParameter(str(error)) from error
    return value


def _host(_context: click.Context, _parameter: click.Parameter, value: str) -> str:
    if not value.strip() or not value.isprintable():
        raise click.BadParameter(f"{value!r} is no address: give e.g. 127.0.0.1, or 0.0.0.0 for all of this machine's")
    return value


@click.command(context_settings=_HELP)
@click.option("--host", default="127.0.0.1", show_default=True, callback=_host, help="Address to listen on.")
@click.option("--port", type=click.IntRange(0, 65_535), default=8080, show_default=True, help="0 takes a free one.")
@click.option(
    "--wire",
    type=click.Choice(WIRES),
    default="dual",
    show_default=True,
    help="Which protocol versions to serve: those with a session, 2026-07-28, or both.",
)
@click.option("--ttl-ms", type=click.IntRange(0), default=60_000, show_default=True, help="How long answers are fresh.")
@click.option("--page-size", type=click.IntRange(1), default=50, show_default=True, help="Agents on a page.")
@click.option("--synthetic", type=click.IntRange(0, 99_999), default=0, metavar="N", help="Add N made-up agents.")
@click.option(
    "--roster",
    "roster_file",
    type=click.Path(path_type=Path),
    metavar="FILE.toml",
    help="Serve this roster, with tokens, scopes and tools of its own; read again when it changes, and on SIGHUP.",
)
@click.option(
    "--extension-version",
    "extension_versions",
    multiple=True,
    callback=_versions,
    metavar="MAJOR.MINOR.PATCH",
    help="A version of the extension to serve and advertise, one for each major; repeatable. Without it: 1.0.0.",
)
@click.option(
    "--log-level",
    type=click.Choice(LOG_LEVELS),
    default="warning",
    show_default=True,
    help="The lowest level that is logged.",
)
def main(
    host: str,
    port: int,
    wire: str,
    ttl_ms: int,
    page_size: int,
    synthetic: int,
    roster_file: Path | None,
    extension_versions: tuple[str, ...],
    log_level: str,
) -> None:
    """Serve agents and tools over MCP, with the agent-discovery extension, until interrupted.

    Without --roster these are three agents and six tools about pipelines, invoices and deployments.
    """
    settings = Settings(
        host=host,
        port=port,
        wire=cast(Wire, wire),
        ttl_ms=ttl_ms,
        page_size=page_size,
        synthetic=synthetic,
        roster_file=roster_file,
        extension_versions=extension_versions,
        log_level=log_level,
    )
    logging.basicConfig(level=log_level.upper(), format="%(levelname)s %(name)s: %(message)s")
    if log_level == "warning":
        # Who edits a roster file wants to hear that it was taken, and not of everything else.
        logging.getLogger("server.reload").setLevel(logging.INFO)
    from server.embedded import ServerFailed  # it brings the SDK, which takes a second that --help need not
    from server.roster_file import RosterFileError

    try:
        _serve(settings)
    except RosterFileError as error:
        _give_up(str(error))
    except OSError as error:
        _give_up(_why_not(error, host, port))
    except ServerFailed as error:
        _give_up(str(error))


def _serve(settings: Settings) -> None:
    from server.embedded import ServerFailed, running_server  # as above

    over = threading.Event()

    def stop(_signal: int, _frame: FrameType | None) -> None:
        over.set()

    for name in (signal.SIGINT, signal.SIGTERM):
        signal.signal(name, stop)
    with running_server(settings) as server:
        if settings.roster_file is not None and hasattr(signal, "SIGHUP"):
            signal.signal(signal.SIGHUP, lambda _signal, _frame: server.reload())
        try:
            click.echo(f"agent-discovery demo server ready on {server.url} (stop it with Ctrl+C)")
        except OSError as error:
            raise ServerFailed(f"cannot write to standard output: {error.strerror}; send it somewhere else") from error
        while not over.wait(1.0):
            if server.wait(0):
                raise ServerFailed("the demo server stopped by itself; run it with --log-level debug to see why")


def _why_not(error: OSError, host: str, port: int) -> str:
    if error.errno == errno.EADDRINUSE:
        return f"port {port} on {host} is taken; stop what uses it or choose another with --port (0 takes a free one)"
    if error.errno == errno.EACCES:
        return f"port {port} on {host} needs more rights; choose one above 1023 with --port"
    return f"cannot listen on {host} port {port}: {error.strerror or error}; check --host and --port"


def _give_up(text: str) -> None:
    click.echo(f"error: {text}", err=True)
    sys.exit(2)


if __name__ == "__main__":
    main()
