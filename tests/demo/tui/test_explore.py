"""The explore screen, driven by its keys against a real server."""

import asyncio
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot
from textual.widgets import Input, OptionList, Select

from agent_discovery.host import Challenge, InsufficientScope, Roster
from agent_discovery.shapes import AgentCard, AgentDetails
from demo.cast import ALICE, ALICE_STEPPED_UP, BOB
from demo.scene import Wire
from demo.tui.agent_panel import AgentPanel
from demo.tui.app import WalkthroughApp
from demo.tui.breakage import BreakagePanel
from demo.tui.breaks import BREAKS
from demo.tui.changes_panel import ChangesPanel
from demo.tui.exchange_view import ExchangeView
from demo.tui.explore import ExploreScreen
from demo.tui.lines_view import LinesView
from demo.tui.meter import ContextMeter
from demo.tui.outcomes import Difference, Outcome, Question, RosterRead, StepUp
from demo.tui.rosters import RosterColumn, RostersPanel, roster_rows
from demo.tui.step_up_panel import StepUpPanel
from demo.tui.tool_form import FieldRow, ToolPanel
from demo.tui.two_wires import TwoWiresPanel, told_apart
from server.embedded import running_server
from server.settings import Settings

SIZES = [(120, 40), (80, 24), (40, 15)]
CASES = [(120, 40), pytest.param((80, 24), marks=pytest.mark.slow), (40, 15)]
"""At 80x24 the same rules hold as at 40x15."""
SNAPSHOTS = Path(__file__).parent / "snapshots"
TRAPS = ("[/", "[0]", "[b +", "[true, false]", "[/b] [link=x]\x1b[2J", "two\nlines")


@pytest.fixture(params=[pytest.param("session", marks=pytest.mark.slow), "stateless"])
def other_wire(request: pytest.FixtureRequest) -> Wire:
    """The stateless wire, and both where time does not matter: for what can only go wrong there."""
    chosen: Wire = request.param
    return chosen


@pytest.fixture(params=["session", pytest.param("stateless", marks=pytest.mark.slow)])
def some_wire(request: pytest.FixtureRequest) -> Wire:
    """The session wire, and both where time does not matter."""
    chosen: Wire = request.param
    return chosen


class Hands:
    """Keys and waiting, for one running program."""

    def __init__(self, app: WalkthroughApp, pilot: Pilot[int], until: Any) -> None:
        self.app, self.pilot, self._until = app, pilot, until

    @property
    def screen(self) -> ExploreScreen:
        screen = self.app.screen
        assert isinstance(screen, ExploreScreen)
        return screen

    async def until(self, condition: Callable[[], object]) -> None:
        await self._until(self.pilot, condition)

    async def ready(self) -> None:
        await self.until(lambda: isinstance(self.app.screen, ExploreScreen))
        await self.until(lambda: {ALICE, BOB} <= set(self.screen.rosters))
        await self.until(lambda: self.screen.query_one("#roster-second", OptionList).option_count)
        listening = {"Alice", "Bob"}
        await self.until(lambda: listening <= set(self.screen.streams))

    async def front(self, panel: str) -> None:
        await self.until(lambda: self.screen.front == panel)
        await self.pilot.pause()

    async def open_agent(self, name: str, side: str = "first") -> None:
        self.screen.bring_up("rosters")
        await self.until(lambda: self.screen.query_one("#rosters").has_focus_within)
        listed = self.screen.query_one(f"#roster-{side}", OptionList)
        names = [str(listed.get_option_at_index(at).prompt)[2:] for at in range(listed.option_count)]
        listed.focus()
        await self.until(lambda: listed.has_focus)
        listed.highlighted = names.index(name)
        await self.pilot.press("enter")

    def text(self, panel: type[LinesView]) -> str:
        return self.screen.query_one(panel).text

    def said(self) -> list[str]:
        return [notification.message for notification in self.app._notifications]


