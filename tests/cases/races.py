"""Doing things at the same time, a few times or, with TESSERA_LONG=1, many."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

from tessera.errors import TesseraError

LONG = os.environ.get("TESSERA_LONG") == "1"


def rounds(short: int, long: int) -> range:
    """How often to repeat a race."""
    return range(long if LONG else short)


def attempt(act: Callable[[], Any]) -> Any:
    """The answer, or the code of the refusal."""
    try:
        return act()
    except TesseraError as refusal:
        return refusal.code


def together(acts: Sequence[Callable[[], Any]]) -> list[Any]:
    """Let each act run in a thread of its own, all at once; their answers or codes, in order."""
    start = Barrier(len(acts))

    def run(act: Callable[[], Any]) -> Any:
        start.wait(timeout=30)
        return attempt(act)

    with ThreadPoolExecutor(len(acts)) as pool:
        return list(pool.map(run, acts))
