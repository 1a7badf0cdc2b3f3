"""A roster file that changes while the server runs: what is published, who hears of it, and what is refused."""

import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import anyio
import httpx
import pytest

from agent_discovery.server import AgentDef
from server.embedded import RunningServer, running_server
from server.published import Published
from server.reload import RosterReload, RosterSource
from server.roster import BUILT_IN, RELEASE_AGENT
from server.roster_file import parse_roster
from server.settings import Settings
from tests.server.callers import Caller, WireName, answer, bearer
from tests.server.test_main import _url, process
from tests.server.test_streams import LIST_CHANGED, listening

LIBRARY = (Path(__file__).resolve().parents[2] / "examples" / "library.toml").read_text(encoding="utf-8")
SECONDS = 5
AGENT = '\n[[agents]]\nname = "{}"\ndescription = "{}"\n'
STAFF_ONLY = 'visible_to = ["fines:read"]\n'
FELIX = LIBRARY[LIBRARY.index('[[tokens]]\ntoken = "felix') : LIBRARY.index('[[tokens]]\ntoken = "vera-visitor')]
STOCK = "".join(
    f'\n[[tools]]\nname = "{name}"\n'
    for name in ("list_failed_pipelines", "get_pipeline_log", "publish_release_agent", "retire_release_agent")
)


def write(path: Path, text: str) -> None:
    """Change the file in one step, as editors do."""
    fresh = path.with_suffix(".new")
    fresh.write_text(text, encoding="utf-8")
    os.replace(fresh, path)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """The library's roster, in a file that a test may change."""
    path = tmp_path / "library.toml"
    write(path, LIBRARY)
    return path


@pytest.fixture
def library(file: Path) -> Iterator[RunningServer]:
    """A server of that file, which looks at it often."""
    with running_server(Settings(roster_file=file, roster_poll_seconds=0.02)) as running:
        yield running


@pytest.fixture
def unwatched(file: Path) -> Iterator[RunningServer]:
    """A server of that file, which looks at it on request only."""
    with running_server(Settings(roster_file=file, roster_poll_seconds=600)) as running:
        yield running


def _line_of(text: str, part: str) -> int:
    return text[: text.index(part)].count("\n") + 1


def _names(caller: Caller) -> list[str]:
    return [card["name"] for card in caller.call("agents/list")["agents"]]


def _heard(registry_revisions: list[int], published: Published) -> Callable[[], None]:
    return published.registry.on_change(lambda: registry_revisions.append(published.registry.revision))


def test_the_same_roster_again_changes_nothing_and_wakes_nobody() -> None:
    published = Published(parse_roster(LIBRARY))
    revisions: list[int] = []
    _heard(revisions, published)
    difference = published.apply(parse_roster(LIBRARY))
    assert (difference.added, difference.changed, difference.removed, difference.ended_tokens) == (
        (),
        (),
        (),
        frozenset(),
    )
    assert revisions == []


def test_the_difference_is_published_and_unchanged_agents_keep_their_place() -> None:
    published = Published(parse_roster(LIBRARY))
    everything = frozenset({"fines:read"})
    text = LIBRARY.replace('name = "fines-agent"', 'name = "debts-agent"').replace("Finds books", "Finds all books")
    difference = published.apply(parse_roster(text))
    assert (difference.added, difference.changed, difference.removed) == (
        ("debts-agent",),
        ("catalogue-agent",),
        ("fines-agent",),
    )
    assert published.registry.view(everything).names == ("catalogue-agent", "acquisitions-agent", "debts-agent")


def test_policies_and_tools_follow_the_file() -> None:
    published = Published(parse_roster(LIBRARY))
    assert published.registry.tool_access("order_book").challenge == ("acquisitions:order",)
    published.apply(parse_roster(LIBRARY.replace('challenge = ["acquisitions:order"]\nread_only', "read_only")))
    assert published.registry.tool_access("order_book").challenge == ()
    published.apply(BUILT_IN)
    assert tuple(published.registry.tool_names() or ()) == tuple(tool.name for tool in BUILT_IN.tools)
    published.apply(parse_roster(LIBRARY))
    assert published.registry.tool_access("order_book").challenge == ("acquisitions:order",)


def test_tokens_that_are_gone_or_mean_something_else_are_told() -> None:
    published = Published(parse_roster(LIBRARY))
    text = LIBRARY.replace(FELIX, "").replace(
        '"rosa"\nscopes = ["catalogue:read"]', '"rosa"\nscopes = ["catalogue:read", "fines:read"]'
    )
    assert published.apply(parse_roster(text)).ended_tokens == {"felix-front-desk", "rosa-reader"}