@pytest.fixture
def exploring(tui_app: Any, until: Any) -> Any:
    @asynccontextmanager
    async def start(size: tuple[int, int] = (120, 40), wire: Wire = "session", **more: Any) -> AsyncIterator[Hands]:
        async with tui_app(size, wire, explore=True, **more) as (app, pilot):
            hands = Hands(app, pilot, until)
            await hands.ready()
            yield hands

    return start


async def test_both_rosters_stand_side_by_side_with_what_only_one_sees(
    exploring: Any, some_wire: Wire, screen_text: Any
) -> None:
    async with exploring(wire=some_wire) as hands:
        await hands.until(lambda: "◆ billing-agent" in screen_text(hands.app))
        shown = screen_text(hands.app)
        assert "= pipeline-agent  = pipeline-agent" in shown
        assert "alice-read" not in shown
        await hands.until(lambda: hands.screen.query_one(ContextMeter).cost is not None)
        await hands.until(lambda: f"{some_wire} wire" in screen_text(hands.app))


async def test_an_agent_opens_with_instructions_hint_model_and_tools(exploring: Any, some_wire: Wire) -> None:
    async with exploring(wire=some_wire) as hands:
        await hands.open_agent("billing-agent", "second")
        await hands.front("agent")
        assert hands.screen.acting == BOB
        texts = "\n".join(hands.screen.query_one(AgentPanel).texts)
        assert "billing-agent, opened as Bob, from the server" in texts
        assert "You answer questions about invoices." in texts
        assert "The host's model: house-model-mini" in texts
        assert "list_invoices: List invoices" in texts
        record = hands.screen.query_one(ExchangeView).record
        assert record is not None
        assert "billing-agent" in record.title
        await hands.open_agent("billing-agent", "second")
        await hands.until(lambda: "from the cache, nothing was sent" in hands.screen.query_one(AgentPanel).texts[0])


async def test_a_form_says_at_the_field_what_is_wrong_and_calls_the_tool_when_it_is_right(
    exploring: Any, some_wire: Wire
) -> None:
    async with exploring(wire=some_wire) as hands:
        await hands.pilot.press("2", "a")
        tools = hands.screen.query_one(ToolPanel)
        listed = tools.query_one("#tools-list", OptionList)
        await hands.until(lambda: listed.option_count == 5)
        names = [str(listed.get_option_at_index(at).prompt) for at in range(listed.option_count)]
        listed.focus()
        listed.highlighted = names.index("deploy_service")
        await hands.pilot.press("enter")
        await hands.until(lambda: len(tools.form.rows) == 3)
        service, version, _ = tools.form.rows
        service.query_one(Select).value = '"web"'
        version.query_one(Input).focus()
        await hands.until(lambda: isinstance(hands.app.focused, Input))
        await hands.pilot.press("1", ".", "q", "enter")
        await hands.until(lambda: version.has_class("-wrong"))
        assert not service.has_class("-wrong")
        assert hands.app.is_running
        await hands.pilot.press("backspace", "4", ".", "2", "enter")
        await hands.until(lambda: '"dep-web-1-4-2-staging"' in tools.result.text)
        assert not version.has_class("-wrong")
        version.query_one(Input).focus()
        await hands.pilot.press("escape")
        await hands.until(lambda: listed.has_focus)


async def test_a_403_is_stepped_up_for_with_one_key(exploring: Any, some_wire: Wire) -> None:
    async with exploring(wire=some_wire) as hands:
        await hands.open_agent("deploy-agent")
        await hands.front("step-up")
        before = "\n".join(hands.screen.query_one(StepUpPanel).texts)
        assert "1. Scopes before (Alice): ops:read" in before
        assert "     scope = ops:deploy" in before
        assert "3. The union to ask for: ops:read ops:deploy" in before
        await hands.pilot.press("u")
        await hands.until(lambda: "5. The same request again:" in hands.screen.query_one(StepUpPanel).texts)
        after = "\n".join(hands.screen.query_one(StepUpPanel).texts)
        assert "4. Scopes after (Alice stepped up): ops:read ops:deploy" in after
        assert "before: HTTP 403, refused" in after
        assert "after:  HTTP 200, {agent, instructions" in after
        assert hands.screen.acting == ALICE_STEPPED_UP
        await hands.front("step-up")
        assert "opened as Alice stepped up" in hands.screen.query_one(AgentPanel).texts[0]


