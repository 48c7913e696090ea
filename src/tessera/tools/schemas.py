"""JSON Schemas of models, as small as they can be: a model pays for every byte of them.

Arguments that may be left out are not offered as null, though null is taken; answers show null where it may
come. No schema allows a field that its model does not have.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from msgspec import NODEFAULT, inspect

from tessera.models import Model

Schema = dict[str, Any]

_LOOK_AHEAD: Final = r"(?!\n)"  # Python's `$` needs it; not every validator of schemas has it


def input_schema(model: type[Model], texts: Mapping[str, str], required: frozenset[str]) -> Schema:
    """What a tool takes. `texts` describe fields by their name; `required` are those that the tool asks for
    although the model does not.
    """
    return _Writer(texts, required, asked=True).object(model)


def output_schema(model: type[Model]) -> Schema:
    """What a tool gives."""
    return _Writer({}, frozenset(), asked=False).object(model)


class _Writer:
    """Writes one schema."""

    def __init__(self, texts: Mapping[str, str], required: frozenset[str], asked: bool) -> None:
        self._texts = texts
        self._required = required
        self._asked = asked

    def object(self, model: type[Any], where: str = "") -> Schema:
        """The schema of a struct, whole: nothing in it points elsewhere. `where` begins its texts' names."""
        info = inspect.type_info(model)
        assert isinstance(info, inspect.StructType)
        properties = {}
        for field in info.fields:
            path = where + field.encode_name
            properties[field.encode_name] = schema = self._of(field.type, f"{path}.")
            if text := self._texts.get(path):
                schema["description"] = text
            if self._asked and isinstance(field.default, str | int | float) and field.default:
                schema["default"] = field.default  # that nothing, null and 0 mean nothing is plain
        written = {"type": "object", "properties": properties, "additionalProperties": False}
        required = [field.encode_name for field in info.fields if self._is_required(field)]
        return {**written, "required": required} if required else written

    def _is_required(self, field: inspect.Field) -> bool:
        if self._asked:
            return field.required or field.encode_name in self._required
        hidden = field.default is NODEFAULT and field.default_factory is NODEFAULT and not field.required
        return not hidden  # a default that msgspec does not tell is UNSET; an answer shows every other field

    def _of(self, kind: inspect.Type, where: str) -> Schema:
        match kind:
            case inspect.UnionType():
                return self._union(kind, where)
            case inspect.StructType():
                return self.object(kind.cls, where)
            case inspect.ListType():
                return {"type": "array", "items": self._of(kind.item_type, where), **bounds(kind)}
            case inspect.LiteralType():
                return {"enum": list(kind.values)}
            case inspect.StrType():
                return {"type": "string", **bounds(kind)}
            case inspect.BoolType():
                return {"type": "boolean"}
            case inspect.IntType() | inspect.FloatType():
                name = "integer" if isinstance(kind, inspect.IntType) else "number"
                return {"type": name, **bounds(kind)}
            case inspect.RawType() | inspect.AnyType():
                return {}
        raise TypeError(f"no schema for {kind}")

    def _union(self, kind: inspect.UnionType, where: str) -> Schema:
        kinds = [one for one in kind.types if not isinstance(one, inspect.NoneType)]
        (only,) = kinds
        schema = self._of(only, where)
        if self._asked or not any(isinstance(one, inspect.NoneType) for one in kind.types):
            return schema
        return {"anyOf": [schema, {"type": "null"}]}


def bounds(kind: inspect.ListType | inspect.StrType | inspect.IntType | inspect.FloatType) -> Schema:
    """What a list, a string or a number of a model is held to, as JSON Schema says it."""
    match kind:
        case inspect.ListType():
            return _given(minItems=kind.min_length or None, maxItems=kind.max_length)
        case inspect.StrType():
            pattern = kind.pattern and kind.pattern.removesuffix(_LOOK_AHEAD)
            return _given(minLength=kind.min_length, maxLength=kind.max_length, pattern=pattern)
    return _given(minimum=kind.ge, maximum=kind.le, exclusiveMinimum=kind.gt)


def _given(**limits: Any) -> Schema:
    return {name: limit for name, limit in limits.items() if limit is not None}
