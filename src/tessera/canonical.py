"""Canonical JSON (RFC 8785), the library's arguments as JSON, and the receipt hash. (Specification §5.4.)

The parser and the printer are msgspec's. Only what they leave open is decided here: numbers print as
JavaScript prints them, keys sort by UTF-16 unit, and a number that JavaScript would round is refused. Nearly
every document takes the fast path: one decode, one encode. A walk in Python happens only where the text shows
that it might matter, and to name the path of what is refused.
"""

from __future__ import annotations

import codecs
import hashlib
import json
import re
from decimal import Decimal
from math import inf, isfinite
from typing import Any, Final

import msgspec
from msgspec import Raw

from tessera.errors import InvalidRequest
from tessera.limits import DETAIL_CHARS_MAX, INTEGER_MAX

LEVELS_MAX: Final = 500  # half of Python's own limit, so that no caller's stack changes the answer

_LONG = "an integer beyond 2^53 - 1: write it as a string"
_HUGE = "a number larger than a double can hold"
_ENDLESS = "NaN and infinities are no JSON numbers"
_LONE = "a lone surrogate is no Unicode text"
_DEEP = f"nested too deeply: more than {LEVELS_MAX} levels"

_PATH_BYTES_MAX: Final = 128 << 10  # of a document whose fault is looked for: in a longer one that takes long


def _refuse(value: object) -> object:
    """Stop the encoder at what has no text."""
    raise TypeError(value.reason if isinstance(value, _Unwritable) else f"JSON has no {type(value).__name__}")


_encode = msgspec.json.Encoder(order="deterministic", enc_hook=_refuse).encode
_encode_as_ordered = msgspec.json.Encoder().encode
_decode_as_python = msgspec.json.Decoder().decode
_dumps = json.JSONEncoder(ensure_ascii=False, allow_nan=False, sort_keys=True, separators=(",", ":")).encode

_KEPT = b',:[]{}"'  # in a string or around it they stay in the text, but where a name is given twice
_DIGITS_AS_ZERO = bytes(0x30 if 0x30 <= byte <= 0x39 else 0x20 for byte in range(256))
_SIXTEEN_DIGITS = b"0" * 16
_UNPRINTABLE = 10**4300  # Python refuses to print more digits
_SURROGATE = re.compile("[\ud800-\udfff]")
_LEADS_BEFORE_SURROGATES = (b"\xee", b"\xef")  # of U+E000 to U+FFFF in UTF-8
_LEADS_OF_PAIRS = (b"\xf0", b"\xf1", b"\xf2", b"\xf3", b"\xf4")  # of what UTF-16 writes as two units


class _Unwritable:
    """Stands in a decoded document for a number that has no canonical text; the encoder stops at it."""

    __slots__ = ("reason",)

    def __init__(self, reason: str) -> None:
        self.reason = reason


def canonical(raw: Raw | bytes, where: str, bytes_max: int) -> str:
    """The RFC 8785 text of a JSON document. Of a name given twice in one object the last counts.

    Refuses, as `InvalidRequest` naming the path below `where`, what is no JSON, what JavaScript would round,
    lone surrogates, more than `LEVELS_MAX` levels, and more than `bytes_max` bytes of canonical text.
    """
    document = bytes(raw)
    too_long = f"{where}: more than {bytes_max} bytes of canonical JSON"
    if len(document) > bytes_max and len(document) - len(document.translate(None, _KEPT)) > bytes_max:
        raise InvalidRequest(too_long)  # before millions of values are made of it
    try:
        value = _decode(document)
        text = _encode(value)
    except (msgspec.MsgspecError, TypeError, RecursionError) as error:
        raise _refusal(document, where, _reason(error)) from error
    if len(text) > bytes_max:
        raise InvalidRequest(too_long)
    if _may_be_long_or_deep(document):
        _refuse_long_and_deep(value, document, where)
    if not text.isascii() and _orders_may_differ(text):
        _sort_by_utf16(value)
        text = _encode_as_ordered(value)
    return text.decode()


def strict_json(value: object, where: str = "") -> bytes:
    """A value of the caller's as compact JSON in UTF-8.

    Takes None, booleans, numbers, strings, lists, tuples and dictionaries with string keys. Refuses the rest,
    NaN, infinities, lone surrogates and circles as `InvalidRequest` naming the path below `where`: nothing is
    coerced.
    """
    try:
        text = _encode(value)
        if _decode_as_python(text) != value:  # it holds a tuple, or what msgspec coerces and json refuses
            _dumps(value)
        return text
    except (msgspec.MsgspecError, TypeError, ValueError, RecursionError):
        pass  # the walk below says what is wrong
    try:
        fault = _first_fault(value)
        if fault is None:
            return _dumps(value).encode()
    except RecursionError:
        fault = ("nested too deeply, or inside itself", [])
    raise _at(where, fault)


def json_text(value: object) -> str:
    """A value of ours as JSON text with sorted keys, for a statement's parameter or an event's data."""
    return _encode(value).decode()


def receipt_hash(task_id: str, fencing_token: int, ok: bool, output: str, error: str | None) -> str:
    """SHA-256 in hex over the canonical document of one outcome; `output` is canonical text already."""
    document = {
        "task_id": task_id,
        "fencing_token": fencing_token,
        "ok": ok,
        "output": Raw(output.encode()),
        "error": error,
    }
    try:
        return hashlib.sha256(_encode(document)).hexdigest()
    except UnicodeEncodeError as cause:
        name = "error" if error is not None and _SURROGATE.search(error) else "task_id"
        raise InvalidRequest(f"{name}: {_LONE}") from cause


