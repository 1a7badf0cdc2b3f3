"""Roster files: what they may say, and what is said of those that do not."""

import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from agent_discovery.server import Access, AgentDef, ModelRoutingHint, holders_of
from server.published import Published
from server.roster import Provider, Roster, RosterTool
from server.roster_file import MAX_BYTES, RosterFileError, load_roster, parse_roster
from server.toml_lines import LineIndex, TomlPath

LIBRARY = Path(__file__).resolve().parents[2] / "examples" / "library.toml"
TEXT = LIBRARY.read_text(encoding="utf-8")

SMALL = """\
scopes = ["a:read", "b:write"]

[[tokens]]
token = "tok-in-confidence"
user = "ann"
scopes = ["a:read"]

[[agents]]
name = "first"
tools = ["hello", "list_invoices"]
visible_to = ["a:read"]
challenge = ["b:write"]
[agents.model]
role = "large"
vision = true

[[tools]]
name = "hello"
description = "Say hello."
arguments.who = { description = "Whom." }
result = "Hello, {who}."

[[tools]]
name = "list_invoices"
visible_to = ["b:write"]
"""


def _error(text: str) -> RosterFileError:
    with pytest.raises(RosterFileError) as caught:
        parse_roster(text, "x.toml")
    return caught.value


def _outcome(text: str) -> Roster | RosterFileError:
    try:
        return parse_roster(text, "m.toml")
    except RosterFileError as error:
        return error


def _line_of(text: str, part: str) -> int:
    return text[: text.index(part)].count("\n") + 1


def test_a_file_becomes_agents_tools_tokens_and_policies() -> None:
    roster = parse_roster(SMALL)
    assert roster.agents == (
        AgentDef(
            name="first",
            tools=("hello", "list_invoices"),
            model_routing_hint=ModelRoutingHint(role="large", vision=True),
            access=Access(visible_to=holders_of("a:read"), challenge=("b:write",)),
        ),
    )
    assert roster.tools[1] == RosterTool(name="list_invoices", access=Access(visible_to=holders_of("b:write")))
    assert [(token.token, token.user, token.scopes) for token in roster.tokens] == [
        ("tok-in-confidence", "ann", ("a:read",))
    ]
    assert roster.scopes == ("a:read", "b:write")
    assert roster.provider == Provider()


def test_the_library_example_is_a_roster_that_can_be_published() -> None:
    roster = load_roster(LIBRARY)
    published = Published(roster)
    assert published.registry.view(frozenset()).names == ("catalogue-agent", "acquisitions-agent")
    assert published.registry.view(frozenset({"fines:read"})).names == tuple(agent.name for agent in roster.agents)
    assert roster.provider.organization == "City Library"


def test_a_token_is_in_no_repr() -> None:
    assert "tok-in-confidence" not in repr(parse_roster(SMALL))