def test_what_was_published_at_run_time_stays_while_it_can_be_retired() -> None:
    with_stock = parse_roster(LIBRARY + STOCK)
    published = Published(with_stock)
    published.registry.add(RELEASE_AGENT)
    published.apply(parse_roster(LIBRARY + STOCK + AGENT.format("late-agent", "x")))
    assert published.registry.view(frozenset()).names[-2:] == (RELEASE_AGENT.name, "late-agent")
    assert published.apply(parse_roster(LIBRARY)).removed == (RELEASE_AGENT.name, "late-agent")[::-1]


def test_synthetic_agents_join_every_roster_and_give_way_to_its_own() -> None:
    published = Published(parse_roster(LIBRARY), synthetic=2)
    assert published.registry.view(frozenset()).names[-2:] == ("synthetic-00001", "synthetic-00002")
    published.apply(parse_roster(LIBRARY + AGENT.format("synthetic-00001", "mine")))
    assert published.registry.view(frozenset()).agents["synthetic-00001"].description == "mine"
    published.apply(BUILT_IN)
    assert published.registry.view(frozenset()).agents["synthetic-00001"].tools == ("list_failed_pipelines",)


async def test_a_broken_file_is_refused_with_its_reasons_and_the_old_roster_stays(
    file: Path, caplog: pytest.LogCaptureFixture
) -> None:
    source = RosterSource(file)
    published = Published(source.read())
    reload = RosterReload(source, published)
    before = published.registry.revision
    broken = LIBRARY.replace('name = "fines-agent"', 'nmae = "fines-agent"').replace("felix-front-desk", "secret word")
    write(file, broken)
    assert await reload.once() is None
    assert published.registry.revision == before
    assert f"library.toml:{_line_of(broken, 'secret word')}: tokens[1].token" in caplog.text
    assert f"library.toml:{_line_of(broken, 'nmae')}: agents[1].nmae" in caplog.text
    assert "secret word" not in caplog.text
    assert not source.changed(source.stamp()), "the same mistakes are told once"
    file.unlink()
    assert source.changed(source.stamp())
    assert await reload.once() is None
    assert "cannot be read" in caplog.text
    write(file, LIBRARY + AGENT.format("late-agent", "x"))
    difference = await reload.once()
    assert difference is not None
    assert difference.added == ("late-agent",)


