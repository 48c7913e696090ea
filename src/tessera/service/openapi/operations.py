"""A method of a path as an operation: where each field of its ask travels, and what comes back."""

from __future__ import annotations

from typing import Any, Final

from msgspec import structs

from tessera.models import OCTETS, ListEvents
from tessera.service.openapi.examples import Examples
from tessera.service.openapi.responses import JSON, Responses
from tessera.service.openapi.schemas import Schema, Schemas, prose
from tessera.surface import Row

SECURITY: Final[list[dict[str, list[str]]]] = [{"key": []}, {"key": [], "edge": []}]
_FLAG: Final[Schema] = {"type": "boolean", "default": False}
_CONDITIONS: Final = {
    "If-None-Match": "An `ETag`: whoever has these bytes is told so, with 304.",
    "If-Range": "An `ETag`: `Range` counts only if the bytes are still these.",
}
_LAST_EVENT: Final = (
    "With `follow`: the last event that the follower saw; it goes on after that, whatever `after` says."
)


class Operations:
    """The operations of rows."""

    def __init__(self, schemas: Schemas, responses: Responses) -> None:
        self._schemas = schemas
        self._responses = responses

    def of(self, rows: list[Row]) -> dict[str, Any]:
        """What one method of a path means: one row, or several of which a flag of the query picks one."""
        row = rows[0]
        operation: dict[str, Any] = {
            "operationId": row.name,
            "tags": [str(row.path).split("/")[2]],
            "summary": _first(row),
            "description": " ".join(map(_text, rows)),
            "x-needs": row.needs,
            "x-command": f"tessera {row.command}",
            "security": [{}] if row.needs == "nothing" else SECURITY,
            "parameters": self._parameters(rows),
        }
        if not row.reads:
            operation["requestBody"] = self._body(row)
        return {**operation, "responses": self._responses.of(rows)}

    def _parameters(self, rows: list[Row]) -> list[dict[str, Any]]:
        row = rows[0]
        fields = {field.encode_name: field for field in structs.fields(row.ask)}
        found = [self._parameter(row, "path", fields[name], required=True) for name in _named(row)]
        told = set(_named(row))
        for one in rows:
            if one.flag is not None:
                text = f"Instead: {_lower(_first(one))}."
                found.append({"name": one.flag, "in": "query", "description": text, "schema": _FLAG})
            for field in structs.fields(one.ask) if one.reads or one.body == "bytes" else ():
                if field.encode_name not in {*told, one.header}:
                    told.add(field.encode_name)
                    found.append(self._parameter(one, "query", field, field.required))
        return found + self._headers(row, fields)

    def _headers(self, row: Row, fields: dict[str, structs.FieldInfo]) -> list[dict[str, Any]]:
        found = []
        if row.header is not None and row.body != "bytes":  # whose type is told by the body's own
            found.append(self._parameter(row, "header", fields[row.header], row.needs_header))
        if row.answer_body == "bytes":
            found += [_header(name, text) for name, text in _CONDITIONS.items()]
        if row.ask is ListEvents:
            found.append(_header("Last-Event-ID", _LAST_EVENT))
        return found

    def _parameter(self, row: Row, place: str, field: structs.FieldInfo, required: bool) -> dict[str, Any]:
        name = field.encode_name
        if place == "header":
            name = "-".join(part.capitalize() for part in name.split("_"))
        schema = _not_null(self._schemas.field(row.ask, field, asked=True))
        example = Examples(self._schemas.written).field(field.encode_name, schema)
        parameter = {
            "name": name, "in": place, "description": schema.pop("description", ""), "required": required,
            "schema": schema,
        }  # fmt: skip
        return {**parameter, "example": example} if required else parameter

    def _body(self, row: Row) -> dict[str, Any]:
        if row.body == "bytes":
            media_type = OCTETS if row.header is None else "*/*"
            return {
                "description": "The bytes, up to 16 MiB.", "required": True,
                "content": {media_type: {"schema": {}}},
            }  # fmt: skip
        elsewhere = frozenset(_named(row)) | ({row.header} if row.header is not None else set())
        schema = self._schemas.asked(row.ask, elsewhere)
        written = self._schemas.written[schema["$ref"].rsplit("/", 1)[-1]]
        return {
            "required": "required" in written,
            "content": {JSON: {"schema": schema, "example": Examples(self._schemas.written).asked(schema)}},
        }


def _named(row: Row) -> list[str]:
    """The names in a row's path."""
    return [part[1:-1] for part in str(row.path).split("/") if part.startswith("{")]


def _header(name: str, text: str) -> dict[str, Any]:
    return {"name": name, "in": "header", "description": text, "schema": {"type": "string"}}


def _not_null(schema: Schema) -> Schema:
    """A schema of what travels as text, where nothing is said by leaving it out."""
    if "anyOf" in schema:
        more = {name: value for name, value in schema.items() if name != "anyOf"}
        return {**next(one for one in schema["anyOf"] if one.get("type") != "null"), **more}
    if isinstance(schema.get("type"), list):
        return {**schema, "type": schema["type"][0]}
    return dict(schema)


def _first(row: Row) -> str:
    """The first sentence of what a verb says of itself, without its stop."""
    return _said(row).partition(". ")[0].removesuffix(".")


def _text(row: Row) -> str:
    return _said(row) if row.flag is None else f"With `{row.flag}`: {_lower(_said(row))}"


def _said(row: Row) -> str:
    return prose(row.verb)


def _lower(text: str) -> str:
    return text[:1].lower() + text[1:]