MISTAKES: dict[str, tuple[str, str, str, str, list[str]]] = {
    # what: (in SMALL, becomes, line of, field, words of the text)
    "unknown key": ("visible_to = [", "visibel_to = [", "visibel_to", "agents[0].visibel_to", ["'visible_to'"]),
    "unknown table": ('[[tools]]\nname = "list', '[[tolls]]\nname = "list', "[[tolls]]", "tolls", ["'tools'"]),
    "unknown tool": ('"hello", "list_inv', '"helo", "list_inv', '"helo"', "agents[0].tools[0]", ["'helo'", "'hello'"]),
    "unknown scope": (
        'visible_to = ["a:read"]',
        'visible_to = ["a:raed"]',
        "a:raed",
        "agents[0].visible_to[0]",
        ["'a:read'"],
    ),
    "no such scope": (
        'scopes = ["a:read"]',
        'scopes = ["zzz"]',
        '["zzz"]',
        "tokens[0].scopes[0]",
        ["scopes at the top"],
    ),
    "bad scope": ('"b:write"]\n\n', '"b:write", "c d"]\n\n', "c d", "scopes[2]", ["'c d'", "rename"]),
    "missing name": ('name = "first"', "", "[[agents]]", "agents[0].name", ["missing"]),
    "blank name": ('name = "first"', 'name = " "', 'name = " "', "agents[0].name", ["not blank"]),
    "name with a space": ('"first"', '"the first"', '"the first"', "agents[0].name", ["'the first'", "whitespace"]),
    "text for an array": (
        'challenge = ["b:write"]',
        'challenge = "b:write"',
        "challenge",
        "agents[0].challenge",
        ["array"],
    ),
    "empty policy": (
        'challenge = ["b:write"]',
        "challenge = []",
        "challenge",
        "agents[0].challenge",
        ["leave the key out"],
    ),
    "number in an array": ('"hello", ', '"hello", 7, ', ", 7", "agents[0].tools[1]", ["got 7"]),
    "twice in an array": ('"hello", ', '"hello", "hello", ', '"hello", "hello"', "agents[0].tools[1]", ["twice"]),
    "wrong role": ('"large"', '"larg"', '"larg"', "agents[0].model.role", ["small, medium, large", "'large'"]),
    "vision as text": (
        "vision = true",
        'vision = "yes"',
        "vision",
        "agents[0].model.vision",
        ["'yes'", "true or false"],
    ),
    "agents as a table": ("[[agents]]", "[agents]", "[agents]", "agents", ["[[agents]]"]),
    "no tool of ours": (
        '"list_invoices"\nvis',
        '"list_invoice"\nvis',
        '"list_invoice"\n',
        "tools[1].name",
        ["'list_invoices'"],
    ),
    "own answers for a tool of ours": (
        'visible_to = ["b',
        'result = "x"\nvisible_to = ["b',
        'result = "x"',
        "tools[1].result",
        ["another name"],
    ),
    "title for a tool of ours": (
        'visible_to = ["b',
        'title = "x"\nvisible_to = ["b',
        'title = "x"',
        "tools[1].title",
        ["not a known key"],
    ),
    "unknown placeholder": ("{who}", "{whom}", "{whom}", "tools[0].result", ["'whom'", "'who'"]),
    "result of a wrong kind": (
        'result = "Hello, {who}."',
        "result = 5",
        "result = 5",
        "tools[0].result",
        ["text or a table"],
    ),
    "date in a result": (
        'result = "Hello, {who}."',
        "result.day = 2026-01-01",
        "result.day",
        "tools[0].result.day",
        ["quotes"],
    ),
    "infinity in a result": (
        'result = "Hello, {who}."',
        "result.a = [1, inf]",
        "result.a",
        "tools[0].result.a[1]",
        ["finite"],
    ),
    "huge number": ('result = "Hello, {who}."', f"result.a = 0x{'f' * 9000}", "result.a", "tools[0].result.a", ["53"]),
    "no description": ('description = "Say hello."\n', "", "[[tools]]", "tools[0].description", ["missing"]),
    "argument of a wrong type": (
        '{ description = "Whom." }',
        '{ type = "strnig" }',
        "strnig",
        "tools[0].arguments.who.type",
        ["'string'"],
    ),
    "default out of its type": (
        '{ description = "Whom." }',
        "{ default = 5 }",
        "default = 5",
        "tools[0].arguments.who.default",
        ["a text", "5"],
    ),
    "choice out of its type": (
        '{ description = "Whom." }',
        '{ choices = ["a", 1] }',
        "choices",
        "tools[0].arguments.who.choices[1]",
        ["a text"],
    ),
    "limit of a text": (
        '{ description = "Whom." }',
        "{ minimum = 1 }",
        "minimum",
        "tools[0].arguments.who.minimum",
        ["numbers"],
    ),
    "argument's name": ("arguments.who", 'arguments."w ho"', "w ho", "tools[0].arguments.'w ho'", ["rename"]),
    "user missing": ('user = "ann"\n', "", "[[tokens]]", "tokens[0].user", ["missing"]),
    "not TOML": ('user = "ann"', "user = ann", "user = ann", "", ["valid TOML", "syntax"]),
    "no tokens": (
        SMALL[SMALL.index("[[tokens]]") : SMALL.index("[[agents]]")],
        "",
        'scopes = ["a',
        "tokens",
        ["[[tokens]]"],
    ),
}


