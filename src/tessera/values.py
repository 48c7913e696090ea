"""From the wire's documents to Python values: what the library and the clients show of an answer."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any, get_args, get_type_hints

import msgspec
from msgspec import Raw
from msgspec.structs import replace

from tessera import models


def with_values(answer: Any) -> Any:
    """The answer with its raw documents decoded."""
    if isinstance(answer, Raw):
        return msgspec.json.decode(answer)
    if isinstance(answer, list):
        return [with_values(item) for item in answer]
    if isinstance(answer, models.Model) and (names := _with_documents(type(answer))):
        held = {name: with_values(value) for name in names if (value := getattr(answer, name))}
        return replace(answer, **held) if held else answer
    return answer


@cache
def _with_documents(model: type) -> tuple[str, ...]:
    """The fields of a model that are documents, or hold models that have some."""
    hints = get_type_hints(model)
    return tuple(name for name, hint in hints.items() if any(map(_is_document, _parts(hint))))


def _is_document(part: Any) -> bool:
    return part is Raw or (
        isinstance(part, type) and issubclass(part, models.Model) and bool(_with_documents(part))
    )


def _parts(hint: Any) -> Iterator[Any]:
    """A type and the types that it is made of."""
    yield hint
    for part in get_args(hint):
        yield from _parts(part)
