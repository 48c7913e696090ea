"""A decoder's complaint as people have it: what was expected, and where. Of what was sent it tells no more
than the name of a field that there is not.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from typing import Any, Literal, get_args, get_origin

from msgspec import Struct, structs

from tessera.limits import FIELD_CHARS_SHOWN_MAX
from tessera.names import FORMS

_AT = " - at `$"
_ESCAPE = re.compile(  # a pair, half of one, or any other
    rb"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F]|(u[dD][89a-fA-F])|.)", re.DOTALL
)
_FORMS = {f"`str` matching regex {pattern!r}": form for pattern, form in FORMS.items()}
_MAY_BE_LONE = ("truncated", "surrogate", "hex escape")  # what msgspec says of one, by where it stands
_SEARCHED_BYTES = 512 << 10  # of a document that holds one: some 40 ms, where all of it are escapes
_PAIR_BYTES = 12
_NUMBER = re.compile(r"Expected `(int|float)[^`]*`, got `str`")
_NUMBERS = {"int": "Not a whole number", "float": "Not a number"}
_BOUND = re.compile(r"Expected `(\w+)`(?: of length)? ([<>])= ([\d.-]+)")
_COUNTED = {"str": "character", "array": "item", "object": "name"}
_UNKNOWN = re.compile(
    r"Object contains unknown field `(.*?)`(?: - at `\$\.((?:[a-z0-9_.]|\[(?:\d{1,9}|\.{3})\])++)`)?",
    re.DOTALL,
)
_MISSING = re.compile(r"Object missing required field `(\w+)`")
_ALIKE_MIN = 0.85  # of a name that is taken for another, by Jaro and Winkler: how it begins counts for more
_KIND = re.compile(r"Expected `([\w |]+)`, got `(\w+)`")
_KINDS = {
    "int": "an integer", "float": "a number", "str": "a string", "bool": "true or false",
    "array": "a list", "object": "an object",
}  # fmt: skip


def expected(
    error: Exception, model: type[Struct], *, of_text: bool = False, elsewhere: Collection[str] = ()
) -> tuple[str, str]:  # fmt: skip
    """What a msgspec error says was expected, and the path of the field, empty if it is none of a field's.
    With `of_text` the fields came as strings, so that one was a string is no news. Fields that belong
    `elsewhere`, into a path or a header, are not told as some that are taken here.
    """
    if unknown := _UNKNOWN.fullmatch(str(error)):
        return _no_such_field(model, unknown[1], unknown[2] or "", elsewhere)
    detail, at, path = str(error).rpartition(_AT)
    path = path.removesuffix("`").removeprefix(".") if at else ""
    if not path:
        detail = str(error)
    if detail == "Input data was truncated":
        detail = "The JSON ends too early"
    elif detail.startswith("Invalid enum value"):
        options = _options(model, path)
        detail = f"Not one of {', '.join(options)}" if options else "Not one of the allowed values"
    elif of_text and (number := _NUMBER.fullmatch(detail)):
        detail = _NUMBERS[number[1]]
    elif bound := _BOUND.fullmatch(detail):
        detail = _bounded(*bound.groups())
    elif missing := _MISSING.fullmatch(detail):
        detail = f"Field '{missing[1]}' is missing {_taken(model, path, elsewhere)}"
    elif kinds := _KIND.fullmatch(detail):
        detail = f"Expected {_kinds(kinds[1])}, got {_kinds(kinds[2])}"
    for pattern, form in _FORMS.items():
        detail = detail.replace(pattern, form)
    return detail, path


def lone_surrogate(error: Exception, document: bytes) -> str | None:
    """What a msgspec error of malformed JSON says in other words, if half of a surrogate pair is the reason;
    with its place, the first byte being 0.
    """
    if not any(word in str(error) for word in _MAY_BE_LONE):
        return None
    searched = document[:_SEARCHED_BYTES]
    at = next((escape.start() for escape in _ESCAPE.finditer(searched) if escape[1]), None)
    is_cut = at is not None and len(searched) < len(document) and at > len(searched) - _PAIR_BYTES
    return None if at is None or is_cut else f"a lone surrogate is no Unicode text (byte {at})"


def _bounded(kind: str, side: str, number: str) -> str:
    """A bound of a number, or of a length, whatever a program's language calls what it bounds."""
    bound = f"{'At most' if side == '<' else 'At least'} {float(number):,.16g}"
    return f"{bound} {_COUNTED[kind]}{'' if number == '1' else 's'}" if kind in _COUNTED else bound


