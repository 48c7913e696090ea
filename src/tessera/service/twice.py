"""Whether a body's own level gives a name twice."""

from __future__ import annotations

from contextlib import suppress
from functools import cache

import msgspec
from msgspec import Raw

from tessera.errors import InvalidRequest
from tessera.models import Model


@cache
def _names(model: type[Model]) -> tuple[bytes, ...]:
    return tuple(f'"{name}"'.encode() for name in model.__struct_fields__)


def refuse_names_given_twice(document: bytes, model: type[Model]) -> None:
    """Two parsers may differ in which of two equal names counts: at a request's own level none does. Only a
    body that may hold such names, as text or behind an escape, is read once more to see, and no further than
    the first one that is not the model's, which the model's decoder refuses.
    """
    for name in _names(model):
        if document.count(name) > 1:
            break
    else:
        if b"\\u00" not in document:
            return
    seen: set[str] = set()

    def note(_: type, name: str) -> _Name:
        if name in seen:
            raise InvalidRequest("the body gives a name twice")
        if name not in model.__struct_fields__:
            raise _Foreign
        seen.add(name)
        return _Name()

    with suppress(msgspec.MsgspecError, UnicodeDecodeError, RecursionError, _Foreign):  # said elsewhere
        msgspec.json.decode(document, type=dict[_Name, Raw], dec_hook=note)


class _Name:
    """An object's name as it was given; no two are equal, so each is told of."""


class _Foreign(Exception):
    """A name is not the model's."""
