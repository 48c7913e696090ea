"""The whole description: every row of the surface that has a path, and what the service answers beside."""

from __future__ import annotations

from functools import cache
from typing import Any, Final

import msgspec

from tessera.names import VERSION
from tessera.service.openapi.operations import SECURITY, Operations
from tessera.service.openapi.refusals import OF_EVERY_PATH
from tessera.service.openapi.responses import Responses, header_components, headers, problem_schema
from tessera.service.openapi.schemas import PROBLEM, Schemas
from tessera.service.own import OWN, Own, Said
from tessera.service.routes import Route, Routes
from tessera.surface import SURFACE

_INFO: Final = {
    "title": "Tessera",
    "version": VERSION,
    "summary": "The coordination layer for swarms of AI agents.",
    "description": (
        "Queues of work, leases with fencing tokens, receipts; beside them records, feeds, blobs and "
        "objects. Bodies are JSON in UTF-8, times are RFC 3339 in UTC, durations are seconds. A request's "
        "field may be left out where it has a default; an answer shows every field, null where there is "
        "nothing. Whatever "
        "answers GET answers HEAD, and every path answers OPTIONS; another method is 405 with `Allow`. A "
        "refusal is a problem document of RFC 9457, whose `code` is for programs."
    ),
    "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
}
_SECURITY: Final = {
    "key": {
        "type": "http", "scheme": "bearer",
        "description": "A key from `tessera keys issue`. It travels in this header alone.",
    },
    "edge": {
        "type": "apiKey", "in": "header", "name": "x-edge-auth",
        "description": "The edge's secret, where the service has one: then the edge adds it to each request.",
    },
}  # fmt: skip


@cache
def document() -> dict[str, Any]:
    """The description as a value; whoever takes it does not change it."""
    schemas = Schemas()
    schemas.written[PROBLEM] = problem_schema()
    responses = Responses(schemas)
    operations = Operations(schemas, responses)
    routes = {route.template: route for route in Routes(SURFACE.values())}
    templates = dict.fromkeys(row.path for row in SURFACE.values() if row.path is not None)
    paths: dict[str, Any] = {template: _path(routes[template], operations) for template in templates}
    for own in OWN:
        paths.setdefault(own.path, {})[own.method.lower()] = _own(own, responses)
    return {
        "openapi": "3.1.0",
        "info": _INFO,
        "servers": [{"url": "/", "description": "The service that gave this description."}],
        "paths": paths,
        "components": {
            "schemas": dict(sorted(schemas.written.items())),
            "responses": dict(sorted(responses.shared.items())),
            "headers": header_components(),
            "securitySchemes": _SECURITY,
        },
    }


@cache
def encoded() -> bytes:
    """The description as JSON, on one line."""
    return msgspec.json.encode(document())


def text() -> str:
    """The description as JSON for eyes."""
    return msgspec.json.format(encoded(), indent=2).decode() + "\n"


def _path(route: Route, operations: Operations) -> dict[str, Any]:
    found = {}
    for method, by_flag in route.targets.items():
        rows = [target.row for _, target in sorted(by_flag.items(), key=lambda item: item[0] or "")]
        found[method.lower()] = operations.of(rows)
    return found


def _own(own: Own, responses: Responses) -> dict[str, Any]:
    operation: dict[str, Any] = {
        "operationId": own.name, "tags": [own.tag], "summary": own.title, "description": own.text,
        "x-needs": own.needs, "security": [{}] if own.needs == "nothing" else SECURITY, "parameters": [],
    }  # fmt: skip
    if own.body is not None:
        operation["requestBody"] = {"required": True, "content": _content(own.body)}
    refused = responses.refused(OF_EVERY_PATH | set(own.refusals))
    found: dict[str, Any] = {}
    for status, said in own.answers.items():
        answer = {"description": said.text, "headers": headers(), "content": _content(said)}
        if (problem := refused.pop(str(status), None)) is not None:  # both come with this status
            answer["content"] |= responses.shared[problem["$ref"].rsplit("/", 1)[-1]]["content"]
        found[str(status)] = answer
    return {**operation, "responses": {**found, **refused}}


def _content(said: Said) -> dict[str, Any]:
    return {} if said.schema is None else {said.media_type: {"schema": said.schema, "example": said.example}}
