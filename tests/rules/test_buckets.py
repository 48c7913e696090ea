"""Token buckets."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tessera.limits import SECOND_US
from tessera.rules.buckets import BUCKETS_MAX, Buckets


def test_so_many_at_once_then_one_each_time() -> None:
    """A full bucket gives its size at once, then one for each so many seconds, and says how long it takes."""
    buckets = Buckets(3, 2)

    assert [buckets.take("a", 0) for _ in range(4)] == [None, None, None, 2]
    assert buckets.take("b", 0) is None
    assert buckets.take("a", SECOND_US) == 1
    assert buckets.take("a", 2 * SECOND_US) is None
    assert buckets.take("a", 2 * SECOND_US) == 2


def test_a_long_rest_fills_no_more_than_the_bucket() -> None:
    """However long nothing is taken, no more than the size is there; a clock set back takes nothing."""
    buckets = Buckets(2, 1)
    buckets.take("a", 0)

    assert [buckets.take("a", 10**12) for _ in range(3)] == [None, None, 1]
    assert buckets.take("a", 0) == 1


@given(st.lists(st.integers(0, 5 * SECOND_US), max_size=200))
def test_no_pattern_gets_more_than_the_rate(pauses: list[int]) -> None:
    """Whatever the pattern of attempts, no more pass than the size and the time that has passed."""
    buckets, now, taken = Buckets(5, 1), 0, 0
    for pause in pauses:
        now += pause
        taken += buckets.take("a", now) is None

    assert taken <= 5 + now / SECOND_US


def test_names_are_forgotten_in_order() -> None:
    """Memory is bounded: beyond so many names the one that was used least lately is forgotten, and full."""
    buckets = Buckets(1, 1_000)
    for number in range(BUCKETS_MAX + 1):
        assert buckets.take(str(number), 0) is None

    assert buckets.take("0", 0) is None
    assert buckets.take(str(BUCKETS_MAX), 0) is not None
