"""Reading the tables of a roster file: typed, strict, and never giving up at the first mistake.

Owns problems and how they are worded and located. It leaves to `roster_file` what a roster is made of. No problem ever
shows a token: values in tables that hold tokens are not shown at all, and a token that strayed elsewhere is not either.
"""

import difflib
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from server.toml_lines import LineIndex, TomlPath

__all__ = ["Notes", "Problem", "Table", "did_you_mean"]

_SHOWN: Final = 60
"""Characters of a wrong value that a problem shows."""


@dataclass(frozen=True)
class Problem:
    """One mistake: its line (from 1), the field such as `agents[1].tools[0]` (empty: the file), and what to do."""

    line: int
    field: str
    text: str

    def __str__(self) -> str:
        return f"{self.line}: {self.field}: {self.text}" if self.field else f"{self.line}: {self.text}"


class Notes:
    """Collects the problems of one file.

    Args:
        lines: where things are in it.
        secrets: texts that no problem may show.
    """

    def __init__(self, lines: LineIndex, secrets: Iterable[str] = ()) -> None:
        self._lines = lines
        self._secrets = tuple(secret for secret in secrets if secret)
        self._found: set[Problem] = set()

    @property
    def problems(self) -> tuple[Problem, ...]:
        """All problems, by line."""
        return tuple(sorted(self._found, key=lambda problem: (problem.line, problem.field, problem.text)))

    def add(self, path: TomlPath, text: str) -> None:
        """Note a problem at `path`, or at what is around it where the path is missing from the file."""
        self._found.add(Problem(self._lines.line(path), self._field(path), text))

    def show(self, value: object) -> str:
        """`value`, made fit for a problem's text: on one line, bounded, and without secrets."""
        try:
            shown = repr(value)
        except ValueError:
            # Python refuses to write integers of some thousand digits.
            return "a number too long to show"
        if any(secret in shown for secret in self._secrets):
            return "a value that holds a token"
        return shown if len(shown) <= _SHOWN else f"{shown[:_SHOWN]}…"

    def _field(self, path: TomlPath) -> str:
        field = ""
        for part in path:
            if isinstance(part, int):
                field += f"[{part}]"
            else:
                bare = part.isascii() and part.replace("-", "").replace("_", "").isalnum() and len(part) <= _SHOWN
                name = part if bare and part not in self._secrets else self.show(part)
                field += f".{name}" if field else name
        return field


class Table:
    """One table of the file. Each getter notes a problem, and gives what an absent value would, if the value is wrong.

    Args:
        data: the table as `tomllib` gave it.
        path: where it is.
        notes: where its problems go.
        secret: whether it holds a secret, so that no value of it may be shown.
    """

    def __init__(self, data: Mapping[str, Any], path: TomlPath, notes: Notes, *, secret: bool = False) -> None:
        self.data = data
        self.path = path
        self.notes = notes
        self._secret = secret

    def problem(self, key: str | None, text: str, *more: str | int) -> None:
        """Note a problem with a key of this table (`more`: further inside), or with the table itself."""
        self.notes.add(self.path if key is None else (*self.path, key, *more), text)

    def only(self, *known: str) -> None:
        """Note each key that is not among `known`."""
        for key in self.data:
            if key in known:
                continue
            guess = did_you_mean(key, known)
            keys = f"the keys here are {', '.join(known)}"
            if self._secret:
                self.problem(None, f"has a key that is not known;{guess or f' {keys}'}")
            else:
                self.problem(key, f"is not a known key;{guess or f' {keys}'}")

    def text(self, key: str, *, required: bool = False) -> str | None:
        """A text that is not blank."""
        value = self.data.get(key)
        if value is None:
            if required:
                self.problem(key, f'is missing; write {key} = "…"')
            return None
        if not isinstance(value, str) or not value.strip():
            self._wrong(key, value, "must be a text that is not blank", f'write {key} = "…"')
            return None
        return value

    def texts(self, key: str, *, may_be_empty: bool = True) -> tuple[str, ...]:
        """An array of texts, none of them blank or there twice; empty where the key is absent."""
        value = self.data.get(key)
        if value is None:
            return ()
        if not isinstance(value, list):
            self._wrong(key, value, "must be an array of texts", f'write {key} = ["…"]')
            return ()
        if not value and not may_be_empty:
            self.problem(key, "must not be empty; leave the key out instead")
        kept: list[str] = []
        for number, item in enumerate(value):
            if not isinstance(item, str) or not item.strip():
                self._wrong(key, item, "must be a text that is not blank", "mend it or take it out", number)
            elif item in kept:
                self._wrong(key, item, "is there twice", "remove one", number)
            else:
                kept.append(item)
        return tuple(kept)

    def flag(self, key: str, *, default: bool) -> bool:
        """True or false."""
        value = self.data.get(key, default)
        if isinstance(value, bool):
            return value
        self._wrong(key, value, "must be true or false", f"write {key} = {str(default).lower()}")
        return default

    def choice(self, key: str, choices: Sequence[str]) -> str | None:
        """One of some texts."""
        value = self.data.get(key)
        if value is None or value in choices:
            return value
        guess = did_you_mean(value, choices) if isinstance(value, str) else ""
        self._wrong(key, value, f"must be one of: {', '.join(choices)}", guess.strip() or "choose one of them")
        return None

    def table(self, key: str) -> "Table | None":
        """A table inside this one, or None where there is none."""
        value = self.data.get(key)
        if value is None:
            return None
        if isinstance(value, dict):
            return Table(value, (*self.path, key), self.notes, secret=self._secret)
        self._wrong(key, value, "must be a table", f"write [{key}] or {key} = {{ … }}")
        return None

    def tables(self, key: str, *, secret: bool = False) -> list["Table"]:
        """An array of tables; empty where the key is absent."""
        value = self.data.get(key, [])
        if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
            self.problem(key, f"must be an array of tables; begin each with [[{key}]] on a line of its own")
            return []
        return [Table(item, (*self.path, key, number), self.notes, secret=secret) for number, item in enumerate(value)]

    def _wrong(self, key: str, value: object, rule: str, remedy: str, *more: int) -> None:
        got = "" if self._secret else f", got {self.notes.show(value)}"
        self.problem(key, f"{rule}{got}; {remedy}", *more)


def did_you_mean(name: str, known: Collection[str]) -> str:
    """` did you mean 'x'?` where one of the known names is close to `name`, else nothing."""
    close = difflib.get_close_matches(name[:200], list(known), n=1, cutoff=0.7)
    return f" did you mean {close[0]!r}?" if close else ""
