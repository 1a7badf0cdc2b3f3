"""Choosing a model by hint (draft, `modelRoutingHint`): advice, never a reason to fail."""

from typing import Any

import pytest

from agent_discovery.host import BadRequest, RoleTable
from agent_discovery.shapes import ModelRoutingHint

TABLE = RoleTable({"small": "swift", "large": "deep"}, default="plain", vision=["deep", "eye"])


@pytest.mark.parametrize(
    ("hint", "model"),
    [
        (None, "plain"),
        (ModelRoutingHint(), "plain"),
        (ModelRoutingHint(role="small"), "swift"),
        (ModelRoutingHint(role="large", vision=True), "deep"),
        (ModelRoutingHint(role="medium"), "plain"),
        (ModelRoutingHint(role="small", vision=True), "plain"),
        (ModelRoutingHint(vision=True), "deep"),
    ],
)
def test_a_hint_is_followed_where_it_can_be_and_falls_back_to_the_default(
    hint: ModelRoutingHint | None, model: str
) -> None:
    """AD-26."""
    choice = TABLE.choose(hint)
    assert choice.model == model
    assert choice.why


def test_the_default_is_preferred_where_it_sees_images_itself() -> None:
    assert RoleTable({}, "eye", ["other", "eye"]).choose(ModelRoutingHint(vision=True)).model == "eye"


def test_without_a_model_that_sees_images_the_default_runs_the_agent_and_says_so() -> None:
    choice = RoleTable({}, "plain").choose(ModelRoutingHint(vision=True))
    assert (choice.model, choice.why) == ("plain", "this host has no model that sees images: the default")


def test_one_model_that_sees_images_may_be_given_by_its_name() -> None:
    assert RoleTable({}, "plain", "eye").choose(ModelRoutingHint(vision=True)).model == "eye"


@pytest.mark.parametrize(("models", "default"), [({"huge": "x"}, "plain"), ({}, "")])
def test_a_table_that_cannot_be_right_is_refused_when_it_is_made(models: Any, default: str) -> None:
    with pytest.raises(BadRequest, match=r"got "):
        RoleTable(models, default)
