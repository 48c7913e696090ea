"""Models as JSON Schemas that point at each other, each written once under its model's name."""

from __future__ import annotations

import inspect as python
import re
from types import UnionType
from typing import Any, Final, get_args, get_origin

from msgspec import UNSET, inspect, structs

from tessera.service.openapi.words import FIELDS, text_of
from tessera.tools.schemas import bounds

Schema = dict[str, Any]

PROBLEM: Final = "Problem"
_CHAPTER: Final = re.compile(r" \((Specification|Contract) §[^)]*\)")
_NULL: Final[Schema] = {"type": "null"}


def pointer(name: str) -> Schema:
    """A reference to a schema of the description."""
    return {"$ref": f"#/components/schemas/{name}"}


class Schemas:
    """Every schema that the description has come across, by its name."""

    def __init__(self) -> None:
        self.written: dict[str, Schema] = {}
        self._names: dict[tuple[type[Any], bool], str] = {}

    def asked(self, model: type[Any], without: frozenset[str] = frozenset()) -> Schema:
        """What a request holds, but for the fields that travel elsewhere. A field with a default may be left
        out.
        """
        if not without & set(model.__struct_fields__):
            return self._named(model, asked=True)
        name = f"{model.__name__}Body"
        self.written[name] = self._object(model, asked=True, without=without)
        return pointer(name)

    def answered(self, models: list[type[Any]]) -> Schema:
        """What an answer holds: every field, null where there is nothing. Of several models it is one, as the
        tag says that they share.
        """
        schemas = [self._named(model, asked=False) for model in models]
        if len(schemas) == 1:
            return schemas[0]
        tag = models[0].__struct_config__.tag_field
        named = {
            model.__struct_config__.tag: schema["$ref"] for model, schema in zip(models, schemas, strict=True)
        }
        return {"anyOf": schemas, "discriminator": {"propertyName": tag, "mapping": named}}

    def _named(self, model: type[Any], asked: bool) -> Schema:
        if (model, asked) not in self._names:
            name = model.__name__ if (model, not asked) not in self._names else f"{model.__name__}Request"
            self._names[model, asked] = name
            self.written[name] = {}  # its place in the order
            self.written[name] = self._object(model, asked)
        return pointer(self._names[model, asked])

    def _object(self, model: type[Any], asked: bool, without: frozenset[str] = frozenset()) -> Schema:
        properties, required = {}, []
        config = model.__struct_config__
        if config.tag is not None:  # which of several answers it is
            properties[config.tag_field] = {"type": "string", "const": config.tag}
            required.append(config.tag_field)
        for field in structs.fields(model):
            if field.encode_name in without:
                continue
            properties[field.encode_name] = self.field(model, field, asked)
            if field.required or (not asked and field.default is not UNSET):
                required.append(field.encode_name)
        return {
            "type": "object", "description": prose(model), "properties": properties,
            **({"required": required} if required else {}),
            **({"additionalProperties": False} if config.forbid_unknown_fields else {}),
        }  # fmt: skip

    def field(self, model: type[Any], field: structs.FieldInfo, asked: bool) -> Schema:
        """The schema of a model's field, with what it is for and what stands there when it is left out."""
        schema = self._of_annotation(field.type, asked)
        word = FIELDS.get(field.encode_name)
        if word is not None and word.is_object and not schema:
            may_lack = asked and not field.required
            schema = {"type": ["object", "null"] if may_lack else "object", "additionalProperties": True}
        if text := text_of(model, field.encode_name):
            schema = {**schema, "description": text}
        if asked and isinstance(field.default, str | int | float):
            schema = {**schema, "default": field.default}
        return schema

    def _of_annotation(self, annotation: Any, asked: bool) -> Schema:
        (item,) = get_args(annotation) if get_origin(annotation) is list else (None,)
        if isinstance(item, UnionType) and any(get_origin(one) is dict for one in get_args(item)):
            answer, _ = get_args(item)  # what msgspec cannot tell of: an answer, or why there is none
            return {"type": "array", "items": {"anyOf": [self._named(answer, asked), pointer(PROBLEM)]}}
        return self._of(inspect.type_info(annotation), asked)

    def _of(self, kind: inspect.Type, asked: bool) -> Schema:
        match kind:
            case inspect.UnionType():
                return self._union(kind, asked)
            case inspect.StructType():
                return self._named(kind.cls, asked)
            case inspect.ListType():
                return {"type": "array", "items": self._of(kind.item_type, asked), **bounds(kind)}
            case inspect.DictType():
                values = self._of(kind.value_type, asked)
                return {"type": "object", **({"additionalProperties": values} if values else {})}
            case inspect.LiteralType():
                return {"type": "string", "enum": list(kind.values)}
            case inspect.StrType():
                return {"type": "string", **bounds(kind)}
            case inspect.BytesType():
                return {"type": "string", "contentEncoding": "base64"}
            case inspect.BoolType():
                return {"type": "boolean"}
            case inspect.IntType() | inspect.FloatType():
                name = "integer" if isinstance(kind, inspect.IntType) else "number"
                return {"type": name, **bounds(kind)}
            case inspect.RawType() | inspect.AnyType():
                return {}
        raise TypeError(f"no schema for {kind}")

    def _union(self, kind: inspect.UnionType, asked: bool) -> Schema:
        kinds = [one for one in kind.types if not isinstance(one, inspect.NoneType)]
        schemas = [self._of(one, asked) for one in kinds]
        schema = schemas[0] if len(schemas) == 1 else {"anyOf": schemas}
        return schema if len(kinds) == len(kind.types) else nullable(schema)


def prose(thing: Any) -> str:
    """What a class or a function says of itself, on one line, without the chapters that it rests on."""
    return _CHAPTER.sub("", " ".join((python.getdoc(thing) or "").split()))


def nullable(schema: Schema) -> Schema:
    """The same, or null."""
    if isinstance(schema.get("type"), str) and "enum" not in schema:
        return {**schema, "type": [schema["type"], "null"]}
    return {"anyOf": [schema, _NULL]}
