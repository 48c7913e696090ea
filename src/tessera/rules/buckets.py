"""Token buckets: so many at once, then one for each so many seconds. Pure; the instant is told."""

from __future__ import annotations

from collections import OrderedDict
from math import ceil
from typing import Final

from tessera.limits import SECOND_US

BUCKETS_MAX: Final = 10_000


class Buckets:
    """A bucket for each name. The names that were used least lately are forgotten, which fills them."""

    def __init__(self, size: float, seconds_each: float) -> None:
        self._size = size
        self._each_us = seconds_each * SECOND_US
        self._buckets: OrderedDict[str, tuple[float, int]] = OrderedDict()  # what was left, and when

    def take(self, name: str, now_us: int) -> int | None:
        """Take one. None when there was one; else in how many whole seconds there will be."""
        left = self._left(name, now_us)
        if left < 1:
            return max(1, ceil((1 - left) * self._each_us / SECOND_US))
        self._buckets[name] = (left - 1, now_us)
        self._buckets.move_to_end(name)
        if len(self._buckets) > BUCKETS_MAX:
            self._buckets.popitem(last=False)
        return None

    def _left(self, name: str, now_us: int) -> float:
        left, since = self._buckets.get(name, (self._size, now_us))
        return min(self._size, left + max(0, now_us - since) / self._each_us)
