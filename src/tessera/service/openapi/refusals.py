"""Which refusals a row of the surface can answer over HTTP: those of its verb, and those of the door.

A verb's are read off its code: the classes of errors that it names, and those of the functions of the house
that it calls. So nobody keeps a list, and a verb that learns to refuse something new is described anew.
"""

from __future__ import annotations

import dis
from collections.abc import Iterator
from functools import cache
from types import CodeType, FunctionType, ModuleType
from typing import Any, Final

from tessera.errors import (
    Forbidden,
    HeadersTooLarge,
    InvalidRequest,
    RateLimited,
    TargetTooLong,
    TesseraError,
    Unauthorized,
    Unavailable,
    UnsupportedMedia,
)
from tessera.models import Submitted
from tessera.service.own import OPEN_PATHS
from tessera.surface import Row
from tessera.verbs.guarded import Guarded

Kind = type[TesseraError]
_HOUSE: Final = "tessera."
# Of whatever is asked: what is no request, and what is too long to be looked at.
OF_EVERY_PATH: Final[frozenset[Kind]] = frozenset(
    {InvalidRequest, TargetTooLong, HeadersTooLarge, Unauthorized, TesseraError}
)


def refusals(row: Row) -> frozenset[Kind]:
    """What a row can be refused with over HTTP. `unauthorized` is every row's, for a key in a query string is
    refused everywhere.
    """
    kinds = {*OF_EVERY_PATH, Unavailable}
    if row.answer is not Submitted:  # whose answer holds its refusals, one for each submit
        kinds |= of_verb(row.verb)
    if row.path not in OPEN_PATHS:
        kinds.add(Forbidden)  # beside the edge
    if row.needs != "nothing":
        kinds.add(RateLimited)  # after many wrong keys
    if not row.reads:
        kinds.add(UnsupportedMedia)
    return frozenset(kinds)


@cache
def of_verb(verb: Any) -> frozenset[Kind]:
    """The classes of errors that a verb's code names, and that of every function that it leads to."""
    found: set[Kind] = set()
    seen: set[Any] = set()
    ahead = [verb]
    while ahead:
        one = ahead.pop()
        if isinstance(one, Guarded):
            one = one.verb
        if isinstance(one, type) and issubclass(one, TesseraError):
            found.add(one)
        elif isinstance(one, FunctionType | type) and one.__module__.startswith(_HOUSE) and one not in seen:
            seen.add(one)
            ahead += _named_by(one) if isinstance(one, FunctionType) else _methods(one)
    return frozenset(found)


def _methods(kind: type) -> Iterator[FunctionType]:
    return (value for value in vars(kind).values() if isinstance(value, FunctionType))


def _named_by(function: FunctionType) -> Iterator[Any]:
    """What a function's names stand for. Of a module's it is what the function's attributes pick from it."""
    named, picked = _names(function.__code__)
    for name in named:
        value = function.__globals__.get(name)
        if isinstance(value, ModuleType) and value.__name__.startswith(_HOUSE):
            yield from (getattr(value, one) for one in picked if hasattr(value, one))
        else:
            yield value


def _names(code: CodeType) -> tuple[set[str], set[str]]:
    """Every global that some code names, and every attribute; those of functions inside it too."""
    named, picked = set(), set(code.co_names)
    for step in dis.get_instructions(code):
        if step.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
            named.add(step.argval)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            more = _names(constant)
            named |= more[0]
            picked |= more[1]
    return named, picked
