"""What must hold after any step of any walk through the verbs."""

from __future__ import annotations

import pytest
from cases.races import rounds
from cases.walk import Walk, must_hold
from verbs.bench import Bench


@pytest.mark.parametrize("seed", rounds(3, 20))
def test_q20_state_and_owner_never_part(bench: Bench, seed: int) -> None:
    """Q20: after every step of a walk by chance, deaths included, a task is leased if and only if it has one
    lease, and whatever else the store says of itself agrees.
    """
    walk = Walk(bench, seed)
    for _ in rounds(150, 1_000):
        walk.step()
        must_hold(bench.path)
    assert {line.type for line in bench.log()} >= {"claimed", "submitted", "cancelled", "lease_lapsed"}
