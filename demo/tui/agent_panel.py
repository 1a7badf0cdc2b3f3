"""The opened agent: what its card says, the model that would run it, its instructions and its tools."""

from typing import TYPE_CHECKING, ClassVar

from demo.script import MODELS
from demo.tui.folded_view import FoldedView
from demo.tui.outcomes import Outcome, StepUp

if TYPE_CHECKING:
    from agent_discovery.shapes import AgentDetails

__all__ = ["AgentPanel", "agent_texts"]


def agent_texts(outcome: Outcome) -> list[str]:
    """What came of opening an agent, as lines."""
    name = str(outcome.question.params.get("name"))
    if outcome.details is None:
        step = StepUp.after_refusal(outcome)
        move = "" if step is None else "u steps up." if step.problem is None else f"Stepping up: {step.problem}."
        return [f"{name} did not open for {outcome.caller.name}.", "", str(outcome.error), "", move]
    source = "from the cache, nothing was sent" if outcome.from_cache else f"from the server, {outcome.wire} wire"
    return [f"{name}, opened as {outcome.caller.name}, {source}", "", *_details(outcome.details)]


def _details(details: "AgentDetails") -> list[str]:
    card, hint = details.agent, details.model_routing_hint
    choice = MODELS.choose(hint)
    asked = "none" if hint is None else f"role {hint.role or 'any'}, vision {'yes' if hint.vision else 'no'}"
    lines = [card.description or "no description", f"Labels: {', '.join(card.capabilities) or 'none'}", ""]
    lines += [f"Hint: {asked}", f"The host's model: {choice.model} ({choice.why})", "", "Instructions:"]
    lines += [f"  {line}" for line in (details.instructions or "none").splitlines()]
    lines += ["", f"Tools ({len(details.tools)}), to be called under Tools:"]
    lines += [f"  {tool['name']}: {tool.get('description') or 'no description'}" for tool in details.tools]
    return lines


class AgentPanel(FoldedView):
    """Shows what came of opening an agent."""

    HELP: ClassVar[str] = (
        "An opened agent: description, labels, the hint about the kind of model, the model that this host would take,\n"
        "instructions and tools. Choose one in the rosters with Enter; u steps up where the server asks for more.\n"
        "Its tools are called in the Tools pane. / searches, y copies, o opens the pager."
    )

    def on_mount(self) -> None:
        self.set_texts(["No agent is open.", "", "Choose one in a roster with Enter."])

    def show(self, outcome: Outcome) -> None:
        """Show this outcome of `agents/get`."""
        self.set_texts(agent_texts(outcome))
