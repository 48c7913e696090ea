"""Which bytes a `Range` header asks for. Pure. (RFC 9110 §14; contract §4.13.)

One range is served: `bytes=a-b`, `bytes=a-` or `bytes=-n`. What is malformed, names another unit or asks for
several ranges is ignored, as the RFC lets a server do: the whole is served.
"""

from __future__ import annotations

import re

from tessera.errors import RangeNotSatisfiable

_RANGE = re.compile(r"bytes=(?:(?P<first>[0-9]+)-(?P<last>[0-9]*)|-(?P<suffix>[0-9]+))", re.IGNORECASE)
_DIGITS_MAX = 18  # a longer number lies beyond every blob, and Python would refuse to read a very long one
_BEYOND = 10**_DIGITS_MAX


def chosen(header: str | None, size: int) -> tuple[int, int] | None:
    """The first byte and the number of bytes asked for, out of `size`; None for the whole.

    Refuses, as `range_not_satisfiable`, a range that begins at or after the end, and one of the last 0 bytes.
    The last bytes of nothing are nothing: there the header is ignored, since no `Content-Range` could tell of
    it.
    """
    asked = None if header is None else _RANGE.fullmatch(header)
    if asked is None:
        return None
    if (suffix := asked["suffix"]) is not None:
        length = min(_number(suffix), size)
        if _number(suffix) == 0:
            raise _unsatisfiable(size)
        return (size - length, length) if size else None
    first = _number(asked["first"])
    last = _number(asked["last"]) if asked["last"] else size - 1
    if asked["last"] and last < first:
        return None
    if first >= size:
        raise _unsatisfiable(size)
    return first, min(last, size - 1) - first + 1


def header_for(start: int | None, stop: int | None) -> str | None:
    """The header for a slice as Python writes it: a negative start counts from the end. None for the whole.
    A slice that no header can ask for is a ValueError.
    """
    if not start and stop is None:
        return None
    start = start or 0
    if start < 0 and stop is None:
        return f"bytes={start}"
    if start < 0 or (stop is not None and stop <= start):
        raise ValueError("a slice is start, start and stop, or a negative start alone; stop lies after start")
    return f"bytes={start}-" if stop is None else f"bytes={start}-{stop - 1}"


def _number(digits: str) -> int:
    significant = digits.lstrip("0")
    return _BEYOND if len(significant) > _DIGITS_MAX else int(significant or "0")


def _unsatisfiable(size: int) -> RangeNotSatisfiable:
    return RangeNotSatisfiable(f"there are {size:,} bytes, and none of them is in the range", size=size)
