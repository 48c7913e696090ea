"""Receipts recomputed from the specification alone, with nothing from the implementation under test.

A receipt is the SHA-256 of the canonical JSON (RFC 8785) of one outcome. RFC 8785 prints what JavaScript
prints: keys in the order of their UTF-16 units, no spaces, numbers by ECMAScript's `Number::toString`.
"""

from __future__ import annotations

import hashlib
import json
from decimal import Decimal
from typing import Any


def receipt(task_id: str, fencing_token: int, ok: bool, output: Any, error: str | None) -> str:
    """The hash that a submit of these five values must be answered with."""
    document = {
        "task_id": task_id, "fencing_token": fencing_token, "ok": ok, "output": output, "error": error,
    }  # fmt: skip
    return hashlib.sha256(canonical(document).encode()).hexdigest()


def canonical(value: Any) -> str:
    """The one canonical text of a JSON value."""
    if isinstance(value, dict):
        keys = sorted(value, key=lambda key: key.encode("utf-16-be"))
        return "{" + ",".join(f"{canonical(key)}:{canonical(value[key])}" for key in keys) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(canonical, value)) + "]"
    if isinstance(value, float):
        return _number(value)
    return json.dumps(value, ensure_ascii=False)


def _number(value: float) -> str:
    """ECMAScript's text of a double: the shortest digits that read back as it, placed by their exponent."""
    if value == 0:
        return "0"
    sign, digits, exponent = Decimal(repr(value)).normalize().as_tuple()
    text, minus = "".join(map(str, digits)), "-" if sign else ""
    point = len(text) + int(exponent)  # how many digits stand before the decimal point
    if len(text) <= point <= 21:
        return minus + text + "0" * (point - len(text))
    if 0 < point <= 21:
        return f"{minus}{text[:point]}.{text[point:]}"
    if -6 < point <= 0:
        return f"{minus}0.{'0' * -point}{text}"
    fraction = f".{text[1:]}" if len(text) > 1 else ""
    return f"{minus}{text[0]}{fraction}e{point - 1:+d}"
