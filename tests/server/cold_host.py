"""A host that knows nothing: it reads texts, follows the names in them by fixed rules, and never looks anything up.

Owns the reader (which names are in a text, and what kind of thing each is) and the order of its moves. It leaves goals
to the tests. It has no knowledge of the demo: rules go by the shape of words and by the sentence a name stands in.
"""

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

import httpx

from tests.server.callers import Caller, answer

__all__ = ["ColdHost", "Move", "Seen"]

_NAME = r"[a-z][a-z0-9]*(?:[-_][a-z0-9]+)+"
_METHOD = re.compile(r"\b[a-z]+/[a-z]+\b")
_TOLD = re.compile(rf"""call ({_NAME}|[a-z]+/[a-z]+)(?: with ([a-z_]+) "([^"]+)")?""", re.IGNORECASE)
_SENTENCE = re.compile(r"[^.\n]*(?:\.(?=\s|$)|\n|$)")
_EXAMPLE = re.compile(r'such as "?([A-Za-z0-9.-]*[A-Za-z0-9])')


@dataclass(frozen=True)
class Move:
    """One request: a method, and for `agents/get` and `tools/call` the name it is about and the arguments."""

    method: str
    name: str = ""
    arguments: str = "{}"

    def params(self) -> dict[str, Any]:
        """What is sent."""
        match self.method:
            case "tools/call":
                return {"name": self.name, "arguments": json.loads(self.arguments)}
            case "agents/get":
                return {"name": self.name}
            case _:
                return {}


@dataclass
class Seen:
    """One answer: what was asked, the whole of what came (headers too), and the result if there was one."""

    move: Move
    text: str
    result: dict[str, Any] | None


@dataclass
class ColdHost:
    """Plays on one caller. `wish` is a set of words: among several moves it takes the one that shares most with them.

    Args:
        caller: the connection.
        first: the one wrong move that the host begins with; without one it begins with what it has read.
        wish: words of what it is after.
        stronger: a token of the same user to step up to, when it is told to.
    """

    caller: Caller
    first: Move | None
    wish: frozenset[str] = frozenset()
    stronger: str | None = None
    seen: list[Seen] = field(default_factory=list)
    told: list[Move] = field(default_factory=list)
    """Moves that a text spelled out, the latest first."""
    agents: set[str] = field(default_factory=set)
    tools: set[str] = field(default_factory=set)
    methods: set[str] = field(default_factory=set)
    schemas: dict[str, dict[str, Any]] = field(default_factory=dict)
    token: str | None = None
    made: set[Move] = field(default_factory=set)

    def __post_init__(self) -> None:
        if self.first is not None:
            self.methods.add(self.first.method)

    def reaches(self, goal: Callable[[Seen], bool], *, moves: int) -> bool:
        """Whether the goal comes up within that many more moves, the first wrong one included."""
        return any(goal(self._make(move)) for move in islice(self._moves(), moves))

    def wander(self, *, moves: int) -> None:
        """Make every move there is, up to that many."""
        for move in islice(self._moves(), moves):
            self._make(move)

    def _moves(self) -> Iterator[Move]:
        following, self.first = self.first, None
        while True:
            if following is None:
                rest = [move for move in self._known() if move not in self.made]
                if not rest:
                    return
                following = max(rest, key=self._worth)
            self.made.add(following)
            yield following
            following = None

    def _known(self) -> list[Move]:
        moves = list(self.told)
        moves += [Move(method) for method in sorted(self.methods) if method.endswith("/list")]
        if "agents/get" in self.methods:
            moves += [Move("agents/get", name) for name in sorted(self.agents)]
        moves += [Move("tools/call", name, self._arguments(name)) for name in sorted(self.tools)]
        return moves

    def _worth(self, move: Move) -> tuple[int, int]:
        words = set(re.split(r"[-_/]", move.name or move.method))
        shared = len({word.rstrip("s") for word in words} & self.wish)
        return shared, len(self.told) - self.told.index(move) if move in self.told else 0

    def _arguments(self, tool: str) -> str:
        """Arguments as its schema has them, once that was read; none before."""
        schema = self.schemas.get(tool, {})
        properties = schema.get("properties", {})
        return json.dumps({name: _value(properties.get(name, {})) for name in schema.get("required", ())})

    def _make(self, move: Move) -> Seen:
        response = self.caller.send(move.method, move.params(), token=self.token)
        if response.status_code == 403 and self.stronger is not None and "get a token" in response.text:
            self.seen.append(Seen(move, _whole(response), None))
            self._read(response.json()["error_description"])
            self.token = self.stronger
            response = self.caller.send(move.method, move.params(), token=self.token)
        result = None if response.status_code == 403 else answer(response).get("result")
        self.seen.append(Seen(move, _whole(response), result))
        self._take_in(response, result)
        return self.seen[-1]

    def _take_in(self, response: httpx.Response, result: dict[str, Any] | None) -> None:
        if result is None:
            body = response.json() if response.status_code == 403 else answer(response)["error"]
            self._read(body.get("error_description") or body["message"])
            return
        for tool in result.get("tools", ()):
            self.tools.add(tool["name"])
            self.schemas[tool["name"]] = tool["inputSchema"]
        self.agents |= {card["name"] for card in result.get("agents", ())}
        for part in result.get("content", ()):
            self._read(part["text"])
        for text in (result.get("instructions"), result.get("structuredContent", {}).get("next")):
            self._read(text or "")

    def read_opening(self) -> None:
        """Read the server's instructions."""
        opening = (
            self.caller.opening["result"] if self.caller.wire == "session" else self.caller.call("server/discover")
        )
        self.seen.append(Seen(Move("initialize"), opening["instructions"], opening))
        self._read(opening["instructions"])

    def _read(self, text: str) -> None:
        text = text.replace('\\"', '"')
        self.methods |= set(_METHOD.findall(text))
        for target, argument, value in _TOLD.findall(text):
            move = _spelled_out(target.lower(), argument, value)
            if move is not None and move not in self.told:
                self.told.insert(0, move)
        for sentence in _SENTENCE.findall(text):
            names = set(re.findall(rf"\b{_NAME}\b", sentence))
            # The first of the two words says what a sentence's names are; without either, the shape of a name does.
            kind = re.search(r"\b(agent|tool)s?\b", sentence)
            said = kind[1] if kind else ""
            self.agents |= {name for name in names if said == "agent" or "-" in name}
            self.tools |= {name for name in names if said == "tool" or "_" in name}


def _spelled_out(target: str, argument: str, value: str) -> Move | None:
    if "/" not in target:
        return Move("tools/call", target, json.dumps({argument: value} if argument else {}))
    if target == "agents/get":
        return Move(target, value) if value else None
    return Move(target) if target.endswith("/list") else None


def _value(schema: dict[str, Any]) -> Any:
    if "enum" in schema:
        return schema["enum"][0]
    example = _EXAMPLE.search(schema.get("description", ""))
    return example[1] if example else "x"


def _whole(response: httpx.Response) -> str:
    return f"{response.text}\n" + "\n".join(f"{name}: {value}" for name, value in response.headers.items())
