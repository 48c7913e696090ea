"""The backoff: doubling up to a cap, drawn from its upper half, with no value that breaks it."""

from __future__ import annotations

import itertools
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rules.rows_for_rules import SECOND, a_queue

from tessera.limits import BACKOFF_SECONDS_MAX
from tessera.rules.retry import delay_seconds, delay_us

EXTREMES = list(itertools.product([0, 1e-9, 1, 1e308], [0, 1, 1e308], [1, 2, 20, 63, 64, 1023, 1024, 10**6]))


@pytest.mark.parametrize(
    ("failures", "ceiling"),
    [(1, 30), (2, 60), (3, 120), (4, 240), (5, 480), (6, 900), (7, 900), (20, 900), (10**6, 900)],
)
def test_the_specified_ceilings(failures: int, ceiling: float) -> None:
    """With the default settings the ceilings are 30, 60, 120, 240, 480 and then 900 seconds."""
    assert delay_seconds(30, 900, failures, 1.0) == ceiling
    assert delay_seconds(30, 900, failures, 0.5) == ceiling / 2


@pytest.mark.parametrize(("base", "cap", "failures"), EXTREMES)
@pytest.mark.parametrize("u", [0.5, 0.75, 1.0])
def test_no_extreme_overflows(base: float, cap: float, failures: int, u: float) -> None:
    """However large a base, a cap or a count is, the delay is finite and within half its ceiling and it."""
    delay = delay_seconds(base, cap, failures, u)
    try:
        ceiling = min(cap, math.ldexp(base, failures - 1))
    except OverflowError:
        ceiling = cap
    assert math.isfinite(delay)
    assert 0 <= ceiling * 0.5 <= delay <= ceiling <= cap


@given(
    base=st.integers(0, BACKOFF_SECONDS_MAX),
    cap=st.integers(0, BACKOFF_SECONDS_MAX),
    failures=st.integers(1, 10**6),
    u=st.floats(0.5, 1.0),
)
def test_in_microseconds(base: int, cap: int, failures: int, u: float) -> None:
    """By any settings a queue may have, the delay is a whole number of microseconds in its bounds."""
    queue = a_queue(backoff_base_seconds=base, backoff_cap_seconds=cap)
    delay = delay_us(queue, failures, u)
    ceiling = min(cap, base * 2 ** min(failures - 1, 64)) * SECOND
    assert isinstance(delay, int)
    assert ceiling // 2 - 1 <= delay <= ceiling


def test_more_failures_never_wait_less() -> None:
    """At one draw, each failure waits at least as long as the one before."""
    delays = [delay_us(a_queue(), failures, 0.7) for failures in range(1, 30)]
    assert delays == sorted(delays)


@pytest.mark.parametrize(("base", "cap"), [(0, 0), (0, 900), (30, 0)])
def test_no_delay_at_all(base: int, cap: int) -> None:
    """A base or a cap of zero means at once."""
    for failures in (1, 20, 1_000):
        assert delay_us(a_queue(backoff_base_seconds=base, backoff_cap_seconds=cap), failures, 1.0) == 0
