"""Which of several queues a claim serves next. Pure: the draws come from the caller."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def deal(weights: Sequence[int], available: Sequence[int], draws: Iterable[float]) -> list[int]:
    """For each draw from [0, 1), the index of a queue that still has something, chosen in proportion to the
    weights of those that do. Ends when nothing is left anywhere.
    """
    left = list(available)
    dealt: list[int] = []
    for draw in draws:
        open_ = [index for index, number in enumerate(left) if number]
        if not open_:
            break
        mark = draw * sum(weights[index] for index in open_)
        for chosen in open_:
            mark -= weights[chosen]
            if mark < 0:
                break
        left[chosen] -= 1
        dealt.append(chosen)
    return dealt
