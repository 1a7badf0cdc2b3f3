"""Exploring by hand: act as somebody, open agents, call tools, step up, change the roster, break things.

It wires the panels to the explorer and owns the keys. What is asked and heard is `explorer`'s business, what a panel
shows the panel's, how questions run beside the screen is in `asking`.
"""

from collections.abc import Iterator
from typing import ClassVar, Final

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.events import Unmount
from textual.widget import Widget
from textual.widgets import Input

from agent_discovery.wire import AGENTS_GET
from demo.cast import ALICE, BOB, CAST, Caller
from demo.tui.acting import ActingPanel
from demo.tui.agent_panel import AgentPanel
from demo.tui.asking import AskingScreen
from demo.tui.breakage import BreakagePanel
from demo.tui.breaks import Break
from demo.tui.changes_panel import ChangesPanel
from demo.tui.exchange_view import ExchangeView
from demo.tui.meter import ContextMeter, context_cost
from demo.tui.outcomes import PUBLISH, RETIRE, ExplorerEvent, Outcome, Question, StepUp
from demo.tui.panel_tabs import PanelTabs
from demo.tui.rosters import RosterColumn, RostersPanel
from demo.tui.step_up_panel import StepUpPanel
from demo.tui.tool_form import ToolForm, ToolPanel
from demo.tui.traffic import TrafficPanel
from demo.tui.two_wires import TwoWiresPanel, side_lines

__all__ = ["ExploreScreen"]

_CENTRE: Final = ("agent", "tools", "step-up", "changes", "wires", "breakage")
"""The panels that share the middle where there is room for the others beside it."""