async def test_a_reload_that_fails_for_no_fault_of_the_file_leaves_the_watch_alive(
    file: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    source = RosterSource(file)
    published = Published(source.read())

    def broken(_roster: object) -> None:
        raise ArithmeticError

    monkeypatch.setattr(published, "apply", broken)
    assert await RosterReload(source, published).once() is None
    assert "ArithmeticError" in caplog.text


def test_another_domain_is_served_on_both_wires(unwatched: RunningServer, wire: WireName) -> None:
    with Caller(unwatched.url, wire, "rosa-reader") as rosa:
        assert _names(rosa) == ["catalogue-agent", "acquisitions-agent"]
        details = rosa.call("agents/get", {"name": "catalogue-agent"})
        listed = {tool["name"]: tool for tool in rosa.call("tools/list")["tools"]}
        assert list(listed) == ["search_catalogue", "shelf_of", "order_book"]
        assert details["tools"] == [listed["search_catalogue"], listed["shelf_of"]]
        assert rosa.tool("search_catalogue", {"words": "beagle", "limit": 3})["limit"] == 3
        result = rosa.call("tools/call", {"name": "shelf_of", "arguments": {"call_number": "{words} QH"}})
        assert result["content"][0]["text"].startswith("{words} QH stands on")
        wrong = rosa.call("tools/call", {"name": "search_catalogue", "arguments": {"limit": 21, "wrods": 1}})
        assert wrong["isError"]
        assert wrong["content"][0]["text"] == (
            "search_catalogue: there is no argument 'wrods'; there are: words, limit; words is missing; "
            "limit must be 20 or less"
        )
        hidden = answer(rosa.send("agents/get", {"name": "fines-agent"}))["error"]
        unknown = answer(rosa.send("agents/get", {"name": "fines-agenx"}))["error"]
        assert hidden == {**unknown, "message": unknown["message"].replace("agenx", "agent")}
        assert "list_fines" not in answer(rosa.send("tools/call", {"name": "list_fines"}))["error"]["message"][30:]
    with Caller(unwatched.url, wire, "felix-front-desk") as felix:
        assert _names(felix) == ["catalogue-agent", "fines-agent", "acquisitions-agent"]
        assert felix.tool("list_fines")["fines"][0]["currency"] == "EUR"


def test_another_domain_steps_up_on_both_wires(unwatched: RunningServer, wire: WireName) -> None:
    with Caller(unwatched.url, wire, "vera-visitor") as vera:
        for method, params in (
            ("agents/get", {"name": "acquisitions-agent"}),
            ("tools/call", {"name": "order_book", "arguments": {"title": "Dune"}}),
        ):
            refused = vera.send(method, params)
            assert refused.status_code == 403
            assert 'scope="acquisitions:order"' in refused.headers["www-authenticate"]
            assert answer(vera.send(method, params, token="vera-buyer"))["result"]
        ordered = vera.tool("order_book", {"title": "Dune"}, token="vera-buyer")
        assert ordered == {
            "status": "ordered",
            "title": "Dune",
            "copies": 1,
            "note": "1 of Dune, as paperback",
        }
    assert httpx.get(unwatched.base_url + "/mcp", headers=bearer("alice-read")).status_code == 401


def test_the_metadata_document_lists_the_scopes_of_the_roster_in_force(library: RunningServer, file: Path) -> None:
    url = f"{library.base_url}/.well-known/oauth-protected-resource/mcp"
    assert httpx.get(url).json()["scopes_supported"] == ["catalogue:read", "fines:read", "acquisitions:order"]
    write(file, LIBRARY.replace('"acquisitions:order"]', '"acquisitions:order", "more"]', 1))
    library.reload()
    _until(lambda: "more" in httpx.get(url).json()["scopes_supported"])


def _until(holds: Callable[[], bool]) -> None:
    """Ask again until it holds; each asking waits for the server, and there is a bound."""
    for _ in range(500):
        if holds():
            return
    pytest.fail("it never came to hold")


async def test_a_changed_file_is_heard_of_on_both_wires_by_those_who_see_the_change(
    library: RunningServer, file: Path, wire: WireName
) -> None:
    with Caller(library.url, wire, "rosa-reader") as rosa, Caller(library.url, wire, "felix-front-desk") as felix:
        async with listening(rosa, "rosa-reader") as to_rosa, listening(felix, "felix-front-desk") as to_felix:
            write(file, LIBRARY + AGENT.format("audit-agent", "x") + STAFF_ONLY)
            assert (await to_felix.next())["method"] == LIST_CHANGED
            assert "audit-agent" in _names(felix)
            write(file, LIBRARY + AGENT.format("open-agent", "x"))
            assert (await to_rosa.next())["method"] == LIST_CHANGED
            assert _names(rosa)[-1] == "open-agent", "the first notification is for the change that Rosa sees"
            assert (await to_felix.next())["method"] == LIST_CHANGED
            with pytest.raises(TimeoutError), anyio.fail_after(0.3):
                await to_rosa.next()


async def test_a_request_reads_the_file_at_once(unwatched: RunningServer, file: Path, wire: WireName) -> None:
    with Caller(unwatched.url, wire, "rosa-reader") as rosa:
        async with listening(rosa, "rosa-reader") as stream:
            write(file, LIBRARY + AGENT.format("open-agent", "x"))
            unwatched.reload()
            assert (await stream.next())["method"] == LIST_CHANGED


async def test_a_removed_token_is_refused_and_its_streams_end(
    unwatched: RunningServer, file: Path, wire: WireName
) -> None:
    with Caller(unwatched.url, wire, "felix-front-desk") as felix, Caller(unwatched.url, wire, "rosa-reader") as rosa:
        async with listening(felix, "felix-front-desk") as to_felix, listening(rosa, "rosa-reader") as to_rosa:
            write(file, LIBRARY.replace(FELIX, "") + AGENT.format("open-agent", "x"))
            unwatched.reload()
            await to_felix.ended()
            assert (await to_rosa.next())["method"] == LIST_CHANGED
            refused = felix.send("agents/list")
            assert refused.status_code == 401
            assert refused.headers["www-authenticate"].startswith("Bearer ")
            assert httpx.get(f"{unwatched.base_url}/v1/agents", headers=bearer("felix-front-desk")).status_code == 401
            assert "open-agent" in _names(rosa)


async def test_streams_end_with_their_token_where_answers_are_streams_too(file: Path, wire: WireName) -> None:
    settings = Settings(roster_file=file, roster_poll_seconds=600, json_response=False)
    with running_server(settings) as server, Caller(server.url, wire, "felix-front-desk") as felix:
        async with listening(felix, "felix-front-desk") as stream:
            write(file, LIBRARY.replace(FELIX, ""))
            server.reload()
            await stream.ended()
        assert felix.send("agents/list").status_code == 401


async def test_a_token_with_other_scopes_is_answered_by_them_and_its_streams_end(
    unwatched: RunningServer, file: Path, wire: WireName
) -> None:
    with Caller(unwatched.url, wire, "rosa-reader") as rosa:
        assert "fines-agent" not in _names(rosa)
        async with listening(rosa, "rosa-reader") as stream:
            more = '"rosa"\nscopes = ["catalogue:read", "fines:read"]'
            write(file, LIBRARY.replace('"rosa"\nscopes = ["catalogue:read"]', more))
            unwatched.reload()
            await stream.ended()
        assert "fines-agent" in _names(rosa)


def test_a_tool_that_a_reload_took_away_is_an_unknown_tool(
    unwatched: RunningServer, file: Path, wire: WireName
) -> None:
    with Caller(unwatched.url, wire, "rosa-reader") as rosa:
        write(
            file,
            LIBRARY.replace('"search_catalogue", "shelf_of"', '"search_catalogue"').replace(
                'name = "shelf_of"', 'name = "aisle_of"'
            ),
        )
        unwatched.reload()
        _until(lambda: "aisle_of" in [tool["name"] for tool in rosa.call("tools/list")["tools"]])
        error = answer(rosa.send("tools/call", {"name": "shelf_of"}))["error"]
        assert error["data"]["reason"] == "tool_not_found"
        assert "aisle_of" in error["message"]


def test_the_release_agent_is_published_from_a_file_that_names_its_tools(file: Path, wire: WireName) -> None:
    write(file, LIBRARY + STOCK)
    with (
        running_server(Settings(roster_file=file, roster_poll_seconds=600)) as server,
        Caller(server.url, wire, "rosa-reader") as rosa,
    ):
        assert rosa.tool("publish_release_agent")["changed"]
        write(file, LIBRARY + STOCK + AGENT.format("late-agent", "x"))
        server.reload()
        _until(lambda: "late-agent" in _names(rosa))
        assert RELEASE_AGENT.name in _names(rosa)
        assert [tool["name"] for tool in rosa.call("agents/get", {"name": RELEASE_AGENT.name})["tools"]] == list(
            RELEASE_AGENT.tools
        )


def test_without_a_roster_file_a_reload_is_nothing() -> None:
    with running_server() as server:
        server.call(lambda: server.registry.add(AgentDef(name="mine")))
        server.reload()
        with Caller(server.url, "stateless") as alice:
            assert "mine" in _names(alice)


def test_the_process_reads_its_file_on_sighup_and_says_so(file: Path) -> None:
    with process("--port", "0", "--roster", str(file)) as started:
        assert started.stderr is not None
        url = _url(started)
        with Caller(url, "stateless", "rosa-reader") as rosa:
            write(file, LIBRARY + AGENT.format("open-agent", "x"))
            started.send_signal(signal.SIGHUP)
            assert "added open-agent" in started.stderr.readline()
            assert _names(rosa)[-1] == "open-agent"
            write(file, LIBRARY.replace("fines:read", "fines read", 1))
            started.send_signal(signal.SIGHUP)
            assert "refused" in started.stderr.readline()
            assert f"{file}:4: scopes[1]: " in started.stderr.readline()
            assert _names(rosa)[-1] == "open-agent"
        started.send_signal(signal.SIGTERM)
        _out, err = started.communicate(timeout=SECONDS)
        assert started.returncode == 0
        assert "rosa-reader" not in err


def test_a_broken_file_at_start_is_a_few_lines_and_exit_2(file: Path) -> None:
    text = LIBRARY.replace('visible_to = ["fines:read"]', 'visible_to = ["fines:raed"]')
    write(file, text)
    with process("--port", "0", "--roster", str(file)) as started:
        out, err = started.communicate(timeout=20)
    assert (started.returncode, out) == (2, "")
    first, second = err.splitlines()
    what = "'fines:raed' is not in scopes; did you mean 'fines:read'?"
    lines = [number for number, line in enumerate(text.splitlines(), 1) if "fines:raed" in line]
    assert first == f"error: {file}:{lines[0]}: agents[1].visible_to[0]: {what}"
    assert second == f"{file}:{lines[1]}: tools[2].visible_to[0]: {what}"


def test_a_missing_file_at_start_is_one_line_and_exit_2(tmp_path: Path) -> None:
    with process("--port", "0", "--roster", str(tmp_path / "none.toml")) as started:
        _out, err = started.communicate(timeout=20)
    assert started.returncode == 2
    assert len(err.splitlines()) == 1
    assert "cannot be read" in err
