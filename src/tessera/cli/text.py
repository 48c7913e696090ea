"""Text that somebody else wrote: read strictly, shown harmlessly, cut cleanly."""

from __future__ import annotations

import json
from typing import Any, NoReturn


def json_value(text: str) -> Any:
    """The value of exactly one JSON document. Raises ValueError or RecursionError for anything else; NaN and
    infinities, which Python's parser would let through, are something else.
    """
    return json.loads(text, parse_constant=_no_json)


def _no_json(word: str) -> NoReturn:
    raise ValueError(f"{word} is no JSON value")


def visible(text: str) -> str:
    """The text with control, direction and other unprintable characters written as escapes; newlines stay."""
    return "".join(
        char if char.isprintable() or char == "\n" else char.encode("unicode_escape").decode()
        for char in text
    )


def shortened(text: str, width: int) -> str:
    """One visible line of at most `width` characters."""
    line = visible(" ".join(text.split()))
    return line if len(line) <= width else line[: width - 1] + "…"


def cut_front(text: str, size: int) -> str:
    """The end of a text, at most `size` UTF-8 bytes and never half a character."""
    return text.encode()[-size:].decode(errors="ignore") if size else ""
