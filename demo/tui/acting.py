"""Who acts: the callers with their tokens and scopes, and on which of them changes are heard."""

from collections.abc import Mapping
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.message import Message
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from demo.cast import CAST, Caller
from demo.plain import printable

__all__ = ["ActingPanel", "caller_text"]


def caller_text(caller: Caller, *, acting: bool, show_token: bool, stream: str) -> str:
    """Two lines on a caller: who with which scopes, and the token."""
    number = CAST.index(caller) + 1
    token = caller.token if show_token else "***"
    heard = f", {stream}" if stream else ""
    return f"{'▶' if acting else ' '} {number} {caller.name}: {' '.join(caller.scopes)}\n    token {token}{heard}"


class ActingPanel(Vertical):
    """The callers, the acting one marked; Enter or the number acts as another."""

    HELP: ClassVar[str] = (
        "Who asks the server: 1, 2 and 3 (or Enter on a line) act as Alice, Alice stepped up, or Bob. Each has a\n"
        "token with scopes; v shows the tokens. Alice and Alice stepped up are one user: on the session wire they\n"
        "share a session. 'hears changes' says that a stream is open on which changes of the roster are told."
    )

    class Chosen(Message):
        """Act as this caller."""

        def __init__(self, caller: Caller) -> None:
            self.caller = caller
            super().__init__()

    def __init__(self) -> None:
        super().__init__()
        self._texts: list[str] = []

    def compose(self) -> ComposeResult:
        yield OptionList(*(Option(Content(caller.name)) for caller in CAST), id="acting-list", markup=False)

    def show(self, acting: Caller, *, show_tokens: bool, streams: Mapping[str, str]) -> None:
        """Show who acts; `streams` says by the caller's name whether changes are heard."""
        texts = [
            printable(caller_text(who, acting=who == acting, show_token=show_tokens, stream=streams.get(who.name, "")))
            for who in CAST
        ]
        if texts != self._texts:
            self._texts = texts
            listed = self.query_one(OptionList)
            for index, text in enumerate(texts):
                listed.replace_option_prompt_at_index(index, Content(text))

    @on(OptionList.OptionSelected)
    def _chosen(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        self.post_message(self.Chosen(CAST[event.option_index]))
