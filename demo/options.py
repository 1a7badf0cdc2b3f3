"""The command line's values: what may be given for an option, and what it becomes.

Owns the checks, so that wrong usage is told before anything is sent. It leaves the options themselves to `__main__`.
Texts never repeat a token.
"""

import math
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import click

from agent_discovery import __version__
from agent_discovery.host import BadRequest, Credential
from demo.cast import DEFAULT_URL
from demo.scene import Scene
from demo.script import SCENES

__all__ = ["SceneRange", "agent_name", "checked_url", "credentials", "finite", "print_version", "report_file"]

_ON_THIS_MACHINE: Final = re.compile(
    r"https?://(127\.0\.0\.1|localhost|\[::1\])(:\d{1,5})?(/[\w./-]{0,1000})?", re.ASCII
)
"""Addresses that need no parser to be told from others."""

_LABELLED: Final = re.compile(r"([A-Za-z][A-Za-z0-9_.-]{0,31})=(.*[^=].*)", re.DOTALL)
"""`label=TOKEN`. A token's own `=` are padding at its end, which leaves nothing to be one behind it."""


class SceneRange(click.ParamType[tuple[Scene, ...]]):
    """`3` or `2-5`: scenes by number."""

    name = "N[-M]"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[Scene, ...]:
        match = re.fullmatch(r"(\d{1,2})(?:-(\d{1,2}))?", str(value))
        first, last = (int(match[1]), int(match[2] or match[1])) if match else (0, 0)
        chosen = tuple(scene for scene in SCENES if first <= scene.number <= last)
        if not chosen or first < 1 or last > len(SCENES):
            self.fail(
                f"{value!r} names no scenes: give a number from 1 to {len(SCENES)}, or a range such as 2-5", param, ctx
            )
        return chosen


def checked_url(_: click.Context, __: click.Parameter, value: str | None) -> str | None:
    if value is None:
        return None
    try:
        parts = urlsplit(value)
        usable = parts.scheme in ("http", "https") and parts.port != 0 and value.isprintable()
        usable = usable and (_ON_THIS_MACHINE.fullmatch(value) is not None or _is_host(value))
    except ValueError:  # a bracket without its pair, a port that is none
        usable = False
    if not usable:
        raise click.BadParameter(f"{value!r} is no web address: give it as {DEFAULT_URL}")
    if parts.username is not None:
        raise click.BadParameter("the address must not hold a user name or password: the walkthrough has its tokens")
    return value


def _is_host(url: str) -> bool:
    """Whether the HTTP client finds a host in it; it refuses an xn-- name that is none, too."""
    import httpx  # takes a tenth of a second to load, which most do not have to wait for: they name this machine

    try:
        return bool(httpx.URL(url).host)
    except httpx.InvalidURL:
        return False


def agent_name(_: click.Context, __: click.Parameter, value: str | None) -> str | None:
    if value is not None and not value.strip():
        raise click.BadParameter(f"{value!r} is no agent's name: give one that the server has and hides")
    return value


def finite(_: click.Context, __: click.Parameter, value: float) -> float:
    if not math.isfinite(value):
        raise click.BadParameter(f"{value} is no number of seconds: give e.g. 10")
    return value


def print_version(ctx: click.Context, _: click.Parameter, wanted: bool) -> None:
    if wanted and not ctx.resilient_parsing:
        click.echo(__version__)
        ctx.exit()


def credentials(_: click.Context, __: click.Parameter, values: Sequence[str]) -> tuple[Credential, ...]:
    """One caller for each `TOKEN` or `label=TOKEN`."""
    found: list[Credential] = []
    for number, value in enumerate(values, 1):
        labelled = _LABELLED.fullmatch(value)
        label, token = (labelled[1], labelled[2]) if labelled else (f"caller {number}", value)
        try:
            found.append(Credential(token, label))
        except BadRequest:
            raise click.BadParameter(
                f"token {number} is not visible ASCII without spaces: give the bare token, or label=TOKEN"
            ) from None
    labels = [credential.label for credential in found]
    if twice := sorted({label for label in labels if labels.count(label) > 1}):
        raise click.BadParameter(f"two tokens have the label {twice[0]!r}: give each its own")
    return tuple(found)


def report_file(_: click.Context, __: click.Parameter, value: Path | None) -> Path | None:
    if value is None:
        return None
    from demo.report import ENDINGS  # reports are seldom asked for, and take a tenth of a second to load

    if value.suffix.lower() not in ENDINGS:
        raise click.BadParameter(
            f"{str(value)!r} ends in neither .json nor .xml (JUnit): the ending says which to write"
        )
    if not value.absolute().parent.is_dir():
        raise click.BadParameter(f"there is no directory {str(value.parent)!r}: make it first")
    return value