async def test_publishing_and_retiring_is_heard_and_changes_the_rosters(exploring: Any, some_wire: Wire) -> None:
    async with exploring(wire=some_wire) as hands:
        await hands.pilot.press("p")
        await hands.until(lambda: "release-agent" in hands.screen.rosters[ALICE])
        await hands.until(lambda: "+ release-agent" in hands.text(ChangesPanel))
        assert "list_changed arrives for Alice" in hands.text(ChangesPanel)
        assert "cache: roster dropped" in hands.text(ChangesPanel)
        await hands.until(lambda: hands.screen.query_one("#roster-first", OptionList).option_count == 3)
        await hands.pilot.press("r")
        await hands.until(lambda: "  - release-agent" in hands.text(ChangesPanel))
        await hands.until(lambda: hands.screen.query_one("#roster-first", OptionList).option_count == 2)
        await hands.pilot.press("r")
        await hands.until(lambda: any("Nothing changed" in text for text in hands.said()))


async def test_the_last_request_stands_side_by_side_on_both_wires(exploring: Any, some_wire: Wire) -> None:
    async with exploring(wire=some_wire) as hands:
        await hands.open_agent("pipeline-agent")
        await hands.front("agent")
        await hands.pilot.press("b")
        panel = hands.screen.query_one(TwoWiresPanel)
        session, stateless = (
            panel.query_one("#wires-session", LinesView),
            panel.query_one("#wires-stateless", LinesView),
        )
        await hands.until(lambda: session.lines and stateless.lines)
        assert "≠ mcp-session-id: " in session.text
        assert "≠ mcp-method: agents/get" in stateless.text
        assert '      "name": "pipeline-agent"' in session.text
        assert session.text.count("≠") < len(session.lines) / 2


async def test_the_wire_is_switched_with_its_streams(exploring: Any, some_wire: Wire, screen_text: Any) -> None:
    async with exploring(wire=some_wire) as hands:
        other = "stateless" if some_wire == "session" else "session"
        await hands.pilot.press("e")
        await hands.until(lambda: hands.screen.wire == other)
        await hands.until(lambda: hands.screen.streams.get("Bob") == "hears changes")
        await hands.until(lambda: f"{other} wire" in screen_text(hands.app))
        await hands.pilot.press("p")
        await hands.until(lambda: "release-agent" in hands.screen.rosters[BOB])
        await hands.pilot.press("r")
        await hands.until(lambda: "release-agent" not in hands.screen.rosters[BOB])


async def test_a_server_without_the_other_wire_says_so_and_all_goes_on(exploring: Any) -> None:
    with running_server(Settings(wire="session")) as only:
        async with exploring(url=only.url) as hands:
            await hands.pilot.press("e")
            await hands.until(lambda: any("does not have the other wire" in text for text in hands.said()))
            assert hands.screen.wire == "session"
            await hands.until(lambda: hands.screen.streams.get("Alice") == "hears changes")


async def test_each_thing_that_can_be_broken_gets_its_real_answer_and_is_put_right(
    exploring: Any, other_wire: Wire
) -> None:
    async with exploring(wire=other_wire) as hands:
        panel = hands.screen.query_one(BreakagePanel)
        listed = panel.query_one(OptionList)
        for at, broken in enumerate(BREAKS):
            hands.screen.bring_up("breakage")
            listed.focus()
            await hands.until(lambda: listed.has_focus)
            listed.highlighted = at
            await hands.until(lambda words=broken.wrong[other_wire]: f"Wrong: {words}" in panel.told.texts)
            assert "Enter sends it." in panel.told.texts
            await hands.pilot.press("enter")
            await hands.until(lambda: any(text.startswith("The server: ") for text in panel.told.texts))
            record = hands.screen.query_one(ExchangeView).record
            assert record is not None
            assert record.why_failed() is not None
            await hands.pilot.press("i")
            await hands.until(lambda: panel.told.texts[-1].startswith("The server: {"))
            assert sum(text.startswith("The server: ") for text in panel.told.texts) == 2


