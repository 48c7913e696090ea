"""Pages of a list. Pure: whoever asks for one row more than a page has sees whether another page follows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def page_of(rows: Sequence[Any], limit: int, key: str) -> tuple[Sequence[Any], Any]:
    """The rows of a page, of up to `limit + 1` that were asked for, and where the next one goes on: the last
    row's attribute of that name; None at the end.
    """
    page = rows[:limit]
    return page, getattr(page[-1], key) if len(rows) > limit else None
