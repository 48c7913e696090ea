"""How long a lease lives. (Specification §5.2.)"""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from rules.rows_for_rules import NOW, SECOND, a_queue

from tessera.rules import leasing


def test_the_deadlines_of_a_new_lease() -> None:
    """Missed heartbeats or the hard deadline, whichever comes first."""
    assert leasing.deadlines(a_queue(), NOW) == (NOW + 180 * SECOND, NOW + 600 * SECOND)
    short = a_queue(lease_seconds=100)
    assert leasing.deadlines(short, NOW) == (NOW + 100 * SECOND, NOW + 100 * SECOND)


@given(
    heartbeat=st.integers(1, 600),
    misses=st.integers(1, 10),
    lease=st.integers(1, 3_600),
    beats=st.lists(st.integers(0, 2 * 3_600 * SECOND)),
)
def test_no_number_of_heartbeats_passes_the_hard_deadline(
    heartbeat: int, misses: int, lease: int, beats: list[int]
) -> None:
    """However often and whenever a lease is extended, it ends by its hard deadline."""
    queue = a_queue(heartbeat_seconds=heartbeat, miss_limit=misses, lease_seconds=lease)
    expires, hard = leasing.deadlines(queue, NOW)
    assert NOW < expires <= hard == NOW + lease * SECOND
    for beat in sorted(beats):
        extended = leasing.extended(queue, NOW + beat, hard)
        assert extended == min(NOW + beat + heartbeat * misses * SECOND, hard)


def test_the_settings_of_now_count() -> None:
    """A queue whose heartbeats became shorter shortens what the next one grants."""
    _, hard = leasing.deadlines(a_queue(), NOW)
    hasty = a_queue(heartbeat_seconds=1, miss_limit=1, lease_seconds=1)
    assert leasing.extended(hasty, NOW, hard) == NOW + SECOND