@pytest.mark.parametrize("what", list(MISTAKES))
def test_a_mistake_is_named_with_its_line_field_and_remedy(what: str) -> None:
    before, after, at, field, words = MISTAKES[what]
    assert before in SMALL
    text = SMALL.replace(before, after, 1)
    error = _error(text)
    problem = next(problem for problem in error.problems if problem.field == field)
    assert problem.line == _line_of(text, at)
    assert str(error).startswith(f"x.toml:{error.problems[0].line}: ")
    for word in words:
        assert word in problem.text
    assert ";" in problem.text, "the remedy follows the rule"
    assert "tok-in-confidence" not in str(error)


def test_all_mistakes_are_named_at_once_and_in_order() -> None:
    text = SMALL.replace('"large"', '"huge"').replace("{who}", "{nobody}").replace('user = "ann"', "user = 7")
    error = _error(text)
    assert [problem.field for problem in error.problems] == [
        "tokens[0].user",
        "agents[0].model.role",
        "tools[0].result",
    ]
    assert len(str(error).splitlines()) == 3


def test_a_file_full_of_mistakes_makes_a_short_text() -> None:
    error = _error(SMALL + "".join(f"unknown_{number} = 1\n" for number in range(50)))
    assert len(error.problems) == 50
    assert len(str(error).splitlines()) == 9
    assert "42 more" in str(error)


@pytest.mark.parametrize(
    "text",
    [
        SMALL.replace("token =", "tokn ="),
        SMALL.replace("token =", '"tok-in-confidence" = 1\ntoken ='),
        SMALL.replace('user = "ann"', 'user = ["tok-in-confidence"]'),
        SMALL.replace('scopes = ["a:read"]', 'scopes = ["tok-in-confidence"]'),
        SMALL.replace('name = "first"', 'name = "tok-in-confidence x"'),
        SMALL.replace('role = "large"', 'role = "tok-in-confidence"'),
        SMALL.replace('"tok-in-confidence"', '"tok-in-confidence "'),
        SMALL.replace("[[agents]]", '[[tokens]]\ntoken = "tok-in-confidence"\nuser = "b"\n[[agents]]'),
        SMALL.replace("[[agents]]", "tok-in-confidence = 1\ntok-in-confidence = 2\n[[agents]]"),
        SMALL.replace('"tok-in-confidence"', '"tok-in-confidence" "'),
        'tokens = ["tok-in-confidence"]',
        '[tokens]\ntok-in-confidence = ["a:read"]',
        "[tokens.tok-in-confidence]\n[tokens.tok-in-confidence]\n",
    ],
)
def test_no_mistake_makes_an_error_show_a_token(text: str) -> None:
    error = _error(text)
    assert "tok-in-confidence" not in str(error)
    assert all("tok-in-confidence" not in str(problem) for problem in error.problems)


def test_a_token_that_no_header_can_carry_is_refused() -> None:
    assert _error(SMALL.replace("tok-in-confidence", "two words")).problems[0].field == "tokens[0].token"


def test_publishing_needs_the_tools_of_what_it_publishes() -> None:
    (problem,) = _error(SMALL + '\n[[tools]]\nname = "publish_release_agent"\n').problems
    assert "list_failed_pipelines and get_pipeline_log" in problem.text


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"\xff\xfe\n", "UTF-8"),
        (b"a = 1\n\xe9 = 2\n", "2: is not UTF-8"),
        (b"#" * (MAX_BYTES + 1), "larger"),
        (b"a = " + b"[" * 100_000, "valid TOML"),
        (b"", "[[tokens]]"),
        (b"a = 1" + b"0" * 5_000, "valid TOML"),
    ],
    ids=["no text", "latin-1", "too large", "too deep", "empty", "too many digits"],
)
def test_a_file_that_is_no_text_of_ours_is_one_line(tmp_path: Path, content: bytes, words: str) -> None:
    path = tmp_path / "r.toml"
    path.write_bytes(content)
    with pytest.raises(RosterFileError) as caught:
        load_roster(path)
    assert len(str(caught.value).splitlines()) == 1
    assert words in str(caught.value) or "nested too deeply" in str(caught.value)


@pytest.mark.parametrize("name", ["missing.toml", "", ".", "/dev/null", "a\0b"])
def test_a_name_that_is_no_file_is_one_line_with_the_next_move(tmp_path: Path, name: str) -> None:
    with pytest.raises(RosterFileError) as caught:
        load_roster(tmp_path / name)
    assert len(str(caught.value).splitlines()) == 1
    assert caught.value.problems[0].line == 0


