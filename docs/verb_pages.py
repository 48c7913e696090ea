"""The pages on verbs and on what they answer, made from the surface, the models and the library."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from typing import Annotated, Any, get_args, get_origin

import msgspec

from docs.writing import NOTE, table
from tessera import models, names
from tessera.library import Tessera
from tessera.service.openapi.words import FIELDS, text_of
from tessera.surface import SURFACE, Row
from tessera.verbs.define_queue import DEFAULTS, define_queue

_FIRST = {"lease_seconds": None, "accounts": [], "role_ids": [], "capabilities": [], "active": True}
FORMS = {
    names.NAME_PATTERN: "name",
    names.NAME_OR_ALL_PATTERN: "name or `*`",
    names.TASK_ID_PATTERN: "task id",
    names.KEY_PATTERN: "record or object key",
    names.SHA256_PATTERN: "SHA-256 in hex",
    names.MEDIA_TYPE_PATTERN: "media type",
    names.IDEMPOTENCY_KEY_PATTERN: "idempotency key",
    names.TRACEPARENT_PATTERN: "W3C traceparent",
    names.WORKSPACE_PATTERN: "workspace id",
    names.AGENT_PATTERN: "agent id",
    names.ROLE_PATTERN: "role id",
    names.ENTITY_PATTERN: "topic or account",
}


def verbs() -> str:
    """The page of all verbs."""
    parts = [
        "# Verbs",
        NOTE,
        "What a store can be asked, the same in the library, on the command line and over",
        "HTTP ([the service](guides/service.md)). Sizes and ranges are refused with",
        "`invalid_request`, naming the field. Times are RFC 3339 in UTC, durations are seconds;",
        "names, task ids and keys have the forms of the [glossary](glossary.md#forms). A list's `after`",
        "is the `next` of the page before, or the last thing that it showed; empty, it is the start.",
        "",
        table(
            ("Verb", "Command", "HTTP", "Needs"),
            [
                (f"[`{row.name}`](#{row.name})", f"`tessera {row.command}`", _http(row), row.needs)
                for row in SURFACE.values()
            ],
        ),
        "",
    ]
    for row in SURFACE.values():
        parts += _verb(row)
    return "\n".join(parts)


def _http(row: Row) -> str:
    """Where a verb is met over HTTP, and its status where that is not 200."""
    if row.path is None:
        return ""
    return f"`{row.method} {row.path}`" + ("" if row.status == 200 else f" {row.status}")


def _verb(row: Row) -> list[str]:
    lines = [f"## {row.name}", "", " ".join((inspect.getdoc(row.verb) or "").split()), ""]
    if row.tool is not None:
        wide = " in the wide set" if row.tool == "wide" else ""
        lines += [f"A tool over MCP{wide}: [agents over MCP](guides/mcp.md).", ""]
    if fields := msgspec.structs.fields(row.ask):
        lines += [_fields(row, fields), ""]
    for field in fields:
        part = _listed_model(field.type)
        if part is not None and part not in {other.ask for other in SURFACE.values()}:
            lines += [f"Each {part.__name__}:", "", _fields(row, msgspec.structs.fields(part)), ""]
    if row.body == "bytes":
        lines += ["The bytes travel beside these fields.", ""]
    if row.header is not None:
        header = f"Over HTTP `{row.header}` is the header `{row.header.replace('_', '-').title()}`"
        lines += [f"{header}, and required." if row.needs_header else f"{header}.", ""]
    return [*lines, f"In Python: `{_in_python(row)}`", "", _answered(row), ""]


def _answered(row: Row) -> str:
    name = row.answer.__name__
    link = f"[`{name}`](answers.md#{name.lower()})"
    if row.answer_body == "bytes":
        return f"Answers the bytes, and of them {link}; over HTTP in headers."
    return f"Answers {link}" + (", or, when nothing is ready, nothing: over HTTP 204." if row.waits else ".")


def _in_python(row: Row) -> str:
    """How the library has it, where names and answers are Python's."""
    signature = inspect.signature(getattr(Tessera, row.name))
    given = signature.replace(parameters=[*signature.parameters.values()][1:])
    text = re.sub(r"(: |-> )'([^']*)'", r"\1\2", str(given))  # the types' own quotes, not those of defaults
    text = text.replace("models.", "").replace(" | UnsetType", "")
    return f"store.{row.name}{text}"


def answers() -> str:
    """The page of what verbs answer, each model once, with the models that it holds."""
    wanted = list(dict.fromkeys(row.answer for row in SURFACE.values()))
    models_of = {model.__name__: model for model in wanted}
    for model in wanted:  # which grows meanwhile
        for field in msgspec.structs.fields(model):
            for part in _models_in(field.type):
                if models_of.setdefault(part.__name__, part) is part and part not in wanted:
                    wanted.append(part)
    lines = [
        "# Answers",
        NOTE,
        "What [verbs](verbs.md) answer: the same fields in JSON and as attributes in Python, where `None` is",
        "null, `True` is true, and a document is its value. A newer service may add fields.",
        "",
    ]
    known = re.compile(rf"\b({'|'.join(models_of)})\b")
    for name in sorted(models_of):
        lines += [f"## {name}", "", _doc(models_of[name]), ""]
        rows = [
            (f"`{field.name}`", known.sub(_link, _type(field.type)), _says(models_of[name], field))
            for field in msgspec.structs.fields(models_of[name])
        ]
        lines += [table(("Field", "Type", "Says"), rows), ""] if rows else []
    return "\n".join(lines)


