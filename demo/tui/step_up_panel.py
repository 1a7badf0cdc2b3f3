"""Stepping up in its steps: scopes before, the challenge field by field, the union, scopes after, what changed."""

from typing import ClassVar

from demo.tui.folded_view import FoldedView
from demo.tui.outcomes import Outcome, StepUp

__all__ = ["StepUpPanel", "step_up_texts"]


def step_up_texts(step: StepUp, retried: Outcome | None) -> list[str]:
    """The steps so far; without `retried` the last ones are still to come."""
    challenge = step.refusal.challenge
    lines = [
        f"{_question(step.refused)} was refused: HTTP {step.refusal.status}",
        "",
        f"1. Scopes before ({step.before.name}): {' '.join(step.before.scopes)}",
        f"2. The challenge: {challenge.scheme}",
        *(f"     {name} = {value}" for name, value in challenge.parameters.items()),
        f"3. The union to ask for: {' '.join(step.wanted)}",
    ]
    if step.after is None:
        return [*lines, "", f"It ends here: {step.problem}."]
    if retried is None:
        return [*lines, "", f"u takes the token of {step.after.name}, who has them all, and sends the same request."]
    return [
        *lines,
        f"4. Scopes after ({step.after.name}): {' '.join(step.after.scopes)}",
        "5. The same request again:",
        f"     before: {_answered(step.refused)}",
        f"     after:  {_answered(retried)}",
    ]


def _question(outcome: Outcome) -> str:
    name = outcome.question.params.get("name")
    return f"{outcome.question.method} {name}" if name else outcome.question.method


def _answered(outcome: Outcome) -> str:
    if outcome.error is not None:
        status = getattr(outcome.error, "status", 0)
        return f"HTTP {status}, refused" if status else str(outcome.error)
    members = ", ".join(name for name in (outcome.result or {}) if name not in ("_meta", "resultType"))
    return f"{'from the cache' if outcome.answer is None else f'HTTP {outcome.answer.status}'}, {{{members}}}"


class StepUpPanel(FoldedView):
    """Shows the last challenge and what became of it."""

    HELP: ClassVar[str] = (
        "A request that lacks scope is answered 403 with a challenge that names the scope. u asks for the union of\n"
        "the scopes held and those asked for, takes a token that has them, and sends the same request again. Nothing\n"
        "of the refusal is cached."
    )

    def on_mount(self) -> None:
        self.set_texts(
            ["No challenge yet.", "", "As Alice open deploy-agent, or call deploy_service: both ask for ops:deploy."]
        )

    def show(self, step: StepUp, retried: Outcome | None = None) -> None:
        """Show this step-up, before or after the retry."""
        self.set_texts(step_up_texts(step, retried))
