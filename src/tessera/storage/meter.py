"""What an engine counts of its own work: how many verbs share a commit, how long a sync of the disk takes."""

from __future__ import annotations

from typing import Final

from tessera.limits import SECOND_US
from tessera.rules.histograms import Histogram

SYNC_BOUNDS_US: Final = tuple(
    int(seconds * SECOND_US)
    for seconds in (0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5)
)
BATCH_BOUNDS: Final = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512)
_SYNCS: Final = 16  # over so many `sync_us` is smoothed,
_STALL: Final = 4  # and one that hangs counts as so many times what is usual: it does not tell of the next


class Meter:
    """One engine's."""

    def __init__(self, path: str | None = None) -> None:
        self.path = path  # of the store's file, if it is one
        self.sync_us = 0.0  # what a sync takes these days; 0 before the first
        self.syncs = Histogram(SYNC_BOUNDS_US)
        self.batches = Histogram(BATCH_BOUNDS)  # verbs of one commit

    def synced(self, took_us: int) -> None:
        """The disk has everything that was written before. One sync at a time calls this."""
        counted = min(took_us, _STALL * self.sync_us) if self.sync_us else took_us
        self.sync_us += (counted - self.sync_us) / (_SYNCS if self.sync_us else 1)
        self.syncs.add(took_us)
