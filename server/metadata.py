"""The OAuth protected-resource metadata document (RFC 9728), which follows the scopes of the roster in force.

Owns that following. It leaves the document and its route to `agent_discovery.server`.
"""

from dataclasses import replace

from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from agent_discovery.server import BearerAuth
from server.published import Published

__all__ = ["ResourceMetadata"]


class ResourceMetadata:
    """The ASGI endpoint of the document.

    Args:
        published: gives the scopes as of now.
        auth: gives all else.
    """

    def __init__(self, published: Published, auth: BearerAuth) -> None:
        self._published = published
        self._auth = auth
        self._scopes, self._route = self._make()

    @property
    def path(self) -> str:
        """The well-known path of the document."""
        return self._route.path

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self._scopes != self._published.scopes:
            self._scopes, self._route = self._make()
        await self._route.handle(scope, receive, send)

    def _make(self) -> tuple[tuple[str, ...], Route]:
        scopes = self._published.scopes
        (route,) = replace(self._auth, scopes=scopes).metadata_routes()
        return scopes, route
