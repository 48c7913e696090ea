"""How long a failed task waits before it may be tried again. Pure: `u` is drawn by the caller."""

from __future__ import annotations

import math

from tessera.limits import SECOND_US
from tessera.rows import QueueRow


def delay_seconds(base: float, cap: float, failures: int, u: float) -> float:
    """A ceiling that doubles from `base` with each failure up to `cap`, times `u` from [0.5, 1.0]; in
    seconds. (Specification §5.3.) No setting and no count overflows it.
    """
    try:
        ceiling = math.ldexp(base, failures - 1)
    except OverflowError:
        ceiling = cap
    return min(cap, ceiling) * u


def delay_us(queue: QueueRow, failures: int, u: float) -> int:
    """The same by a queue's settings, in microseconds."""
    seconds = delay_seconds(queue.backoff_base_seconds, queue.backoff_cap_seconds, failures, u)
    return int(seconds * SECOND_US)