def _number(literal: str) -> object:
    """A literal with a fraction or exponent, as the value whose printing is JavaScript's."""
    value = float(literal)
    size = abs(value)
    if 1e-5 <= size < INTEGER_MAX and value % 1:
        return value  # msgspec prints these, and those below 1e-6, as JavaScript does
    if size == inf:
        return _Unwritable(_HUGE)
    if size >= 1e21:
        return Raw(repr(value).encode())
    if size > INTEGER_MAX:
        return _Unwritable(_LONG)
    if value.is_integer():
        return int(value)
    return Raw(format(Decimal(repr(value)), "f").encode()) if size >= 1e-6 else value


_decode = msgspec.json.Decoder(float_hook=_number).decode


def _orders_may_differ(text: bytes) -> bool:
    """Whether UTF-16 order may differ from UTF-8 order: only between U+E000…U+FFFF and what lies beyond."""
    return any(lead in text for lead in _LEADS_BEFORE_SURROGATES) and any(
        lead in text for lead in _LEADS_OF_PAIRS
    )


def _sort_by_utf16(value: object) -> None:
    """Puts the members of every object in UTF-16 order, in place and without recursion."""
    waiting = [value]
    while waiting:
        node = waiting.pop()
        if isinstance(node, dict):
            for key in sorted(node, key=lambda key: key.encode("utf-16-be")):
                node[key] = node.pop(key)
            waiting.extend(node.values())
        elif isinstance(node, list):
            waiting.extend(node)


def _may_be_long_or_deep(document: bytes) -> bool:
    """Whether the text could hold an integer beyond 2^53 - 1, or more than the allowed levels."""
    return _SIXTEEN_DIGITS in document.translate(_DIGITS_AS_ZERO) or (
        len(document) > 2 * LEVELS_MAX and document.count(b"[") + document.count(b"{") > LEVELS_MAX
    )


def _refuse_long_and_deep(value: object, document: bytes, where: str) -> None:
    """Goes through the decoded document level by level, so that its depth costs no stack."""
    level: list[Any] = [[value]]
    for _ in range(LEVELS_MAX + 1):
        below: list[Any] = []
        for node in level:
            for item in node.values() if type(node) is dict else node:
                kind = type(item)
                if kind is dict or kind is list:
                    below.append(item)
                elif kind is int and not -INTEGER_MAX <= item <= INTEGER_MAX:
                    raise _refusal(document, where, _LONG)
        if not below:
            return
        level = below
    raise InvalidRequest(f"{where}: {_DEEP}")


def _reason(error: Exception) -> str:
    """What an error of the parser or the printer says, in our words where it has none for people."""
    if isinstance(error, RecursionError):
        return _DEEP
    return _LONG if "Integer value out of range" in str(error) else str(error)


def _refusal(document: bytes, where: str, reason: str) -> InvalidRequest:
    """The refusal of a document, naming the path of its first fault where one can be found: the standard
    library's parser is lenient where msgspec's is not. Otherwise it gives `reason`.
    """
    if document.startswith(codecs.BOM_UTF8):
        return _at(where, ("starts with a byte order mark", []))
    if len(document) > _PATH_BYTES_MAX:
        return _at(where, (reason, []))
    try:
        tree = json.loads(
            document.decode("utf-8", "surrogatepass"),
            parse_int=_integer_fault,
            parse_float=_number_fault,
            parse_constant=_constant_fault,
        )
        fault = _first_fault(tree)
    except (ValueError, RecursionError):
        fault = None  # it cannot read it either
    return _at(where, fault or (reason, []))


def _integer_fault(literal: str) -> _Unwritable | None:
    return _Unwritable(_LONG) if len(literal) > 17 or abs(int(literal)) > INTEGER_MAX else None


def _number_fault(literal: str) -> _Unwritable | None:
    number = _number(literal)
    return number if isinstance(number, _Unwritable) else None


def _constant_fault(literal: str) -> _Unwritable:
    return _Unwritable(_ENDLESS)


_Fault = tuple[str, list[str]]  # the reason, and the steps of the path from the leaf upwards


def _first_fault(value: object) -> _Fault | None:
    """The first thing in a value that JSON has no word for."""
    if isinstance(value, dict):
        for key, item in value.items():
            if not isinstance(key, str):
                return f"a key is {type(key).__name__}, not a string", []
            reason = _leaf_fault(key)
            fault = (reason, []) if reason is not None else _first_fault(item)
            if fault is not None:
                fault[1].append(f".{key}" if key.isascii() and key.isidentifier() else f"[{json.dumps(key)}]")
                return fault
        return None
    if isinstance(value, (list, tuple)):
        for index, item in enumerate(value):
            fault = _first_fault(item)
            if fault is not None:
                fault[1].append(f"[{index}]")
                return fault
        return None
    reason = _leaf_fault(value)
    return None if reason is None else (reason, [])


def _leaf_fault(value: object) -> str | None:
    if value is None:
        return None
    if isinstance(value, str):
        return _LONE if _SURROGATE.search(value) else None
    if isinstance(value, float):
        return None if isfinite(value) else _ENDLESS
    if isinstance(value, int):
        return None if abs(value) < _UNPRINTABLE else "an integer of more than 4300 digits"
    return value.reason if isinstance(value, _Unwritable) else f"JSON has no {type(value).__name__}"


def _at(where: str, fault: _Fault) -> InvalidRequest:
    """The refusal of one fault, its path shortened so that the reason always shows."""
    reason = fault[0][: DETAIL_CHARS_MAX // 2]
    path = (where + "".join(reversed(fault[1]))).lstrip(".") or "value"
    room = DETAIL_CHARS_MAX - len(reason) - 2
    if len(path) > room:
        path = path[: room - 1] + "…"
    return InvalidRequest(f"{path}: {reason}")
