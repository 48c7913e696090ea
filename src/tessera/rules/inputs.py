"""What a park may say about the input it waits for: a JSON Schema, checked here. Pure.

Schemas come from workers, so none may cost more than its size times the input's: patterns run on an engine
without backtracking, and what multiplies with every level, references and `unevaluated…`, is refused.
"""

from __future__ import annotations

from typing import Any

import msgspec

from tessera.errors import InvalidRequest
from tessera.limits import DETAIL_CHARS_MAX

_REFERENCES = frozenset({"$ref", "$dynamicRef", "$recursiveRef"})
_UNEVALUATED = frozenset({"unevaluatedItems", "unevaluatedProperties"})
_WRONG: dict[str | int, str] = {  # where the checker's own words help nobody
    "type": "not a type of JSON Schema: string, number, integer, boolean, array, object, null",
    "pattern": "not a pattern, or one that looks around or refers back",
}


def refuse_bad_schema(schema: str) -> None:
    """Refuse a canonical text that is no JSON Schema, or one whose cost its size does not bound."""
    names = _names(msgspec.json.decode(schema))
    if not _REFERENCES.isdisjoint(names):
        raise InvalidRequest("input_schema: references are not allowed; write the schema out in place")
    if not _UNEVALUATED.isdisjoint(names):
        raise InvalidRequest("input_schema: unevaluated… is not allowed; use additionalProperties or items")
    _validator(schema)


def refuse_unless_valid(document: str, schema: str) -> None:
    """Refuse an input that its park's schema does not allow, naming the path of the first fault."""
    try:
        error = next(_validator(schema).iter_errors(msgspec.json.decode(document)), None)
    except ValueError as cause:
        raise InvalidRequest("input: nested too deeply to be checked") from cause
    if error is not None:
        raise InvalidRequest(f"input{_path(error.instance_path)}: {error.message}"[:DETAIL_CHARS_MAX])


def _path(steps: list[str | int]) -> str:
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in steps)


def _names(schema: object) -> set[str]:
    """Every name in a schema, found without recursion: its depth costs no stack."""
    names: set[str] = set()
    waiting = [schema]
    while waiting:
        part = waiting.pop()
        if isinstance(part, dict):
            names.update(part)
            waiting.extend(part.values())
        elif isinstance(part, list):
            waiting.extend(part)
    return names


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
        steps = list(getattr(error, "instance_path", ()))
        why = _WRONG.get(steps[-1] if steps else "", str(error).splitlines()[0])
        raise InvalidRequest(f"input_schema{_path(steps)}: {why}"[:DETAIL_CHARS_MAX]) from error
