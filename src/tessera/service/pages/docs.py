"""`/docs`: the HTTP interface for people, drawn from its description. No key, nothing to do but read."""

from __future__ import annotations

import gzip
import json
import shlex
from collections.abc import Callable, Iterator
from functools import cache
from http import HTTPStatus
from typing import Any, Final
from urllib.parse import urlencode

from msgspec import Struct

from tessera.service.answers import NO_STORE, Answer
from tessera.service.openapi.document import document
from tessera.service.pages.board import packs
from tessera.service.pages.desk import GUARD, HTML, POLICY, Desk, Visit, refuse_fields
from tessera.service.pages.render import page

_BASE: Final = "$TESSERA_STORE"
_KEY: Final = "authorization: Bearer $TESSERA_KEY"
_PLACES: Final = ("path", "query", "header")

Schema = dict[str, Any]


class Field(Struct, frozen=True):
    """A parameter, or a field of a body or a model."""

    name: str
    place: str
    kind: str  # in words
    model: str | None  # which this is, or is a list of
    required: bool
    text: str


class Told(Struct, frozen=True):
    """One status of an answer: what it means, what comes."""

    status: str
    text: str
    model: str | None
    types: list[str]
    headers: list[str]
    codes: list[str]


class Operation(Struct, frozen=True):
    """One method of a path, ready to be shown."""

    name: str
    method: str
    path: str
    summary: str
    text: str
    needs: str
    command: str | None
    fields: list[Field]
    answers: list[Told]
    refusals: list[Told]
    curl: str
    example: str  # what a good answer's body looks like


