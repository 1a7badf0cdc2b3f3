"""The OAuth protected-resource metadata document (RFC 9728), which follows the scopes of the roster in force.

Owns that following. It leaves the document and its route to the SDK.
"""

from mcp.server.auth.routes import create_protected_resource_routes
from pydantic import AnyHttpUrl
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from server.published import Published

__all__ = ["ResourceMetadata"]


class ResourceMetadata:
    """The ASGI endpoint of the document.

    Args:
        published: gives the scopes as of now.
        resource: the URL of the MCP endpoint.
        issuer: where tokens come from.
    """

    def __init__(self, published: Published, resource: AnyHttpUrl, issuer: AnyHttpUrl) -> None:
        self._published = published
        self._resource = resource
        self._issuer = issuer
        self._made = self._make()

    @property
    def path(self) -> str:
        """The well-known path of the document."""
        return self._made[1].path

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self._made[0] != self._published.scopes:
            self._made = self._make()
        await self._made[1].handle(scope, receive, send)

    def _make(self) -> tuple[tuple[str, ...], Route]:
        scopes = self._published.scopes
        (route,) = create_protected_resource_routes(self._resource, [self._issuer], scopes_supported=list(scopes))
        return scopes, route