async def test_tokens_are_masked_until_asked_for(exploring: Any, screen_text: Any) -> None:
    async with exploring() as hands:
        assert "alice-read" not in screen_text(hands.app)
        await hands.pilot.press("v")
        await hands.until(lambda: "token alice-read" in screen_text(hands.app))
        await hands.pilot.press("v")
        await hands.until(lambda: "alice-read" not in screen_text(hands.app))


@pytest.mark.parametrize("size", CASES, ids=str)
async def test_every_panel_is_reached_by_keys_at_every_size(
    exploring: Any, screen_text: Any, size: tuple[int, int]
) -> None:
    async with exploring(size) as hands:
        seen = []
        for _ in hands.screen.PANELS:
            await hands.pilot.press("full_stop")
            await hands.pilot.pause()
            front = hands.screen.query_one(f"#{hands.screen.front}")
            assert front.display
            assert front.region.height >= 5
            assert front.region.width >= 30
            rows = screen_text(hands.app).split("\n")
            assert ". Panel" in rows[-1]
            assert "q Quit" in rows[-1]
            seen.append(hands.screen.front)
        assert sorted(seen) == sorted(hands.screen.PANELS)


async def test_the_screen_is_resized_while_it_is_used(exploring: Any, screen_text: Any) -> None:
    async with exploring() as hands:
        await hands.open_agent("pipeline-agent")
        await hands.front("agent")
        for size in (*SIZES, (200, 60), (20, 8), (120, 40)):
            await hands.pilot.resize_terminal(*size)
            await hands.pilot.pause()
            assert hands.screen.query_one("#agent").display
        assert "pipeline-agent, opened as Alice" in screen_text(hands.app)


async def test_data_is_never_read_as_markup(exploring: Any, screen_text: Any) -> None:
    async with exploring() as hands:
        screen = hands.screen
        trap = " ".join(TRAPS)
        card = AgentCard(name=trap, description=trap, capabilities=TRAPS)
        properties = {name: {"enum": [*TRAPS, None], "description": trap, "default": trap} for name in TRAPS}
        properties["typed"] = {"type": "string", "title": trap, "description": trap, "default": trap}
        tool = {"name": trap, "description": trap, "inputSchema": {"type": "object", "properties": properties}}
        details = AgentDetails(agent=card, instructions=trap, tools=(tool,), ttl_ms=1, cache_scope="private")
        opened = Outcome(Question("agents/get", {"name": trap}), ALICE, "session", details=details, result={})
        refusal = InsufficientScope(trap, challenge=Challenge("Bearer", scope=(trap,), parameters={"scope": trap}))
        refused = Outcome(Question("tools/call", {"name": trap}), ALICE, "session", error=refusal)
        roster = Roster((card,), 1, "private")
        screen.query_one(AgentPanel).show(opened)
        screen.query_one(ToolPanel).show_tools(trap, [tool])
        screen.query_one(ToolPanel).form.tool = tool
        screen.query_one(ToolPanel).show_result(refused)
        step = StepUp.after_refusal(refused)
        assert step is not None
        screen.query_one(StepUpPanel).show(step)
        screen.query_one(ChangesPanel).add(
            RosterRead(ALICE, roster, Difference.between(Roster((), 1, "private"), roster), False)
        )
        screen.query_one(TwoWiresPanel).show(trap, TRAPS, [trap])
        screen.query_one(BreakagePanel).show(BREAKS[0], trap, refused)
        screen.query_one(RostersPanel).show(RosterColumn(ALICE, roster), RosterColumn(BOB, roster))
        hands.app.say(trap)
        await hands.until(lambda: len(screen.query(FieldRow)) == len(properties))
        for row in screen.query(FieldRow):
            row.show_problem(trap)
        for panel in screen.PANELS:
            screen.bring_up(panel)
            await hands.front(panel)
            assert "\x1b" not in screen_text(hands.app)
            assert len(screen_text(hands.app).split("\n")) == hands.app.size.height
        screen.bring_up("agent")
        await hands.front("agent")
        assert "[/ [0] [b + [true, false]" in screen_text(hands.app)


