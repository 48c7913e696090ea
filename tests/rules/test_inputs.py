"""What a park may say about its input: JSON Schemas, hostile ones too, whose cost stays bounded."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any

import pytest

from tessera.canonical import canonical
from tessera.errors import InvalidRequest
from tessera.limits import INPUT_SCHEMA_BYTES_MAX
from tessera.rules.inputs import refuse_bad_schema, refuse_unless_valid

MIB = 1 << 20
SOON = 5.0  # seconds; what is bounded takes a hundredth of it, what is not takes hours


def text_of(schema: Any) -> str:
    """A schema as a park keeps it."""
    return canonical(json.dumps(schema).encode(), "input_schema", INPUT_SCHEMA_BYTES_MAX)


def nested(levels: int, keyword: str, *, listed: bool = False) -> Any:
    """A schema with one keyword inside itself many times."""
    schema: Any = {}
    for _ in range(levels):
        schema = {keyword: [schema] if listed else schema}
    return schema


def refusal_of(rule: Callable[..., None], *args: str) -> str | None:
    """What the rule refuses with; anything but a refusal is an error."""
    try:
        rule(*args)
    except InvalidRequest as refusal:
        return refusal.detail
    return None


GOOD: list[Any] = [
    True, False, {}, {"type": "object"}, {"type": ["string", "null"]}, {"unknown": 1}, {"format": "nonsense"},
    {"pattern": "^a+$"}, {"patternProperties": {"^x-": {}}}, {"enum": [1, "a", None]}, {"const": {"a": 1}},
    {"$schema": "https://json-schema.org/draft/2020-12/schema"}, {"minItems": 1e300},
    {"$schema": "http://json-schema.org/draft-07/schema#", "items": [{}]}, {"$id": "https://example.com/x"},
    {"title": "é\x00\u2028"}, {"if": {"const": 1}, "then": {}, "else": False}, {"$anchor": "here"},
]  # fmt: skip


@pytest.mark.parametrize("schema", GOOD, ids=ascii)
def test_schemas(schema: Any) -> None:
    """What the standard allows is a schema, unknown words included."""
    refuse_bad_schema(text_of(schema))


BAD: list[Any] = [
    None, 1, "string", [], [{}], {"type": "text"}, {"type": 1}, {"minimum": "1"}, {"required": "a"},
    {"required": [1]}, {"maxLength": -1}, {"multipleOf": 0}, {"properties": []}, {"items": 1}, {"enum": 1},
    {"pattern": "("}, {"pattern": "(?=a)b"}, {"pattern": "(a)\\1"}, {"patternProperties": {"(": {}}},
    {"pattern": "a{1000}{1000}{1000}"}, {"$schema": "https://example.com/meta"}, {"$schema": 1},
    {"$id": ":::"}, {"$id": 5}, {"allOf": []}, {"not": 1},
]  # fmt: skip


@pytest.mark.parametrize("schema", BAD, ids=ascii)
def test_what_is_no_schema(schema: Any) -> None:
    """What breaks the standard, asks for backtracking or cannot be compiled is refused in plain words."""
    with pytest.raises(InvalidRequest, match=r"^input_schema(\.[^ ]+|): ") as refusal:
        refuse_bad_schema(text_of(schema))
    assert len(refusal.value.detail) <= 300
    assert "\n" not in refusal.value.detail


def test_what_is_wrong_with_a_schema_is_told_where_it_stands() -> None:
    """A fault far inside a schema is named by its path, in words that say what would do."""
    for wrong, why in (
        ({"type": "text"}, "type: not a type of JSON Schema: string, number"),
        ({"pattern": "(?=a)b"}, "pattern: not a pattern, or one that looks around"),
        ({"minimum": "1"}, "minimum: the value is not of type"),
    ):
        refusal = refusal_of(refuse_bad_schema, text_of({"properties": {"n": wrong}}))
        assert refusal is not None
        assert refusal.startswith(f"input_schema.properties.n.{why}")


REFERENCES = [
    {"$ref": "#"}, {"$ref": "https://example.com/s"}, {"$ref": "file:///etc/passwd"}, {"$dynamicRef": "#a"},
    {"$recursiveRef": "#"}, {"properties": {"a": {"items": [{"$ref": "#/x"}]}}},
    {"$defs": {"a": {"$ref": "#"}}},
    {"unknown": [[{"$ref": "#"}]]},
]  # fmt: skip


@pytest.mark.parametrize("schema", REFERENCES, ids=ascii)
def test_references_are_refused(schema: Any) -> None:
    """No schema reaches another one, on a disk, on the network or in itself."""
    with pytest.raises(InvalidRequest, match="references are not allowed"):
        refuse_bad_schema(text_of(schema))


@pytest.mark.parametrize("keyword", ["unevaluatedProperties", "unevaluatedItems"])
@pytest.mark.parametrize("levels", [1, 40])
def test_what_multiplies_is_refused(keyword: str, levels: int) -> None:
    """Keywords whose cost doubles with every level are refused, before anything is compiled."""
    schema: Any = {}
    for _ in range(levels):
        schema = {keyword: {"minimum": -1}, "anyOf": [schema]}
    began = time.perf_counter()
    with pytest.raises(InvalidRequest, match="unevaluated"):
        refuse_bad_schema(text_of(schema))
    assert time.perf_counter() - began < SOON


@pytest.mark.parametrize(
    ("keyword", "listed"), [("not", False), ("items", False), ("allOf", True), ("anyOf", True)]
)
@pytest.mark.parametrize("levels", [100, 240, 248])
def test_deep_schemas(keyword: str, listed: bool, levels: int) -> None:
    """A schema of any depth is taken or refused, never an unforeseen error."""
    refusal = refusal_of(refuse_bad_schema, text_of(nested(levels, keyword, listed=listed)))
    assert refusal is None or levels > 100
    assert refusal is None or refusal.startswith("input_schema")


@pytest.mark.parametrize(
    "schema", [{"enum": [1]}, {"const": 1}, {"uniqueItems": True}, {"type": "array"}, True]
)
@pytest.mark.parametrize("levels", [10, 200, 260, 499])
def test_deep_inputs(schema: Any, levels: int) -> None:
    """An input of any depth that a resume may have is valid or refused, never an unforeseen error."""
    document = "[" * levels + "]" * levels
    refusal = refusal_of(refuse_unless_valid, document, text_of(schema))
    if schema in ({"enum": [1]}, {"const": 1}):
        assert refusal is not None
        assert refusal.startswith("input: ")
    else:
        assert refusal is None


@pytest.mark.parametrize(
    "pattern", ["^(a+)+$", "^(a|a)*$", "(.*)*x", "^(([a-z])+.)+[A-Z]([a-z])+$", "a*a*a*b"]
)
def test_catastrophic_patterns(pattern: str) -> None:
    """A pattern that would hang an engine with backtracking takes a time linear in the text."""
    schema = text_of({"pattern": pattern})
    document = json.dumps("a" * (MIB - 3) + "!")
    refuse_bad_schema(schema)
    began = time.perf_counter()
    with pytest.raises(InvalidRequest, match="does not match"):
        refuse_unless_valid(document, schema)
    assert time.perf_counter() - began < SOON


def test_many_large_patterns() -> None:
    """As many costly patterns as a schema can hold are compiled or refused soon."""
    schema = text_of({"allOf": [{"pattern": f"\\w{{{200 + n}}}"} for n in range(300)]})
    began = time.perf_counter()
    refuse_bad_schema(schema)
    assert time.perf_counter() - began < SOON


@pytest.mark.parametrize("item", ["%d", '{"a":%d}', "[%d]", '"%d"'])
def test_unique_items(item: str) -> None:
    """Sixty thousand items are compared in a time that is not their square."""
    document = "[" + ",".join(item % number for number in range(60_000)) + "]"
    began = time.perf_counter()
    refuse_unless_valid(document, text_of({"uniqueItems": True}))
    assert time.perf_counter() - began < SOON


INVALID = [
    ('"hush"', {"type": "number"}, "input"),
    ('{"go":"hush"}', {"properties": {"go": {"type": "boolean"}}}, "input.go"),
    ('[1,["hush"]]', {"items": {"items": {"type": "number"}}}, "input[1][0]"),
    ('{"a b":["hush"]}', {"additionalProperties": {"items": {"maxLength": 3}}}, "input.a b[0]"),
    ('"hush"', {"enum": ["a"]}, "input"),
    ('"hush"', {"const": 1}, "input"),
    ('"hush"', {"pattern": "^a$"}, "input"),
    ('"hush"', False, "input"),
    ('"hush"', {"anyOf": [{"type": "null"}, {"maxLength": 1}]}, "input"),
    ('["hush","hush"]', {"uniqueItems": True}, "input"),
    ("{}", {"required": ["go"]}, "input"),
]  # fmt: skip


@pytest.mark.parametrize(("document", "schema", "path"), INVALID)
def test_what_a_schema_refuses(document: str, schema: Any, path: str) -> None:
    """The refusal names the place of the first fault and repeats no value that was sent."""
    with pytest.raises(InvalidRequest) as refusal:
        refuse_unless_valid(document, text_of(schema))
    assert refusal.value.detail.startswith(path + ": ")
    assert "hush" not in refusal.value.detail


@pytest.mark.parametrize(
    ("document", "schema"),
    [
        ("null", {}), ("1", True), ('{"go":true}', {"required": ["go"]}), ("[]", {"items": False}),
        ("9007199254740991", {"type": "integer"}), ('"\\u0000é"', {"maxLength": 2}),
        ("1", {"format": "email"}),
    ],
)  # fmt: skip
def test_what_a_schema_allows(document: str, schema: Any) -> None:
    """Inputs that the schema allows pass without a word."""
    refuse_unless_valid(document, text_of(schema))
