"""What the HTTP library raises, as errors of this package's family.

Owns that mapping. An answer that came whole, whatever it says, is judged by `answers`.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import httpx

from .errors import BadRequest, HostError, ServerFault, StreamLost, TimedOut, Unreachable

__all__ = ["translated", "translated_stream"]

_LOST = ("disconnected", "peer closed", "connection closed")
"""How the HTTP library words a connection that ended; its other protocol errors are answers that are not HTTP."""


@contextmanager
def translated(method: str, url: str, seconds: float) -> Iterator[None]:
    """Turn what the HTTP library raises into the family's errors, until an answer is complete."""
    try:
        yield
    except (TimeoutError, httpx.TimeoutException) as error:
        raise TimedOut(method, seconds) from error
    except (httpx.ConnectError, httpx.ProxyError) as error:
        raise Unreachable(url, str(error) or type(error).__name__) from error
    except httpx.LocalProtocolError as error:
        raise BadRequest(f"{method}: not a valid HTTP request ({error}); check the headers and the token") from error
    except httpx.RemoteProtocolError as error:
        raise _broken(error, f"no complete answer to {method}") from error
    except httpx.NetworkError as error:
        raise StreamLost(f"no complete answer to {method} ({str(error) or type(error).__name__})") from error
    except httpx.HTTPError as error:
        raise ServerFault(f"its answer to {method} cannot be read ({error})") from error


@contextmanager
def translated_stream() -> Iterator[None]:
    """The same for a stream that was open already: whatever happens to it, it is lost."""
    try:
        yield
    except httpx.DecodingError as error:
        raise ServerFault(f"its stream cannot be read ({error})") from error
    except httpx.HTTPError as error:
        raise StreamLost(f"the stream ended in the middle ({str(error) or type(error).__name__})") from error


def _broken(error: httpx.RemoteProtocolError, what: str) -> HostError:
    text = str(error)
    if any(mark in text.lower() for mark in _LOST):
        return StreamLost(f"{what} ({text})")
    return ServerFault(f"what it sent is not HTTP ({text}); check that the address is an HTTP server's")
