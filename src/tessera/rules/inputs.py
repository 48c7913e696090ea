"""What a park may say about the input it waits for: a JSON Schema, checked here. Pure.

Schemas come from workers, so none may cost more than its size: patterns run on an engine without
backtracking, and references, which can multiply, are refused.
"""

from __future__ import annotations

from typing import Any

import msgspec

from tessera.errors import InvalidRequest
from tessera.limits import DETAIL_CHARS_MAX

_REFERENCES = frozenset({"$ref", "$dynamicRef", "$recursiveRef"})


def refuse_bad_schema(schema: str) -> None:
    """Refuse a canonical text that is no JSON Schema, or that refers to another one."""
    if _refers(msgspec.json.decode(schema)):
        raise InvalidRequest("input_schema: references are not allowed; write the schema out in place")
    _validator(schema)


def refuse_unless_valid(document: str, schema: str) -> None:
    """Refuse an input that its park's schema does not allow, naming the path of the first fault."""
    error = next(_validator(schema).iter_errors(msgspec.json.decode(document)), None)
    if error is not None:
        path = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in error.instance_path)
        raise InvalidRequest(f"input{path}: {error.message}"[:DETAIL_CHARS_MAX])


def _refers(schema: object) -> bool:
    if isinstance(schema, dict):
        return not _REFERENCES.isdisjoint(schema) or any(_refers(part) for part in schema.values())
    return isinstance(schema, list) and any(_refers(part) for part in schema)


def _validator(schema: str) -> Any:
    # Imported here: only a park with a schema needs it, and loading it takes as long as a whole command.
    import jsonschema_rs

    try:
        return jsonschema_rs.validator_for(
            msgspec.json.decode(schema),
            offline=True,
            pattern_options=jsonschema_rs.RegexOptions(),
            mask="the value",
        )
    except ValueError as error:
        raise InvalidRequest(f"input_schema: {str(error).splitlines()[0]}"[:DETAIL_CHARS_MAX]) from error
