"""How long a whole walk takes, next to the same requests through the official SDK's client.

Both run as processes of their own against one server, in turns, so that a busy machine slows both alike; what counts
is the ratio of the medians.
"""

import statistics
import subprocess
import sys
import time
from collections.abc import Sequence

import click

from server.embedded import running_server

_LOADED = "import demo.__main__, sys; print(*[m for m in ('mcp', 'mcp_types', 'textual') if m in sys.modules])"


def _seconds(command: Sequence[str]) -> float:
    started = time.perf_counter()
    subprocess.run(
        [sys.executable, *command], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=120
    )
    return time.perf_counter() - started


def _compare(url: str, wire: str, rounds: int) -> None:
    contenders = {
        "walk": ["-m", "demo", "--non-interactive", "--url", url, "--wire", wire],
        "sdk": ["-m", "bench.sdk_client", url, wire],
        "start": ["-c", "import demo.__main__, demo.runs"],
    }
    times: dict[str, list[float]] = {name: [] for name in contenders}
    for _ in range(rounds):
        for name, command in contenders.items():
            times[name].append(_seconds(command))
    walk, sdk, start = (statistics.median(times[name]) for name in contenders)
    click.echo(
        f"{wire:9}  whole walk {walk:.2f} s, SDK client {sdk:.2f} s: {walk / sdk:.2f} of it;"
        f" start-up and imports {start:.2f} s: {start / walk:.2f} of the walk"
    )


@click.command()
@click.option("--rounds", type=click.IntRange(min=1), default=7, show_default=True, help="Runs of each, in turns.")
def main(rounds: int) -> None:
    """Compare a whole walk with the official SDK's client, on both wires, and measure the TUI."""
    loaded = subprocess.run([sys.executable, "-c", _LOADED], check=True, capture_output=True, text=True).stdout.split()
    click.echo(f"the walkthrough's process loads of mcp, mcp_types and textual: {', '.join(loaded) or 'none'}")
    with running_server() as running:
        for wire in ("session", "stateless"):
            _compare(running.url, wire, rounds)
    from bench.tui import report  # it loads Textual, which would slow down nothing but the start of this

    report(rounds, keys=100)


if __name__ == "__main__":
    main(prog_name="python -m bench")