class Docs:
    """The pages. Each is made once, in a thread: it changes only with the program."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    async def operations(self, visit: Visit) -> Answer:
        """Every operation, by what it is about."""
        return await self._give(visit, _operations)

    async def models(self, visit: Visit) -> Answer:
        """What is sent and answered."""
        return await self._give(visit, _models)

    async def _give(self, visit: Visit, made: Callable[[], tuple[bytes, bytes]]) -> Answer:
        refuse_fields(visit.fields)
        plain, packed = await self._desk.engine.compute(made)
        headers = [HTML, NO_STORE, POLICY, *GUARD, (b"vary", b"accept-encoding")]
        if packs(visit):
            return Answer(HTTPStatus.OK, [*headers, (b"content-encoding", b"gzip")], packed)
        return Answer(HTTPStatus.OK, headers, plain)


@cache
def _operations() -> tuple[bytes, bytes]:
    described = document()
    sections: dict[str, list[Operation]] = {}
    for path, methods in described["paths"].items():
        for method, operation in methods.items():
            sections.setdefault(operation["tags"][0], []).append(_operation(path, method, operation))
    return _packed(page("docs.html", info=described["info"], sections=sections))


@cache
def _models() -> tuple[bytes, bytes]:
    schemas = document()["components"]["schemas"]
    models = {
        name: (schema.get("description", ""), list(_fields(schema, ""))) for name, schema in schemas.items()
    }
    return _packed(page("models.html", models=models))


def _packed(plain: bytes) -> tuple[bytes, bytes]:
    return plain, gzip.compress(plain, 6, mtime=0)


def _operation(path: str, method: str, operation: dict[str, Any]) -> Operation:
    fields = [
        Field(one["name"], one["in"], *_kind(one["schema"]), one.get("required", False), one["description"])
        for one in sorted(operation["parameters"], key=lambda one: _PLACES.index(one["in"]))
    ]
    for media_type, content in operation.get("requestBody", {}).get("content", {}).items():
        schema = _followed(content["schema"])
        fields += _fields(schema, "body") if "properties" in schema else [_bytes(media_type, operation)]
    told = [_told(status, _followed(answer)) for status, answer in operation["responses"].items()]
    return Operation(
        operation["operationId"], method.upper(), path, operation["summary"], operation["description"],
        operation["x-needs"], operation.get("x-command"), fields,
        [one for one in told if int(one.status) < HTTPStatus.BAD_REQUEST],
        [one for one in told if int(one.status) >= HTTPStatus.BAD_REQUEST],
        curl(path, method, operation), _example(operation),
    )  # fmt: skip


def _bytes(media_type: str, operation: dict[str, Any]) -> Field:
    body = operation["requestBody"]
    text = body.get("description", "")
    kind = "bytes of any type" if media_type == "*/*" else media_type
    return Field("(the body)", "body", kind, None, body["required"], text)


def _fields(schema: Schema, place: str) -> Iterator[Field]:
    wanted = schema.get("required", ())
    for name, one in schema.get("properties", {}).items():
        yield Field(name, place, *_kind(one), name in wanted, one.get("description", ""))


def _told(status: str, answer: dict[str, Any]) -> Told:
    content = answer.get("content", {})
    models = [model for one in content.values() if (model := _model(one["schema"])) is not None]
    return Told(
        status, answer["description"], models[0] if models else None, list(content),
        [name for name in answer.get("headers", {}) if name != "X-Request-Id"],
        sorted({code for one in content.values() for code in one.get("examples", {})}),
    )  # fmt: skip


def _example(operation: dict[str, Any]) -> str:
    """The body of the first good answer that has one."""
    for answer in operation["responses"].values():
        for content in _followed(answer).get("content", {}).values():
            if "example" in content:
                return _text(content["example"])
    return ""


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, indent=2, ensure_ascii=False)


def _followed(part: dict[str, Any]) -> dict[str, Any]:
    """A part of the description, or what it points at."""
    if "$ref" not in part:
        return part
    _, kind, name = part["$ref"].removeprefix("#/").split("/")
    return dict(document()["components"][kind][name])


def _model(schema: Schema) -> str | None:
    for one in (schema, schema.get("items", {}), *schema.get("anyOf", ()), *schema.get("allOf", ())):
        if "$ref" in one:
            return str(one["$ref"].rsplit("/", 1)[-1])
    values = schema.get("additionalProperties")
    return _model(values) if isinstance(values, dict) else None


def _kind(schema: Schema) -> tuple[str, str | None]:
    """A schema in words, and the model that it leads to."""
    if "anyOf" in schema:
        return " or ".join(_kind(one)[0] for one in schema["anyOf"]), _model(schema)
    if "$ref" in schema:
        return str(_model(schema)), _model(schema)
    if "enum" in schema:
        return " · ".join(schema["enum"]), None
    types = schema.get("type", "any JSON")
    word = types[0] if isinstance(types, list) else types
    if "items" in schema:
        word = f"list of {_kind(schema['items'])[0]}"
    null = ", or null" if "null" in types else ""
    default = f", else {json.dumps(schema['default'])}" if "default" in schema else ""
    return f"{word}{_bounds(schema)}{null}{default}", _model(schema)


def _bounds(schema: Schema) -> str:
    for low, high in (("minimum", "maximum"), ("minLength", "maxLength"), ("minItems", "maxItems")):
        if high in schema:
            return f" ({schema.get(low, schema.get('exclusiveMinimum', 0)):,} to {schema[high]:,})"
        if low in schema:
            return f" (from {schema[low]:,})"
    return ""


def curl(path: str, method: str, operation: dict[str, Any]) -> str:
    """A line for a shell that asks this, where TESSERA_STORE is the service's URL and TESSERA_KEY a key."""
    said = {one["name"]: str(one["example"]) for one in operation["parameters"] if one.get("required")}
    address = path
    for name, value in said.items():
        address = address.replace(f"{{{name}}}", value)
    asked = {
        one["name"]: said[one["name"]]
        for one in operation["parameters"]
        if one["in"] == "query" and one.get("required")
    }
    address += f"?{urlencode(asked)}" if asked else ""
    words = ["curl", "-sS", f'"{_BASE}{address}"']
    if operation["x-needs"] != "nothing":
        words += ["-H", f'"{_KEY}"']
    headers = [
        one["name"] for one in operation["parameters"] if one["in"] == "header" and one.get("required")
    ]
    words += [word for name in headers for word in ("-H", shlex.quote(f"{name.lower()}: {said[name]}"))]
    for media_type, content in operation.get("requestBody", {}).get("content", {}).items():
        if "example" in content:
            body = json.dumps(content["example"], ensure_ascii=False)
            words += ["-H", "'content-type: application/json'", "-d", shlex.quote(body)]
        else:
            kind = "text/plain" if media_type == "*/*" else media_type
            words += ["-H", f"'content-type: {kind}'", "--data-binary", "'some bytes'"]
    if method == "post" and "requestBody" not in operation:
        words += ["-X", "POST"]
    return " ".join(words)
