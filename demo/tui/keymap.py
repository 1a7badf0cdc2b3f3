"""The reader's own keys, from a file: `"walk.next" = "j"` under `[keys]`, an action's id and the keys for it."""

import os
import tomllib
from collections.abc import Mapping
from pathlib import Path

__all__ = ["keymap_file", "read_keymap"]


def keymap_file(environ: Mapping[str, str] = os.environ) -> Path:
    """Where the file is looked for: `$XDG_CONFIG_HOME/mcp-agent-discovery/keys.toml`, or below `~/.config`."""
    base = environ.get("XDG_CONFIG_HOME") or str(Path(environ.get("HOME", "~")).expanduser() / ".config")
    return Path(base) / "mcp-agent-discovery" / "keys.toml"


def read_keymap(environ: Mapping[str, str] = os.environ) -> tuple[dict[str, str], str | None]:
    """The keys by the id of their action, and what is wrong with the file, if anything. No file means no keys."""
    path = keymap_file(environ)
    try:
        keys = tomllib.loads(path.read_text(encoding="utf-8")).get("keys", {})
    except FileNotFoundError:
        return {}, None
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as problem:
        return {}, f"{path} cannot be read, so every key is as it was: {problem}"
    if not isinstance(keys, dict) or not all(isinstance(key, str) for key in keys.values()):
        return {}, f'{path}: [keys] must hold lines such as "walk.next" = "j"; every key is as it was'
    return dict(keys), None
