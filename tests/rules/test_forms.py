"""Forms from JSON Schemas, and inputs from forms."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from tessera.errors import InvalidRequest
from tessera.rules.forms import Field, fields_of, input_of


def form(**properties: Any) -> list[Field]:
    """The fields of an object with these properties, none of them needed."""
    fields = fields_of(json.dumps({"type": "object", "properties": properties}))
    assert fields is not None
    return fields


def filled(fields: list[Field], *values: Any) -> Any:
    """The input that comes of these values, one or several for each field."""
    given = {
        field.input: value if isinstance(value, list) else [value]
        for field, value in zip(fields, values, strict=True)
    }
    return msgspec.json.decode(input_of(fields, given))


@pytest.mark.parametrize(
    ("schema", "widget"),
    [({"type": "string"}, "long"), ({"type": "string", "maxLength": 40}, "text"),
     ({"type": "string", "format": "date"}, "text"), ({"type": "integer"}, "integer"),
     ({"type": "number"}, "number"), ({"type": "boolean"}, "boolean"), ({"enum": [1, "a", None]}, "choice"),
     ({"const": 3}, "choice"), ({"type": "array", "items": {"enum": ["a"]}}, "choices"),
     ({"type": "array", "items": {"type": "string"}}, "json"), ({"type": "object"}, "json"), (True, "json"),
     ({"type": ["string", "null"]}, "json"), ({"anyOf": [{"type": "string"}]}, "json"), ({}, "json")],
)  # fmt: skip
def test_each_property_has_its_field(schema: Any, widget: str) -> None:
    """A simple property has a field of its kind; everything else is a field for JSON."""
    (field,) = form(p=schema)

    assert (field.name, field.widget, field.required) == ("p", widget, False)


@pytest.mark.parametrize(
    "schema",
    [True, {}, {"type": "object"}, {"type": "array"}, {"type": "object", "properties": {}},
     {"anyOf": [{"type": "object"}], "properties": {"a": {}}}, {"properties": {"a": {}}, "required": ["b"]},
     {"properties": {str(number): {} for number in range(41)}}, {"properties": [1]}],
)  # fmt: skip
def test_some_schemas_make_no_form(schema: Any) -> None:
    """What fields cannot say is written as JSON: combined, open or endless objects, and lists."""
    assert fields_of(json.dumps(schema)) is None


@pytest.mark.parametrize(
    ("schema", "given", "value"),
    [({"type": "boolean"}, "false", False), ({"type": "integer"}, " 7 ", 7), ({"enum": ["x"]}, '"x"', "x"),
     ({"type": "string"}, "a\r\nb", "a\nb")],
)  # fmt: skip
def test_one_simple_value_is_a_form(schema: Any, given: str, value: Any) -> None:
    """A schema of one simple value makes one field, which is the input."""
    fields = fields_of(json.dumps(schema))
    assert fields is not None

    assert filled(fields, given) == value


def test_what_is_filled_in_is_the_input() -> None:
    """Each field gives a value of its type, by its property's name; empty ones are left out."""
    fields = form(
        a={"type": "string"}, b={"type": "integer"}, c={"type": "number"}, d={"type": "boolean"},
        e={"enum": [None, "x"]}, f={"type": "array", "items": {"enum": [1, 2]}}, g={}, h={"type": "string"},
    )  # fmt: skip

    assert filled(fields, "1", "-3", "1.5e3", "true", "null", ["1", "2"], '{"k": []}', "") == {
        "a": "1", "b": -3, "c": 1500.0, "d": True, "e": None, "f": [1, 2], "g": {"k": []},
    }  # fmt: skip


@pytest.mark.parametrize(
    ("schema", "given"),
    [({"type": "integer"}, "1.0"), ({"type": "integer"}, "0x1"), ({"type": "integer"}, "\u0661"),
     ({"type": "number"}, "NaN"), ({"type": "number"}, "1,2"), ({"type": "boolean"}, "yes"),
     ({"enum": ["a"]}, "a"), ({"type": "array", "items": {"enum": ["a"]}}, '"b"'), ({}, "{"),
     ({}, '1,"more":2'), ({}, "[" * 5_000)],
)  # fmt: skip
def test_what_is_no_such_value_is_refused(schema: Any, given: str) -> None:
    """What a field cannot read is refused with the field's label."""
    fields = form(p={**schema, "title": "The label"})

    with pytest.raises(InvalidRequest, match=r"^The label: "):
        filled(fields, given)


def test_what_is_needed() -> None:
    """A needed field may not be empty, save a text, which is then empty, and a list, which has nothing."""
    texts = {
        "s": {"type": "string"},
        "t": {"type": "array", "items": {"enum": [1]}},
        "n": {"type": "integer"},
    }
    fields = fields_of(json.dumps({"properties": texts, "required": ["s", "t"]}))
    needs = fields_of(json.dumps({"properties": texts, "required": ["n"]}))
    assert fields is not None
    assert needs is not None

    assert [field.name for field in fields] == ["s", "t", "n"]
    assert [field.name for field in needs] == ["n", "s", "t"]
    assert msgspec.json.decode(input_of(fields, {})) == {"s": "", "t": []}
    with pytest.raises(InvalidRequest, match="n: needs a value"):
        input_of(needs, {})


def test_a_field_tells_what_its_property_says() -> None:
    """Title, description, default and bounds of a property are its field's; what is no text or number there
    is nothing.
    """
    (told,) = form(p={
        "type": "integer", "title": "T", "description": "D", "default": 3, "minimum": 1, "maximum": 9,
    })  # fmt: skip
    (strange,) = form(p={"type": "string", "title": 5, "description": [], "maxLength": 10, "default": "d"})

    assert (told.label, told.help, told.initial, told.low, told.high) == ("T", "D", "3", "1", "9")
    assert (strange.label, strange.help, strange.initial, strange.longest) == ("p", "", "d", "10")
