"""The OpenAPI 3.1 description of everything the server answers beside MCP.

Owns the document. Its schemas come from the models that the answers are made of, so they cannot drift; the models
themselves are in `rest` and, for the protected-resource metadata (RFC 9728), the SDK's.
"""

from typing import Any, Final

from mcp.shared.auth import ProtectedResourceMetadata
from pydantic import BaseModel, ConfigDict
from pydantic.json_schema import models_json_schema

from agent_discovery import __version__
from server.rest import OPENAPI_PATH, REST_PATHS, RestAgents

__all__ = ["build_openapi"]

_REF: Final = "#/components/schemas/{model}"


class Health(BaseModel):
    """The server answers."""

    model_config = ConfigDict(extra="forbid")

    status: str


class Refusal(BaseModel):
    """Why a request was refused (RFC 6750)."""

    error: str
    error_description: str


def build_openapi(base_url: str, metadata_path: str) -> dict[str, Any]:
    """The document as it travels.

    Args:
        base_url: where the server is, without a trailing slash.
        metadata_path: where its protected-resource metadata is.
    """
    models = (RestAgents, Health, Refusal, ProtectedResourceMetadata)
    _, schemas = models_json_schema([(model, "serialization") for model in models], ref_template=_REF)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Agent discovery demo: the REST side door",
            "version": __version__,
            "description": "The roster of an MCP server for clients that speak no MCP. Opening an agent is MCP.",
        },
        "servers": [{"url": base_url}],
        "paths": {
            **{path: {"get": _list_agents(number)} for number, path in enumerate(REST_PATHS, 1)},
            "/healthz": {"get": _open("health", "Whether the server answers", "It does.", _of(Health))},
            metadata_path: {
                "get": _open(
                    "protectedResourceMetadata",
                    "Which scopes there are, and where tokens come from (RFC 9728)",
                    "The metadata of the MCP endpoint.",
                    _of(ProtectedResourceMetadata),
                )
            },
            OPENAPI_PATH: {"get": _open("openapi", "This document", "An OpenAPI 3.1 document.", {"type": "object"})},
        },
        "components": {
            "schemas": schemas["$defs"],
            "securitySchemes": {"bearer": {"type": "http", "scheme": "bearer"}},
        },
    }


def _list_agents(number: int) -> dict[str, Any]:
    challenge = {"description": "A Bearer challenge with the metadata's URL.", "schema": {"type": "string"}}
    private = {"description": "Always `private`: the answer depends on who asks.", "schema": {"type": "string"}}
    return {
        "operationId": f"listAgents{number}",
        "summary": "The agents that this caller may know of",
        "security": [{"bearer": []}],
        "responses": {
            "200": {
                "description": "Filtered for the caller exactly as agents/list is.",
                "headers": {"cache-control": private},
                "content": _json(_of(RestAgents)),
            },
            "401": {
                "description": "No token, or one that is not known.",
                "headers": {"www-authenticate": challenge},
                "content": _json(_of(Refusal)),
            },
            "403": {"description": "The Origin header names a page that may not ask."},
            "405": {"description": "Only GET is served."},
            "421": {"description": "The Host header is not this server's."},
        },
    }


def _open(operation: str, summary: str, description: str, schema: dict[str, Any]) -> dict[str, Any]:
    """An operation that takes no token."""
    responses = {"200": {"description": description, "content": _json(schema)}}
    return {"operationId": operation, "summary": summary, "security": [], "responses": responses}


def _of(model: type[BaseModel]) -> dict[str, Any]:
    return {"$ref": _REF.format(model=model.__name__)}


def _json(schema: dict[str, Any]) -> dict[str, Any]:
    return {"application/json": {"schema": schema}}
