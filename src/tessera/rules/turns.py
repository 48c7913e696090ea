"""Whose turn it is: a line in which every key moves on at the same speed, however many stand in it under one.
Pure. Of one key's, those go first that came first.
"""

from __future__ import annotations

from collections import deque
from heapq import heappop, heappush
from typing import Generic, TypeVar

T = TypeVar("T")


class Turns(Generic[T]):
    """Start-time fair queueing: each turn costs its key so much, and the key that has had the least is next.
    A key that was away has saved nothing up.
    """

    def __init__(self) -> None:
        self._lines: dict[str, deque[tuple[T, int]]] = {}
        self._order: list[tuple[int, int, str]] = []  # a heap: what a key has had, its arrival, the key
        self._had: dict[str, int] = {}
        self._now = 0  # what the key whose turn was last had had before it
        self._arrivals = 0

    def __len__(self) -> int:
        return sum(map(len, self._lines.values()))

    def add(self, key: str, one: T, cost: int) -> None:
        """Stand in line."""
        if key in self._lines:
            self._lines[key].append((one, cost))
            return
        self._lines[key] = deque([(one, cost)])
        self._had[key] = max(self._had.get(key, 0), self._now)
        self._queue(key)

    def next(self) -> T | None:
        """Whoever goes first, taken out of the line; None when nobody stands in it."""
        if not self._order:
            self._had.clear()
            return None
        self._now, _, key = heappop(self._order)
        line = self._lines[key]
        one, cost = line.popleft()
        self._had[key] = self._now + cost
        if line:
            self._queue(key)
        else:
            del self._lines[key]
            self._forget()
        return one

    def _queue(self, key: str) -> None:
        self._arrivals += 1
        heappush(self._order, (self._had[key], self._arrivals, key))

    def _forget(self) -> None:
        """Keys that are no further than the line need no note, once such notes outnumber those in line."""
        if len(self._had) > 2 * len(self._lines) + 100:
            self._had = {key: had for key, had in self._had.items() if key in self._lines or had > self._now}