def _kinds(kinds: str) -> str:
    """Types as JSON has them."""
    return " or ".join(_KINDS.get(kind, kind) for kind in kinds.split(" | "))


def _no_such_field(
    model: type[Struct], name: str, path: str, elsewhere: Collection[str]
) -> tuple[str, str]:  # fmt: skip
    """That there is no field of this name at a path, with the one that was likely meant or all there are; and
    the path. One that leads nowhere is an odd name's end.
    """
    if not _structs_at(model, path):
        path = name = ""
    is_shown = 0 < len(name) <= FIELD_CHARS_SHOWN_MAX and name.isprintable()
    detail = f"Unknown field {name!r}" if is_shown else "Unknown field, its name not shown"
    names = [field.encode_name for field in _fields(_structs_at(model, path))]
    near = _near(name, names) if is_shown else None
    return f"{detail}: did you mean '{near}'?" if near else f"{detail} {_taken(model, path, elsewhere)}", path


def _near(name: str, names: list[str]) -> str | None:
    """The one of some names that was likely meant by another, whatever its case and its joints."""
    from rapidfuzz import process  # here, for most programs are never told
    from rapidfuzz.distance import JaroWinkler

    found = process.extractOne(
        name, sorted(names), scorer=JaroWinkler.similarity, score_cutoff=_ALIKE_MIN,
        processor=lambda text: text.lower().replace("_", "").replace("-", ""),
    )  # fmt: skip
    return found and found[0]


def _taken(model: type[Struct], path: str, elsewhere: Collection[str]) -> str:
    """The fields of what a path leads to, in brackets: those first that must be given."""
    fields = [one for one in _fields(_structs_at(model, path)) if path or one.encode_name not in elsewhere]
    required = ", ".join(sorted(field.encode_name for field in fields if field.required))
    optional = ", ".join(sorted(field.encode_name for field in fields if not field.required))
    parts = [f"required: {required}"] * bool(required) + [f"optional: {optional}"] * bool(optional)
    return f"({'; '.join(parts) or 'none is taken'})"


def _options(model: type[Struct], path: str) -> list[str]:
    """The values that the field may have which a path leads to, such as `tasks[0].effect_class`."""
    kinds = _parts(_kinds_at(model, path))
    return [str(one) for kind in kinds if get_origin(kind) is Literal for one in get_args(kind)]


def _structs_at(model: type[Struct], path: str) -> list[type[Struct]]:
    """The types of the objects that a path leads to: more than one if they have a choice."""
    return _structs(_kinds_at(model, path))


def _kinds_at(model: type[Struct], path: str) -> list[Any]:
    """The types of what a path leads to; of the whole if it is empty."""
    kinds: list[Any] = [model]
    for name in path.split(".") if path else ():
        kinds = [one.type for one in _fields(_structs(kinds)) if one.encode_name == name.partition("[")[0]]
    return kinds


def _structs(kinds: Iterable[Any]) -> list[type[Struct]]:
    return [kind for kind in _parts(kinds) if isinstance(kind, type) and issubclass(kind, Struct)]


def _fields(holders: Iterable[type[Struct]]) -> Iterator[structs.FieldInfo]:
    for holder in holders:
        yield from structs.fields(holder)


def _parts(kinds: Iterable[Any]) -> Iterator[Any]:
    """Types, and the types that they are made of."""
    for kind in kinds:
        yield kind
        if get_origin(kind) is not Literal:
            yield from _parts(get_args(kind))
