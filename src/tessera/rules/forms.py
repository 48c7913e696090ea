"""A form from a park's `input_schema`, and an input from what was filled in. Pure.

Only what a plain form can say is made one: an object of simple fields, or one simple value. Everything else
is written as JSON. The form helps; the schema decides, inside `resume`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

import msgspec
from msgspec import Struct

from tessera.errors import InvalidRequest

FIELDS_MAX: Final = 40
CHOICES_MAX: Final = 200
LONG_CHARS: Final = 120  # from here on a text gets more than one line
_COMBINED: Final = frozenset(
    {"allOf", "anyOf", "oneOf", "not", "if", "then", "else", "patternProperties", "dependentSchemas",
     "dependentRequired", "dependencies", "propertyNames", "minProperties", "prefixItems", "contains"}
)  # fmt: skip
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?\Z")
_INTEGER = re.compile(r"-?(?:0|[1-9][0-9]*)\Z")


class Field(Struct, frozen=True):
    """One field: `name` is its property, None where the input is this one value; `widget` is text, long,
    integer, number, boolean, choice, choices or json. A choice's values are JSON texts.
    """

    place: int
    name: str | None
    label: str
    help: str
    widget: str
    required: bool
    choices: tuple[str, ...] = ()
    initial: str = ""
    low: str = ""
    high: str = ""
    longest: str = ""

    @property
    def input(self) -> str:
        """What the form calls it."""
        return f"field-{self.place}"


def fields_of(schema: str) -> list[Field] | None:
    """The fields of a form for a canonical JSON Schema, the needed ones first; None where only JSON will
    do.
    """
    document = msgspec.json.decode(schema)
    if not isinstance(document, dict) or not _COMBINED.isdisjoint(document):
        return None
    if document.get("type") != "object" and "properties" not in document:
        field = _field(0, None, document, True)
        return None if field.widget == "json" else [field]
    properties = document.get("properties")
    if not isinstance(properties, dict) or not 0 < len(properties) <= FIELDS_MAX:
        return None
    required = document.get("required")
    needed = set(required) if isinstance(required, list) else set()
    if not needed <= properties.keys():
        return None
    parts = enumerate(properties.items())
    fields = [_field(place, name, part, name in needed) for place, (name, part) in parts]
    return sorted(fields, key=lambda field: not field.required)


def input_of(fields: list[Field], given: Mapping[str, list[str]]) -> bytes:
    """The JSON of a filled-in form. A field left empty is left out; what cannot be read is refused with
    `invalid_request` and the field's label.
    """
    values: dict[str, msgspec.Raw] = {}
    for field in fields:
        value = _value(field, [text for text in given.get(field.input, []) if text != ""])
        if value is None and field.required:
            raise InvalidRequest(f"{field.label}: needs a value")
        if field.name is None:
            return value or b"null"
        if value is not None:
            values[field.name] = msgspec.Raw(value)
    return msgspec.json.encode(values)


def _field(place: int, name: str | None, part: object, required: bool) -> Field:
    """What one property's schema makes of its field."""
    schema: dict[str, Any] = part if isinstance(part, dict) else {}
    widget, choices = _widget(schema) if _COMBINED.isdisjoint(schema) else ("json", ())
    label = schema.get("title")
    initial = schema.get("default")
    return Field(
        place=place,
        name=name,
        label=label if isinstance(label, str) and label.strip() else name or "Input",
        help=_text(schema.get("description")),
        widget=widget,
        required=required,
        choices=choices,
        initial=_initial(initial, widget),
        low=_bound(schema.get("minimum")),
        high=_bound(schema.get("maximum")),
        longest=_bound(schema.get("maxLength")),
    )


def _widget(schema: dict[str, Any]) -> tuple[str, tuple[str, ...]]:
    if "const" in schema:
        return "choice", (_json(schema["const"]),)
    if (choices := _choices(schema)) is not None:
        return "choice", choices
    kind = schema.get("type")
    if kind in ("integer", "number", "boolean"):
        return kind, ()
    if kind == "string":
        longest = schema.get("maxLength")
        short = (
            (isinstance(longest, int) and longest <= LONG_CHARS) or "format" in schema or "pattern" in schema
        )
        return ("text" if short else "long"), ()
    items = schema.get("items")
    if kind == "array" and isinstance(items, dict) and (choices := _choices(items)) is not None:
        return "choices", choices
    return "json", ()


def _choices(schema: dict[str, Any]) -> tuple[str, ...] | None:
    values = schema.get("enum")
    if not isinstance(values, list) or not 0 < len(values) <= CHOICES_MAX:
        return None
    return tuple(_json(value) for value in values)


def _value(field: Field, given: list[str]) -> bytes | None:
    """A field's value as JSON, None if there is none. A text may be empty only by being left out."""
    if field.widget == "choices":
        if not set(given) <= set(field.choices):
            raise InvalidRequest(f"{field.label}: not one of the choices")
        return ("[" + ",".join(given) + "]").encode() if given or field.required else None
    if not given:
        return b'""' if field.required and field.widget in ("text", "long") else None
    text = given[0]
    if field.widget in ("text", "long"):
        return msgspec.json.encode(text.replace("\r\n", "\n"))
    text = text.strip()
    if field.widget == "choice" and text not in field.choices:
        raise InvalidRequest(f"{field.label}: not one of the choices")
    if field.widget == "boolean" and text not in ("true", "false"):
        raise InvalidRequest(f"{field.label}: yes or no")
    if field.widget == "integer" and not _INTEGER.match(text):
        raise InvalidRequest(f"{field.label}: a whole number")
    if field.widget == "number" and not _NUMBER.match(text):
        raise InvalidRequest(f"{field.label}: a number")
    return json_of(text, field.label)


def json_of(text: str, label: str) -> bytes:
    """A text that must be JSON, as it is; `invalid_request` with the label if it is none."""
    try:
        msgspec.json.decode(text.encode())
    except (msgspec.MsgspecError, UnicodeEncodeError, RecursionError) as error:
        raise InvalidRequest(f"{label}: is no JSON") from error
    return text.encode()


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode()


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _bound(value: object) -> str:
    return _json(value) if isinstance(value, int | float) and not isinstance(value, bool) else ""


def _initial(value: object, widget: str) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) and widget in ("text", "long") else _json(value)