def test_a_byte_order_mark_and_dos_line_ends_do_no_harm(tmp_path: Path) -> None:
    path = tmp_path / "r.toml"
    path.write_bytes(b"\xef\xbb\xbf" + SMALL.replace("\n", "\r\n").encode())
    assert load_roster(path) == parse_roster(SMALL)


def _paths(value: Any, path: TomlPath = ()) -> Iterator[TomlPath]:
    if path:
        yield path
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _paths(item, (*path, key))
    elif isinstance(value, list):
        for number, item in enumerate(value):
            yield from _paths(item, (*path, number))


ODD = '''
a . "b c" . 'd' = """x
[not.a.table] """" # = ]
'e' = [ # one
  { f = 1, "g\\u0041" = [[1], [{ h = 1979-05-27 07:32:00 }]] }, "]", """
]""", '\\', ]
[[t]]
[t.u]
v = { w.x = "}", y = [ ] }
[[t]]
[[t.z]]
[[t.z]]
k = \'\'\'

\'\'\'\'\'
m.n = 1
m.o = 2
'''


@pytest.mark.parametrize("text", [SMALL, TEXT, ODD], ids=["small", "library", "odd"])
def test_every_key_and_item_of_a_document_has_its_own_line(text: str) -> None:
    index = LineIndex(text)
    lines = text.splitlines()
    paths = list(_paths(tomllib.loads(text)))
    assert len(paths) > 15
    for path in paths:
        assert path in index, path
        key = path[-1]
        if isinstance(key, str):
            assert key.replace("A", "\\u0041") in lines[index.line(path) - 1], path


def test_the_odd_document_is_found_line_by_line() -> None:
    index = LineIndex(ODD)
    assert index.line(("e", 2)) == 5
    assert index.line(("t", 1, "z", 1, "k")) == 13
    assert index.line(("t", 1, "z", 1, "m", "o")) == 17
    assert index.line(("t", 0, "u", "no such key")) == 8


PARTS = sorted(
    {line for line in TEXT.splitlines() if line} | set("[]{}\"'=.#,\n") | {'"""', "[[", "\x00", "é", "1979-05-27"}
)


@st.composite
def mutated(draw: st.DrawFn) -> str:
    """The library's file with a few pieces cut out, doubled or put in."""
    text = TEXT
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(text)))
        end = min(len(text), start + draw(st.sampled_from([0, 1, 2, 5, 40])))
        text = text[:start] + draw(st.sampled_from([*PARTS, "", text[start:end] * 2])) + text[end:]
    return text


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(mutated())
@example(TEXT)
def test_a_mutated_file_is_a_roster_or_a_list_of_located_mistakes(text: str) -> None:
    outcome = _outcome(text)
    if isinstance(outcome, RosterFileError):
        assert outcome.problems
        assert len(str(outcome).splitlines()) <= 9
        assert all(1 <= problem.line <= text.count("\n") + 1 for problem in outcome.problems)
    else:
        published = Published(outcome)
        for agent in published.registry.view(frozenset(outcome.scopes)).agents.values():
            assert published.registry.missing_tools(agent) == ()
    try:
        data = tomllib.loads(text)
    except ValueError:
        return
    index = LineIndex(text)
    assert all(path in index for path in _paths(data))


VALUES = st.recursive(
    st.none().map(lambda _: "1979-05-27") | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)


def _toml(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (int, float)):
        return repr(value)
    if isinstance(value, list):
        return f"[{', '.join(map(_toml, value))}]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_toml(key)} = {_toml(item)}" for key, item in value.items()) + "}"
    return '"' + "".join(f"\\U{ord(char):08x}" for char in value) + '"'


@settings(max_examples=100, deadline=None)
@given(st.sampled_from([line for line in SMALL.splitlines() if " = " in line]), VALUES)
def test_any_value_for_any_key_is_a_roster_or_a_list_of_located_mistakes(line: str, value: Any) -> None:
    text = SMALL.replace(line, f"{line.split(' = ', maxsplit=1)[0]} = {_toml(value)}", 1)
    outcome = _outcome(text)
    if isinstance(outcome, RosterFileError):
        assert outcome.problems
        assert all(problem.line >= 1 and ";" in problem.text for problem in outcome.problems)
    else:
        assert Published(outcome).registry.revision > 0
