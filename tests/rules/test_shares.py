"""deal: which of several queues a claim serves next."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from itertools import count

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tessera.rules.shares import deal

MANY = 10**9  # more than anybody draws
queues = st.lists(st.tuples(st.integers(1, 1_000), st.integers(0, 5)), max_size=8)
draws = st.lists(st.floats(0, 1), max_size=50)


def chance(seed: int, number: int) -> list[float]:
    """Draws from [0, 1), the same in every run."""
    source = random.Random(seed)
    return [source.random() for _ in range(number)]


@pytest.mark.parametrize(
    ("draw", "queue"),
    [(0.0, 0), (0.0999, 0), (0.1, 1), (0.3999, 1), (0.4, 2), (0.9999, 2), (1.0, 2)],
)
def test_where_a_draw_falls(draw: float, queue: int) -> None:
    """Weights 1, 3 and 6 cut the range of a draw into tenths; its upper end belongs to the last."""
    assert deal([1, 3, 6], [9, 9, 9], [draw]) == [queue]


@pytest.mark.parametrize(("draw", "queue"), [(0.0, 1), (0.2499, 1), (0.25, 3), (0.9999, 3), (1.0, 3)])
def test_queues_without_anything_take_no_share(draw: float, queue: int) -> None:
    """The range is cut among those that have something; the others are as if they were not there."""
    assert deal([500, 1, 500, 3, 500], [0, 1, 0, 1, 0], [draw]) == [queue]


def test_what_runs_dry_leaves_its_share_to_the_others() -> None:
    """Each queue gives no more than it has, and dealing goes on with those that have more."""
    assert deal([1, 1], [2, 9], [0.0] * 5) == [0, 0, 1, 1, 1]
    assert deal([1, 1], [9, 1], [0.9] * 4) == [1, 0, 0, 0]
    assert deal([1, 2, 1], [1, 1, 1], [0.5, 0.5, 0.5]) == [1, 2, 0]


def test_dealing_ends_when_nothing_is_left() -> None:
    """More draws than there is to deal are not an error, and an endless source of them is not drained."""

    def endless() -> Iterator[float]:
        for n in count():
            assert n < 6, "drawn although nothing was left"
            yield 0.5

    assert Counter(deal([1, 5], [2, 3], endless())) == {0: 2, 1: 3}
    assert deal([1, 5], [0, 0], [0.5]) == []
    assert deal([], [], [0.5]) == []
    assert deal([1, 5], [2, 3], []) == []


@given(queues, draws)
def test_nothing_is_dealt_that_is_not_there(queues: list[tuple[int, int]], draws: list[float]) -> None:
    """Whatever the weights and draws, as much is dealt as there is or was drawn, and of each no more than it
    has.
    """
    weights, available = [weight for weight, _ in queues], [number for _, number in queues]
    dealt = deal(weights, available, draws)

    assert len(dealt) == min(len(draws), sum(available))
    assert all(number <= available[index] for index, number in Counter(dealt).items())


@given(queues, draws)
def test_each_draw_stands_for_itself(queues: list[tuple[int, int]], draws: list[float]) -> None:
    """Dealing at once is dealing one by one from what is left."""
    weights, left = [weight for weight, _ in queues], [number for _, number in queues]
    one_by_one = []
    for draw in draws:
        for index in deal(weights, left, [draw]):
            left[index] -= 1
            one_by_one.append(index)

    assert deal(weights, [number for _, number in queues], draws) == one_by_one


@pytest.mark.parametrize(
    "weights", [[1, 1], [1, 3], [3, 1], [1, 2, 3, 4], [1, 1_000], [7] * 10, [999, 1_000]]
)
def test_shares_follow_the_weights(weights: list[int]) -> None:
    """Of 100,000 draws each queue gets its share within five standard deviations, wherever it stands."""
    number = 100_000
    dealt = Counter(deal(weights, [MANY] * len(weights), chance(1, number)))

    for index, weight in enumerate(weights):
        share = weight / sum(weights)
        deviation = (number * share * (1 - share)) ** 0.5
        assert abs(dealt[index] - number * share) <= 5 * deviation


def test_shares_among_those_that_are_left() -> None:
    """An empty queue in between changes nothing of the proportion of the others."""
    dealt = Counter(deal([2, 1_000, 6], [MANY, 0, MANY], chance(2, 80_000)))

    assert dealt[1] == 0
    assert abs(dealt[0] - 20_000) <= 5 * (80_000 * 0.25 * 0.75) ** 0.5


def test_no_queue_starves() -> None:
    """The lightest of ten queues is served about once in its turn, however heavy the others are."""
    weights = [1] + [100] * 9
    waits = [deal(weights, [MANY] * 10, chance(seed, 15_000)).index(0) for seed in range(20)]

    assert 400 < sum(waits) / len(waits) < 2_000  # 900 on average