class ExploreScreen(AskingScreen):
    """One person's hands on the server."""

    NAME = "explore"
    PINNED = ("panels.next", "panels.previous", "app.quit", "app.help", "explore.step_up", "explore.publish")
    PANELS: ClassVar[dict[str, str]] = {
        "acting": "Who",
        "rosters": "Rosters",
        "agent": "Agent",
        "tools": "Tools",
        "step-up": "Step up",
        "changes": "News",
        "wires": "Wires",
        "breakage": "Break",
        "exchange": "Exchange",
        "log": "Log",
    }
    HELP: ClassVar[str] = (
        "Exploring. 1, 2, 3 act as Alice, Alice stepped up, Bob; Enter in a roster opens an agent; its tools are\n"
        "called under Tools; u steps up after a 403; p publishes and r retires release-agent; e goes over to the\n"
        "other wire, b sends the last request on both; under Break five things can be broken, i puts them right.\n"
        "Comma and full stop go through the panels, escape breaks off a call that hangs, x goes back to the walk."
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("1", "act_as(0)", "Alice", id="explore.alice", show=False, tooltip="Act as Alice"),
        Binding("2", "act_as(1)", "Stepped up", id="explore.stepped", show=False, tooltip="Act as Alice stepped up"),
        Binding("3", "act_as(2)", "Bob", id="explore.bob", show=False, tooltip="Act as Bob"),
        Binding("u", "step_up", "Step up", id="explore.step_up", tooltip="Take a token with the scope and ask again"),
        Binding("p", "publish", "Publish", id="explore.publish", tooltip="Publish release-agent"),
        Binding("r", "retire", "Retire", id="explore.retire", tooltip="Retire release-agent"),
        Binding("e", "other_wire", "Other wire", id="explore.wire", tooltip="Go over to the other wire"),
        Binding("b", "both_wires", "Both wires", id="explore.both", tooltip="Send the last request on both wires"),
        Binding("i", "mend", "Put right", id="explore.mend", tooltip="Send the broken request as it should have been"),
        Binding("a", "all_tools", "All tools", id="explore.tools", tooltip="List every tool that the server has"),
        Binding("l", "ask_rosters", "Ask again", id="explore.rosters", tooltip="Ask for both rosters anew"),
        Binding("escape", "stop", "Stop", id="explore.stop", show=False, tooltip="Leave a field; break off a call"),
    ]

    def __init__(self) -> None:
        super().__init__()
        self._told_title = ("", "")

    def compose_body(self) -> ComposeResult:
        yield PanelTabs(self.PANELS, id="explore-tabs")
        with Horizontal(id="explore"):
            with Vertical(id="explore-left", classes="column"):
                with Vertical(id="acting", classes="panel"):
                    yield ActingPanel()
                    yield ContextMeter()
                yield RostersPanel(id="rosters", classes="panel")
            with Vertical(id="explore-right", classes="column"):
                with Horizontal(id="explore-top", classes="column"):
                    with Vertical(id="explore-centre", classes="column"):
                        yield AgentPanel(id="agent", classes="panel -latest")
                        yield ToolPanel(id="tools", classes="panel")
                        yield StepUpPanel(id="step-up", classes="panel")
                        yield ChangesPanel(id="changes", classes="panel")
                        yield TwoWiresPanel(id="wires", classes="panel")
                        yield BreakagePanel(id="breakage", classes="panel")
                    yield ExchangeView(id="exchange", classes="panel")
                yield TrafficPanel(self.program.traffic, id="log", classes="panel")

    def on_mount(self) -> None:
        for panel, name in self.PANELS.items():
            self.query_one(f"#{panel}").border_title = name
        self.watch(self.app, "show_tokens", self.changed, init=False)
        self.set_interval(1.0, self.changed)
        self.call_after_refresh(self._first)

    def _first(self) -> None:
        self.show()
        self.bring_up("rosters")
        self.begin()

    @on(Unmount)
    async def _say_goodbye(self) -> None:
        await self.end()

    # Keys

    def action_act_as(self, number: int) -> None:
        """Act as this one of the cast."""
        self._act_as(CAST[number])

    def action_step_up(self) -> None:
        """Take the token that the last challenge asks for, and ask again."""
        step = self.step
        if step is None or step.after is None:
            self.program.say("No challenge to step up for." if step is None else f"Stepping up: {step.problem}.")
            return
        self.ask(lambda explorer: explorer.step_up(step), lambda outcome: self._stepped_up(step, outcome))

    def action_publish(self) -> None:
        """Publish the release agent."""
        self._change(PUBLISH)

    def action_retire(self) -> None:
        """Retire it."""
        self._change(RETIRE)

    def action_other_wire(self) -> None:
        """Go over to the other wire."""
        self.go_over()

    def action_both_wires(self) -> None:
        """Send the last question on both wires."""
        self.bring_up("wires")
        self.compare(self._compared)

    def action_mend(self) -> None:
        """Send the marked broken request as it should have been."""
        broken = self.query_one(BreakagePanel).chosen
        self.bring_up("breakage")
        self.ask(broken.mend, lambda outcome: self._mended(broken, outcome))

    def action_all_tools(self) -> None:
        """Every tool that the server lists for who acts."""
        self.bring_up("tools")
        self.ask(lambda explorer: explorer.list_tools(), self._tools_listed)

    def action_ask_rosters(self) -> None:
        """Both rosters anew, past the cache."""
        self.read_rosters(self._sides())

    def action_stop(self) -> None:
        """Leave a field; else break off what hangs."""
        if isinstance(self.focused, Input):
            self.query_one("#tools-list").focus()
        else:
            self.stop()

    # What panels want

    @on(ActingPanel.Chosen)
    def _caller_chosen(self, event: ActingPanel.Chosen) -> None:
        self._act_as(event.caller)

    @on(RostersPanel.Opened)
    def _agent_wanted(self, event: RostersPanel.Opened) -> None:
        self.act_as(event.caller)
        self.ask(lambda explorer: explorer.open_agent(event.name, event.caller), self._answered)

    @on(ToolForm.Filled)
    def _form_filled(self, event: ToolForm.Filled) -> None:
        self.ask(lambda explorer: explorer.call_tool(event.tool, event.arguments), self._answered)

    @on(BreakagePanel.Wanted)
    def _break_wanted(self, event: BreakagePanel.Wanted) -> None:
        broken = event.broken
        self.ask(broken.do, lambda outcome: self._broke(broken, outcome))

    @on(TrafficPanel.Chosen)
    def _logged(self, event: TrafficPanel.Chosen) -> None:
        self.query_one(ExchangeView).record = event.record

    # What came of it

    def _answered(self, outcome: Outcome) -> None:
        self.bring_up(self._show_answer(outcome))

    def _show_answer(self, outcome: Outcome) -> str:
        """Show an outcome where it belongs, a challenge in the step-up panel as well; the panel to look at."""
        if outcome.question.method == AGENTS_GET:
            self.query_one(AgentPanel).show(outcome)
            if outcome.details is not None:
                name = f"{outcome.details.agent.name}, as {outcome.caller.name}"
                self.query_one(ToolPanel).show_tools(name, outcome.details.tools)
            panel = "agent"
        else:
            self.query_one(ToolPanel).show_result(outcome)
            panel = "tools"
        step = StepUp.after_refusal(outcome)
        if step is not None:
            self.step = step
            self.query_one(StepUpPanel).show(step)
            panel = "step-up"
        return panel

    def _stepped_up(self, step: StepUp, outcome: Outcome) -> None:
        self._show_answer(outcome)
        self.bring_up("step-up")
        if StepUp.after_refusal(outcome) is None:
            self.step = None
            self.query_one(StepUpPanel).show(step, outcome)
            self.read_rosters((outcome.caller,))

    def _change(self, question: Question) -> None:
        self.bring_up("changes")
        self.ask(lambda explorer: explorer.ask(question), self._changed_roster)

    def _changed_roster(self, outcome: Outcome) -> None:
        structured = (outcome.result or {}).get("structuredContent")
        changed = structured.get("changed") if isinstance(structured, dict) else None
        if outcome.error is None and changed is False:
            self.program.say("Nothing changed: it was so before, so no notification comes.")

    def _tools_listed(self, outcome: Outcome) -> None:
        tools = (outcome.result or {}).get("tools")
        if isinstance(tools, list):
            self.query_one(ToolPanel).show_tools(f"the server, as {outcome.caller.name}", tools)

    def _compared(self, session: Outcome, stateless: Outcome) -> None:
        sides = [side_lines(self.record_of(outcome), outcome.error) for outcome in (session, stateless)]
        self.query_one(TwoWiresPanel).show(session.question.method, *sides)

    def _broke(self, broken: Break, outcome: Outcome) -> None:
        record = self.record_of(outcome)
        answer = (record.why_failed() if record else None) or str(outcome.error or "it answered all the same")
        self._answers[broken.title] = answer
        self.query_one(BreakagePanel).show(broken, answer, None)

    def _mended(self, broken: Break, outcome: Outcome) -> None:
        self.query_one(BreakagePanel).show(broken, self._answers.get(broken.title), outcome)

    # Showing

    def show_event(self, event: ExplorerEvent) -> None:
        self.query_one(ChangesPanel).add(event)

    def show_exchange(self, outcome: Outcome) -> None:
        record = self.record_of(outcome)
        if record is not None:
            self.query_one(ExchangeView).record = record
            self.query_one(TrafficPanel).choose(record)

    def show(self) -> None:
        acting, program = self.acting, self.program
        self.query_one(ActingPanel).show(acting, show_tokens=program.show_tokens, streams=self.streams)
        self.query_one(RostersPanel).show(*(self._column(caller) for caller in self._sides()))
        self.query_one(BreakagePanel).use_wire(self.wire)
        title = (self.wire if self.connected else "", f"{acting.name} ({' '.join(acting.scopes)})")
        if title != self._told_title:
            self._told_title = title
            self.tell_title(wire=title[0], acting=title[1])
        roster = self.rosters.get(acting)
        if roster is not None:
            opened = self.opened.get(acting.user, {}).values()
            cards = [card.to_wire() for card in roster.agents]
            self.query_one(ContextMeter).cost = context_cost(self.tools.get(acting), cards, opened)

    def marks(self, panel: str) -> Iterator[tuple[Widget, str, bool]]:
        # Two exchanges side by side need the room of the one in full.
        aside = self.query_one("#wires").has_class("-latest") if panel not in _CENTRE else panel == "wires"
        yield self.query_one("#exchange"), "-aside", aside and panel != "exchange"
        for name in _CENTRE if panel in _CENTRE else ():
            yield self.query_one(f"#{name}"), "-latest", name == panel
        yield from super().marks(panel)

    def _act_as(self, caller: Caller) -> None:
        self.act_as(caller)
        self.read_rosters((caller,), fresh=False)

    def _sides(self) -> tuple[Caller, Caller]:
        return (self.acting if self.acting.user == ALICE.user else ALICE), BOB

    def _column(self, caller: Caller) -> RosterColumn:
        return RosterColumn(caller, self.rosters.get(caller), self.remaining(caller))
