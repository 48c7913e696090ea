"""Sizes count UTF-8 bytes, whatever a model's count of characters says. Pure. (Contract §2.)"""

from __future__ import annotations

from collections.abc import Iterable

from tessera.errors import InvalidRequest


def refuse_longer(text: str | None, where: str, bytes_max: int) -> None:
    """Refuse a text of more bytes than its field allows."""
    if text is not None and len(text.encode()) > bytes_max:
        raise InvalidRequest(f"{where}: larger than {bytes_max:,} bytes")


def fitting(sizes: Iterable[int], bytes_max: int) -> int:
    """How many documents of these sizes, in order, fit on a page: at least one, if there is one."""
    number = 0
    for size in sizes:
        bytes_max -= size
        if number and bytes_max < 0:
            break
        number += 1
    return number