@asynccontextmanager
async def deaf_server() -> AsyncIterator[str]:
    """Takes connections and never says a word."""
    held: list[asyncio.StreamWriter] = []

    async def hold(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        held.append(writer)

    server = await asyncio.start_server(hold, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/mcp"
    finally:
        server.close()
        for writer in held:
            writer.close()


async def test_quit_works_while_everything_hangs(tui_app: Any, until: Any) -> None:
    async with deaf_server() as url, tui_app(explore=True, url=url) as (app, pilot):
        await until(pilot, lambda: isinstance(app.screen, ExploreScreen) and app.screen.front)
        await pilot.press("a")
        await until(pilot, lambda: app.screen.asking)
        await pilot.press("escape")
        await until(pilot, lambda: not app.screen.asking)
        await pilot.press("a", "q")
        await until(pilot, lambda: not app.is_running)
    assert app.return_code == 0


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


async def test_a_lost_server_leaves_everything_readable_and_is_joined_again_by_itself(exploring: Any) -> None:
    port = free_port()
    server = running_server(Settings(port=port))
    running = await asyncio.to_thread(server.__enter__)
    try:
        async with exploring(url=running.url) as hands:
            await hands.open_agent("pipeline-agent")
            await hands.front("agent")
            await asyncio.to_thread(server.__exit__, None, None, None)
            await hands.pilot.press("l")
            await hands.until(lambda: "does not answer" in hands.app.notice)
            assert "pipeline-agent, opened as Alice" in hands.screen.query_one(AgentPanel).texts[0]
            assert ALICE in hands.screen.rosters
            server = running_server(Settings(port=port))
            await asyncio.to_thread(server.__enter__)
            await hands.until(lambda: not hands.app.notice)
            await hands.until(lambda: hands.screen.streams.get("Bob") == "hears changes")
            await hands.pilot.press("p")
            await hands.until(lambda: "release-agent" in hands.screen.rosters[BOB])
    finally:
        await asyncio.to_thread(server.__exit__, None, None, None)


async def test_the_smallest_screen_is_as_pinned(exploring: Any, screen_text: Any) -> None:
    """Looked over once by hand; the port is not in it, and seconds are left out."""
    async with exploring((40, 15)) as hands:
        await hands.open_agent("deploy-agent")
        await hands.front("step-up")
        pinned = SNAPSHOTS / "explore_step_up_40x15.txt"
        assert screen_text(hands.app) + "\n" == pinned.read_text(encoding="utf-8")


async def test_every_action_has_an_id_and_says_what_it_does(exploring: Any) -> None:
    async with exploring() as hands:
        own = [entry.binding for entry in hands.screen.active_bindings.values() if entry.node is hands.screen]
        assert {"explore.publish", "explore.step_up", "explore.wire", "explore.mend"} <= {b.id for b in own}
        assert all(binding.tooltip for binding in own if (binding.id or "").startswith("explore."))


def test_what_tells_two_rosters_apart_is_marked() -> None:
    mine = Roster((AgentCard(name="a"), AgentCard(name="b"), AgentCard(name="c", description="x")), 1, "private")
    other = Roster((AgentCard(name="a"), AgentCard(name="c", description="y")), 1, "private")
    assert roster_rows(mine, other) == [("=", "a"), ("◆", "b"), ("≠", "c")]
    assert roster_rows(mine, None) == [(" ", "a"), (" ", "b"), (" ", "c")]
    assert roster_rows(None, other) == []


def test_only_lines_that_the_other_side_lacks_are_marked() -> None:
    assert told_apart(["a", "  b,", "c", "a"], ["b", "a"]) == ["  a", "    b,", "≠ c", "≠ a"]
