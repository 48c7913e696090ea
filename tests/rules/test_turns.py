"""Turns: whose turn it is in a line that is fair to keys."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from tessera.rules.turns import Turns


def emptied(turns: Turns[str]) -> list[str]:
    """Everybody in line, in order."""
    order = []
    while (one := turns.next()) is not None:
        order.append(one)
    return order


def test_one_key_is_served_in_order() -> None:
    """Under one key, first come, first served."""
    turns: Turns[str] = Turns()
    for n in range(5):
        turns.add("k", str(n), 1 + n % 2)

    assert len(turns) == 5
    assert emptied(turns) == ["0", "1", "2", "3", "4"]
    assert len(turns) == 0


def test_a_key_with_many_does_not_hold_up_one_with_few() -> None:
    """A claim of another key that comes after a hundred of one is second in line."""
    turns: Turns[str] = Turns()
    for _ in range(100):
        turns.add("many", "many", 1)
    assert turns.next() == "many"
    turns.add("few", "few", 1)

    assert emptied(turns)[:2] == ["few", "many"]


def test_a_batch_costs_its_key_as_much_as_it_takes() -> None:
    """After a batch of ten, the other key has ten turns."""
    turns: Turns[str] = Turns()
    for n in range(20):
        turns.add("batches", f"b{n}", 10)
        turns.add("singles", f"s{n}", 1)

    first = [one[0] for one in emptied(turns)[:22]]
    assert Counter(first) == {"b": 2, "s": 20}


def test_nothing_is_saved_up() -> None:
    """A key that was away while another had a hundred turns has the next turn, not the next hundred."""
    turns: Turns[str] = Turns()
    turns.add("away", "a", 1)
    turns.next()
    for _ in range(100):
        turns.add("here", "h", 1)
    for _ in range(90):
        turns.next()
    for _ in range(10):
        turns.add("away", "a", 1)

    assert "".join(emptied(turns))[:6] in ("ahahah", "hahaha")


@given(st.lists(st.one_of(st.tuples(st.sampled_from("abc"), st.integers(1, 9)), st.none()), max_size=80))
def test_nobody_is_lost_or_served_twice(steps: list[tuple[str, int] | None]) -> None:
    """Whatever is added and taken, everybody comes out once, and each key's in order."""
    turns: Turns[str] = Turns()
    came: list[str] = []
    went: list[str] = []
    for number, step in enumerate(steps):
        if step is None:
            if (one := turns.next()) is not None:
                went.append(one)
        else:
            came.append(f"{step[0]}{number}")
            turns.add(step[0], came[-1], step[1])
    went += emptied(turns)

    for key in "abc":
        assert [one for one in went if one[0] == key] == [one for one in came if one[0] == key]
    assert len(went) == len(came)
