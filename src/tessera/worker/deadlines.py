"""When a lease may have ended, by the clock of this machine, should the store not be there to say so.

The store's clock and ours need not agree; only how fast they run is relied on. An answer says what the
store's clock showed at an instant between sending and receiving. Taking it for the instant of sending gives
a deadline that is never later than the true one.
"""

from __future__ import annotations

from typing import Final

from tessera.limits import SECOND_US
from tessera.models import Lease
from tessera.runtime import instant_us

MARGIN_SECONDS_MAX: Final = 1.0  # taken off a deadline, and at most this part of a heartbeat's interval:
MARGIN_PART: Final = 0.2


class StoreClock:
    """The store's clock as far as answers have shown it."""

    def __init__(self) -> None:
        self._behind_us: int | None = None  # what to add to the store's instants; the best bound so far

    @property
    def unseen(self) -> bool:
        """Whether no answer has shown it yet."""
        return self._behind_us is None

    def saw(self, sent_us: int, stamp: str) -> None:
        """The answer to a request that was sent at `sent_us` of our clock shows this instant."""
        bound = sent_us - instant_us(stamp)
        self._behind_us = bound if self._behind_us is None else max(self._behind_us, bound)

    def here_us(self, stamp: str) -> int:
        """An instant of our clock at which the store's has surely not come to `stamp` yet."""
        assert self._behind_us is not None, "no answer has shown the store's clock"
        return instant_us(stamp) + self._behind_us


def deadline_us(clock: StoreClock, lease: Lease) -> int:
    """Until when, by our clock, a lease surely lives, less a margin."""
    margin = min(MARGIN_SECONDS_MAX, lease.heartbeat_seconds * MARGIN_PART)
    return clock.here_us(lease.expires_at) - int(margin * SECOND_US)
