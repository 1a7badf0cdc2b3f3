"""A request that no honest host sends: its headers and its message are the caller's own.

Owns the sending only; frames, masking, time limit and errors are those of the host library's channel. Which requests
are worth breaking is `breaks`' business.
"""

from collections.abc import Mapping
from typing import Any

from agent_discovery.host import Observer
from agent_discovery.host.exchange import Call, Channel
from demo.cast import Caller

__all__ = ["send_raw"]


async def send_raw(
    url: str,
    caller: Caller,
    headers: Mapping[str, str],
    message: Mapping[str, Any],
    *,
    timeout: float,
    observers: tuple[Observer, ...] = (),
) -> Mapping[str, Any]:
    """POST `message` with just these headers and the caller's token; returns the result. Raises `HostError`."""
    channel = Channel(url, None)
    for observer in observers:
        channel.observe(observer)
    dressed = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json", **headers}
    try:
        answer = await channel.ask(Call("POST", dressed, message, caller.token, caller.name), timeout)
    finally:
        await channel.aclose()
    return answer.result
