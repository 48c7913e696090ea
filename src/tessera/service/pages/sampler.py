"""How busy each queue was in the last hour, remembered in the process. Pure: times and counts in, minutes
out.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from itertools import pairwise

from tessera.limits import SAMPLES_MAX, SECOND_US

MINUTE_US = 60 * SECOND_US


class Sampler:
    """The number of done tasks at the end of each of the last minutes, by queue. Times are monotonic."""

    def __init__(self) -> None:
        self._minute: int | None = None
        self._done: dict[str, deque[int]] = {}

    def sample(self, elapsed_us: int, done: Mapping[str, int]) -> None:
        """Note how many tasks are done by now. Minutes without a note count as quiet. What the first note
        finds done was done before; a queue that comes later began with nothing.
        """
        first = self._minute is None
        minute = elapsed_us // MINUTE_US
        passed = 0 if self._minute is None else min(minute - self._minute, SAMPLES_MAX + 1)
        self._minute = minute
        for name, number in done.items():
            totals = self._done.get(name)
            if totals is None:
                totals = self._done[name] = deque([number if first else 0], maxlen=SAMPLES_MAX + 1)
            for _ in range(passed):
                totals.append(totals[-1])
            if len(totals) == 1:
                totals.append(number)
            totals[-1] = number
        for name in self._done.keys() - done.keys():
            del self._done[name]

    def minutes(self, name: str) -> list[int]:
        """How many tasks of a queue were done in each minute that is remembered, the current one last."""
        totals = list(self._done.get(name, ()))
        return [max(0, after - before) for before, after in pairwise(totals)]

    def busiest(self, number: int) -> list[str]:
        """The queues that did most in the time remembered, those that did nothing left out."""
        sums = {name: sum(self.minutes(name)) for name in self._done}
        return sorted((name for name in sums if sums[name]), key=lambda name: (-sums[name], name))[:number]
