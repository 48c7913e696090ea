"""A value for every schema of the description, made from the schema and the words of its fields."""

from __future__ import annotations

import re
from typing import Any, Final

from msgspec import UNSET, UnsetType

from tessera.service.openapi.schemas import Schema
from tessera.service.openapi.words import FIELDS, TELLING

_NULL: Final[Schema] = {"type": "null"}
_FORMS: Final = (
    "review",
    "ws_house",
    "agt_ann",
    "role_reviewer",
    "0.0.1002",
    "a-key",
    "t_1",
    "text/plain",
    "0" * 64,
    "00-" + "1" * 32 + "-" + "1" * 16 + "-01",
)


class Examples:
    """Examples of schemas that may point at others."""

    def __init__(self, schemas: dict[str, Schema]) -> None:
        self._schemas = schemas

    def asked(self, schema: Schema) -> Any:
        """What a client could send: what it must, and what tells most."""
        return self._of(schema, asked=True)

    def answered(self, schema: Schema) -> Any:
        """What could come back: every field."""
        return self._of(schema, asked=False)

    def field(self, name: str, schema: Schema) -> Any:
        """A value for a field of that name."""
        said = self._said(name, schema)
        return self._of(schema, asked=True) if said is UNSET else said

    def _said(self, name: str, schema: Schema) -> Any | UnsetType:
        """What the field's word says, if that fits: one name may mean a text here, a list there."""
        word = FIELDS.get(name)
        if word is None or "const" in schema or not self._fits(word.example, schema):
            return UNSET
        return word.example

    def _of(self, schema: Schema, asked: bool) -> Any:
        if "$ref" in schema:
            return self._of(self._schemas[schema["$ref"].rsplit("/", 1)[-1]], asked)
        if "anyOf" in schema:
            return None if _NULL in schema["anyOf"] else self._of(schema["anyOf"][0], asked)
        if "enum" in schema:
            return schema["enum"][0]
        if "const" in schema:
            return schema["const"]
        return self._of_type(schema, asked)

    def _of_type(self, schema: Schema, asked: bool) -> Any:
        types = _types(schema)
        if "null" in types:
            return None
        match types:
            case ["object"]:
                return self._object(schema, asked)
            case ["array"]:
                return [self._of(schema["items"], asked)]
            case ["string"]:
                return _matching(schema)
            case ["integer" | "number"]:
                return schema.get("minimum", 1 if asked else 0)
            case ["boolean"]:
                return True
        return {}

    def _object(self, schema: Schema, asked: bool) -> Any:
        if "properties" not in schema:
            values = schema.get("additionalProperties")
            return {"review": self._of(values, asked)} if values else {}
        wanted = set(schema.get("required", ()))
        chosen = {
            name: one
            for name, one in schema["properties"].items()
            if name in wanted or name in TELLING or not asked
        }
        made = {}
        for name, one in chosen.items():
            said = self._said(name, one)
            made[name] = self._of(one, asked) if said is UNSET else said
        return made

    def _fits(self, value: Any, schema: Schema) -> bool:
        """Whether a value is of a schema's type, as far as its outside shows."""
        if "$ref" in schema:
            return False
        if "anyOf" in schema:
            return any(self._fits(value, one) for one in schema["anyOf"])
        if "enum" in schema:
            return value in schema["enum"]
        if isinstance(value, list) and "items" in schema:
            enough = len(value) >= schema.get("minItems", 0)
            return enough and all(self._fits(one, schema["items"]) for one in value)
        types = _types(schema)
        return not types or _type(value) in types or (_type(value) == "integer" and "number" in types)


def _matching(schema: Schema) -> str:
    """A text that keeps to a pattern: one of the product's own forms, or a test shows the lack of it."""
    if "pattern" not in schema:
        return "…"
    return next((form for form in _FORMS if re.search(schema["pattern"], form)), "…")


def _types(schema: Schema) -> list[str]:
    types = schema.get("type", [])
    return [types] if isinstance(types, str) else types


def _type(value: Any) -> str:
    names = {bool: "boolean", int: "integer", float: "number", str: "string", list: "array", dict: "object"}
    return names.get(type(value), "null")
