"""An observer that picks one request and its answer out of the traffic of a connection."""

from agent_discovery.host import AnswerFrame, Frame, RequestFrame

__all__ = ["Caught"]


class Caught:
    """The frames of the first request with this method and caller; others may be under way beside it."""

    def __init__(self, method: str, caller: str) -> None:
        self._wanted = (method, caller)
        self.request: RequestFrame | None = None
        self.answer: AnswerFrame | None = None

    def __call__(self, frame: Frame) -> None:
        """Take the frame if it is one of ours."""
        if isinstance(frame, RequestFrame):
            if self.request is None and ((frame.message or {}).get("method"), frame.caller) == self._wanted:
                self.request = frame
        elif isinstance(frame, AnswerFrame) and frame.request is self.request:
            self.answer = frame