def _link(name: re.Match[str]) -> str:
    return f"[{name[1]}](#{name[1].lower()})"


def _models_in(kind: Any) -> Iterator[type[models.Model]]:
    """The models that a field's type names."""
    if isinstance(kind, type) and get_origin(kind) is None and issubclass(kind, models.Model):
        yield kind
    for part in get_args(kind):
        yield from _models_in(part)


def _says(model: type[models.Model], field: msgspec.structs.FieldInfo) -> str:
    text = text_of(model, field.name)
    return f"{text} Left out where it was not asked for.".strip() if field.default is msgspec.UNSET else text


def _doc(thing: object) -> str:
    return " ".join((inspect.getdoc(thing) or "").split())


def _fields(row: Row, fields: tuple[msgspec.structs.FieldInfo, ...]) -> str:
    rows = [(f"`{field.name}`", _asked(row, field), _default(row, field)) for field in fields]
    return table(("Field", "Type", "Default"), rows)


def _asked(row: Row, field: msgspec.structs.FieldInfo) -> str:
    """A field's type; some documents must be objects, though a model takes them as they are."""
    if field.type is models.Raw and field.name in FIELDS and FIELDS[field.name].is_object:
        return "JSON object" if field.required else "JSON object or null"
    kind = _type(field.type)
    return kind.removesuffix(" or null") if _needed(row, field) else kind


def _needed(row: Row, field: msgspec.structs.FieldInfo) -> bool:
    return field.required or (row.needs_header and field.name == row.header)


def _default(row: Row, field: msgspec.structs.FieldInfo) -> str:
    if _needed(row, field):
        return "required"
    value = field.default if field.default is not msgspec.NODEFAULT else field.default_factory()  # type: Any
    if value is msgspec.UNSET:
        first = getattr(DEFAULTS, field.name) if row.verb is define_queue else _FIRST[field.name]
        return f"`{msgspec.json.encode(first).decode()}` when it is new, else unchanged"
    return f"`{msgspec.json.encode(value).decode()}`"


def _type(kind: Any) -> str:
    """A field's type in words, from its JSON Schema."""
    if kind is models.Raw:
        return "any JSON"
    if (model := _listed_model(kind)) is not None:
        return f"list of {model.__name__}{_bounds_of(kind)}"
    if (model := _model_or_problem(kind)) is not None:
        return f"list, each {model.__name__} or a problem"
    (schema,), parts = msgspec.json.schema_components([kind])
    return _words(schema, parts)


def _listed_model(kind: Any) -> type[models.Model] | None:
    """The model of a list of models."""
    kind = get_args(kind)[0] if get_origin(kind) is Annotated else kind
    part = get_args(kind)[0] if get_origin(kind) is list else None
    return part if isinstance(part, type) and issubclass(part, models.Model) else None


def _model_or_problem(kind: Any) -> type[models.Model] | None:
    """The model of a list that may hold a refusal in its place, of which msgspec cannot tell."""
    options = get_args(get_args(kind)[0]) if get_origin(kind) is list else ()
    return options[0] if any(get_origin(option) is dict for option in options) else None


def _bounds_of(kind: Any) -> str:
    meta = next(iter(get_args(kind)[1:]), None)
    return "" if meta is None else f" ({meta.min_length or 0} to {meta.max_length:,})"


def _words(schema: dict[str, Any], parts: dict[str, Any]) -> str:
    if "$ref" in schema:
        return schema["$ref"].rsplit("/", 1)[-1]
    if "anyOf" in schema:
        return " or ".join(_words(option, parts) for option in schema["anyOf"])
    if "enum" in schema:
        return " · ".join(f"`{value}`" for value in schema["enum"])
    if schema.get("additionalProperties"):
        return f"{_words(schema['additionalProperties'], parts)} for each name"
    if "contentEncoding" in schema:
        return "bytes"
    if schema.get("type") == "array":
        return f"list of {_words(schema['items'], parts)}{_bounds(schema, 'minItems', 'maxItems')}"
    bounds = _bounds(schema, "minimum", "maximum") or _bounds(schema, "minLength", "maxLength")
    if "pattern" in schema:
        return FORMS[schema["pattern"]]
    return f"{schema.get('type', 'any JSON')}{bounds}"


def _bounds(schema: dict[str, Any], low: str, high: str) -> str:
    if low not in schema and high not in schema:
        return ""
    return f" ({schema.get(low, 0)} to {schema[high]:,})" if high in schema else f" (from {schema[low]})"
