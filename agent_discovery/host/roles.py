"""Which of the host's models runs an agent: the server's hint against what the host has.

Owns the choice and its reason. It knows model names only as text; running a model is the host's business.
Source: draft, `modelRoutingHint`.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, get_args

from agent_discovery.wire import ModelRole

from .errors import BadRequest

if TYPE_CHECKING:
    from agent_discovery.shapes import ModelRoutingHint

__all__ = ["ModelChoice", "RoleTable"]

_ROLES = get_args(ModelRole)


@dataclass(frozen=True, slots=True)
class ModelChoice:
    """The model to use, and why, in words for a log or a screen."""

    model: str
    why: str


class RoleTable:
    """The host's models by role, its default, and which of them see images.

    >>> from agent_discovery.shapes import ModelRoutingHint
    >>> table = RoleTable({"small": "swift", "large": "deep"}, default="swift", vision="deep")
    >>> table.choose(ModelRoutingHint(role="large", vision=True)).model
    'deep'

    `vision` is one model's name or several; the models named there need not have a role. A hint that is absent, names
    a role without a model, or cannot be met falls back to `default`.
    """

    def __init__(
        self, models: Mapping[ModelRole, str], default: str, vision: str | Collection[str] | None = None
    ) -> None:
        for role in models:
            if role not in _ROLES:
                raise BadRequest(f"RoleTable: a role is one of {', '.join(_ROLES)}, got {role!r}; rename the role")
        if not default:
            raise BadRequest(f"RoleTable: default must name a model, got {default!r}; give the model to fall back to")
        self.models: Mapping[ModelRole, str] = MappingProxyType(dict(models))
        self.default = default
        self.vision: tuple[str, ...] = (vision,) if isinstance(vision, str) else tuple(vision or ())

    def choose(self, hint: "ModelRoutingHint | None") -> ModelChoice:
        """The model for an agent with this hint; never fails, as the hint is advice."""
        if hint is None or (hint.role is None and not hint.vision):
            return self._fall_back("the agent gives no hint")
        if hint.role is None:
            return self._for_images()
        model = self.models.get(hint.role)
        if model is None:
            return self._fall_back(f"this host has no {hint.role} model")
        if hint.vision and model not in self.vision:
            return self._fall_back(f"the {hint.role} model does not see images")
        return ModelChoice(model, f"the agent asks for a {hint.role} model" + (" that sees images" * hint.vision))

    def _for_images(self) -> ModelChoice:
        if not self.vision:
            return self._fall_back("this host has no model that sees images")
        model = self.default if self.default in self.vision else self.vision[0]
        return ModelChoice(model, "the agent asks for a model that sees images")

    def _fall_back(self, why: str) -> ModelChoice:
        return ModelChoice(self.default, f"{why}: the default")
