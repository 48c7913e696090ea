"""How alike a query is to what a reflex answers, or to what has led to a dead end. Pure: the measure is
rapidfuzz's. (Specification §6.)
"""

from __future__ import annotations

import re
from typing import Any, Final

from rapidfuzz import fuzz

from tessera.limits import TRIGGER_CHARS_MAX
from tessera.rules.words import folded, indexable

ALIKE_MIN: Final = 0.5  # below this two texts have little to do with each other
_NOT_EXACT_MAX: Final = 0.99
_JOINTS = re.compile(r"[\W_]+")


def trigger_of(value: Any) -> str | None:
    """What a record of `tessera.reflexes` answers, folded; None if the record is no reflex."""
    if not isinstance(value, dict) or "step" not in value:
        return None
    trigger = value.get("trigger")
    if not isinstance(trigger, str):
        return None
    return folded(trigger[:TRIGGER_CHARS_MAX]) or None


def dead_end_of(value: Any, brief: str) -> str | None:
    """What a tombstone warns of, folded, a line each: its kind, its error, the brief; None if it is none."""
    if not isinstance(value, dict) or not isinstance(value.get("kind"), str):
        return None
    error = value.get("last_error")
    said = (value["kind"], error if isinstance(error, str) else "", brief)
    return "\n".join(folded(one[:TRIGGER_CHARS_MAX]) for one in said)


def likeness(query: str, text: str) -> float:
    """From 0 to 1, of two folded texts: halfway between how much they share and how much of both that is. Of
    several lines the one that is most alike counts. 1 only for the same text.
    """
    return max(_likeness(query, line) for line in text.split("\n"))


def _likeness(query: str, line: str) -> float:
    if not line:
        return 0.0
    if query == line:
        return 1.0
    query, line = _apart(query), _apart(line)
    share, whole = fuzz.token_set_ratio(query, line), fuzz.token_sort_ratio(query, line)
    return round(min((share + whole) / 200, _NOT_EXACT_MAX), 4)


def _apart(text: str) -> str:
    """A folded text with spaces between its words, and between pairs of characters of scripts that have no
    spaces: neither how words are joined nor their order shall count for much.
    """
    return _JOINTS.sub(" ", indexable(text)).strip()
