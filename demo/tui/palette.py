"""The command palette: every action of the screen and of the focused panel, by what it does."""

from collections.abc import Callable, Coroutine, Iterator
from functools import partial
from typing import Any

from textual.binding import Binding
from textual.command import DiscoveryHit, Hit, Hits, Provider
from textual.content import Content
from textual.dom import DOMNode

__all__ = ["ActionCommands"]


class ActionCommands(Provider):
    """Offers what the keys do, for whoever does not know the key."""

    async def discover(self) -> Hits:
        for text, help_text, run in self._commands():
            yield DiscoveryHit(Content(text), run, text=text, help=help_text)

    async def search(self, query: str) -> Hits:
        matcher = self.matcher(query)
        for text, help_text, run in self._commands():
            if (score := matcher.match(text)) > 0:
                yield Hit(score, matcher.highlight(text), run, text=text, help=help_text)

    def _commands(self) -> Iterator[tuple[str, str, Callable[[], Coroutine[Any, Any, bool]]]]:
        told: set[str] = set()
        for active in self.screen.active_bindings.values():
            binding = active.binding
            if not active.enabled or not binding.description or binding.id is None or binding.id in told:
                continue
            told.add(binding.id)
            yield _text(binding), self.app.get_key_display(binding), partial(self._run, binding, active.node)

    async def _run(self, binding: Binding, node: DOMNode) -> bool:
        return await self.app.run_action(binding.action, node)


def _text(binding: Binding) -> str:
    return binding.tooltip if len(binding.tooltip) > len(binding.description) else binding.description
