"""Which error of this package an error of the official SDK's client is.

Owns the mapping, by the SDK's codes and by what `http` saw of HTTP; a refusal that was seen whole is judged by
`answers`, as on this package's own connections.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

from mcp.client.subscriptions import SubscriptionLost
from mcp.shared.exceptions import MCPError
from mcp_types import CONNECTION_CLOSED, PARSE_ERROR, REQUEST_TIMEOUT
from pydantic import ValidationError

from agent_discovery.host.answers import Answer, refusal
from agent_discovery.host.challenge import Challenge
from agent_discovery.host.errors import (
    BadRequest,
    HostError,
    InsufficientScope,
    ServerFault,
    ServerRefused,
    SessionEnded,
    StreamLost,
    TimedOut,
)
from agent_discovery.wire import INTERNAL_ERROR, INVALID_REQUEST

from .http import Exchange

__all__ = ["translated"]

_HIDDEN: Final = "Server returned an error response"
_SESSION_GONE: Final = "Session terminated"
"""The SDK's own words for an HTTP error without a JSON-RPC body, and for a 404."""


@dataclass(frozen=True, slots=True)
class _Asked:
    name: str
    in_session: bool
    message: Mapping[str, Any] | None = None


@contextmanager
def translated(method: str, seconds: float, exchange: Exchange, url: str) -> Iterator[None]:
    """Turn what the SDK raises in this block into an error of the family."""
    try:
        yield
    except MCPError as error:
        raise _of_mcp(error, method, seconds, exchange, url) from error
    except ValidationError as error:
        raise ServerFault(f"its answer to {method} does not have the protocol's shape ({error.title})") from error
    except SubscriptionLost as error:
        raise StreamLost(str(error)) from error
    except TimeoutError as error:
        raise TimedOut(method, seconds) from error
    except RuntimeError as error:
        raise BadRequest(f"{method}: the client cannot ask ({error}); use it inside `async with client`") from error


def _of_mcp(error: MCPError, method: str, seconds: float, exchange: Exchange, url: str) -> HostError:
    if exchange.refusal is not None:
        return refusal(_Asked(method, exchange.session_id is not None), exchange.refusal, url)
    code, message, data = error.code, error.message, error.data
    if code == REQUEST_TIMEOUT:
        return TimedOut(method, seconds)
    if code == CONNECTION_CLOSED:
        return StreamLost(f"no answer to {method} ({message})")
    if code == PARSE_ERROR:
        return ServerFault(f"its answer to {method} cannot be read ({message})")
    if (code, message) == (INVALID_REQUEST, _SESSION_GONE):
        return SessionEnded(message, code=code, status=404)
    if (code, message) == (INTERNAL_ERROR, _HIDDEN):
        text = (
            f"{method} was answered with an HTTP error that the SDK's client does not show, such as a 403 that names "
            "the scope to ask for; make the client with agents_extension(http=...) to see it"
        )
        return ServerRefused(text, code=code, data=data)
    if (scopes := _scopes_asked_for(data)) is not None:
        challenge = Challenge("Bearer", error="insufficient_scope", error_description=message, scope=scopes)
        return InsufficientScope(message, challenge=challenge, data=data, status=0)
    body = {"jsonrpc": "2.0", "id": None, "error": {"code": code, "message": message, "data": data}}
    return refusal(_Asked(method, in_session=False), Answer(0, {}, body, body), url)


def _scopes_asked_for(data: Any) -> tuple[str, ...] | None:
    """The scopes of a challenge that travelled without HTTP, as `agent_discovery.server` sends it over stdio."""
    if not isinstance(data, Mapping) or data.get("reason") != "insufficient_scope":
        return None
    scope = data.get("scope")
    return tuple(scope.split()) if isinstance(scope, str) else None
