"""Admission: how many claims may be in the engine, shown by simulation."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest
from rules.crowded_engine import SECOND, Engine, Seen

from tessera.limits import CLAIMS_AT_ONCE, CLAIMS_AT_ONCE_MAX, CLAIMS_AT_ONCE_MIN
from tessera.rules.admission import Admission

MS = 1_000


def disk(sync_us: int, spread: float = 0.15) -> Callable[[int], int]:
    """A disk whose syncs take about so long, the same in every run."""
    chance = random.Random(7)
    return lambda now_us: int(sync_us * chance.lognormvariate(0, spread))


def crowd(sync_us: int, fixed: int | None = None, seconds: int = 10) -> Seen:
    """500 connections that claim without a pause, and heartbeats; the first four seconds do not count."""
    engine = Engine(disk(sync_us), fixed)
    engine.claimers("k", 500)
    engine.beats(20 * MS)
    begun = engine.run(4 * SECOND)
    begun.beats_us.clear()
    begun.claims.clear()
    return engine.run(seconds * SECOND)


def rate(seen: Seen) -> int:
    """How many claims were answered."""
    return sum(seen.claims.values())


@pytest.mark.parametrize("sync_ms", [20, 50])
def test_it_settles_where_the_engine_is_busy_and_heartbeats_are_not_late(sync_ms: int) -> None:
    """With 500 claiming connections, on a slow disk and a slower one: nine tenths of the claims of the best
    fixed number, heartbeats within three times their idle p99, and a limit that stays in a narrow range.
    """
    idle = Engine(disk(sync_ms * MS))
    idle.beats(50 * MS)
    alone = idle.run(12 * SECOND).beat_ms(0.99)
    best = max(rate(crowd(sync_ms * MS, fixed)) for fixed in (16, 64, 500))

    seen = crowd(sync_ms * MS)

    assert rate(seen) >= 0.9 * best
    assert seen.beat_ms(0.99) <= 3 * alone
    settled = seen.limit_between(5, 10)
    assert max(settled) <= 1.5 * min(settled)


@pytest.mark.parametrize(("first_ms", "then_ms"), [(1, 20), (20, 1)])
def test_it_follows_a_disk_that_changes(first_ms: int, then_ms: int) -> None:
    """When the disk becomes twenty times slower or quicker in the middle of a crowd, there are three seconds
    later nine tenths of the claims that a crowd has which knew no other disk.
    """
    first, then = disk(first_ms * MS), disk(then_ms * MS)
    engine = Engine(lambda now_us: (first if now_us < 5 * SECOND else then)(now_us))
    engine.claimers("k", 500)
    before = rate(engine.run(8 * SECOND))
    known = Engine(disk(then_ms * MS))
    known.claimers("k", 500)
    warm = rate(known.run(5 * SECOND))

    assert rate(engine.run(12 * SECOND)) - before >= 0.9 * (rate(known.run(9 * SECOND)) - warm)


def test_it_recovers_after_a_stall() -> None:
    """A sync that hangs for three seconds costs the claims of those seconds; two seconds later as many are
    answered as before.
    """
    usual = disk(5 * MS)
    hung: list[int] = []

    def sync(now_us: int) -> int:
        if now_us > 5 * SECOND and not hung:
            hung.append(now_us)
            return 3 * SECOND
        return usual(now_us)

    engine = Engine(sync)
    engine.claimers("k", 500)
    at = [rate(engine.run(second * SECOND)) for second in (2, 4, 10, 12)]

    assert hung
    assert at[3] - at[2] >= 0.9 * (at[1] - at[0])


@pytest.mark.parametrize(("many", "few"), [(450, 50), (490, 10)])
def test_it_is_fair(many: int, few: int) -> None:
    """A key with few connections gets as many claims as one with many, as long as its connections ask for
    them; and where they cannot, each of them goes ahead of the crowd.
    """
    engine = Engine(disk(5 * MS))
    engine.claimers("many", many)
    engine.claimers("few", few)
    seen = engine.run(8 * SECOND)

    each = seen.claims["few"] / few, seen.claims["many"] / many
    assert each[0] >= 4 * each[1]
    if few == 50:
        assert seen.claims["few"] >= 0.9 * seen.claims["many"]


def test_it_costs_nothing_when_idle() -> None:
    """A few connections never wait for their turn, and after a second without claims what a crowd has taught
    is forgotten.
    """
    engine = Engine(disk(20 * MS))
    engine.claimers("k", CLAIMS_AT_ONCE_MIN, until_us=3 * SECOND)
    seen = engine.run(4 * SECOND)
    assert max(seen.waits_us) <= 2 * MS  # for the core, not for a turn

    engine.claimers("k", 500, from_us=4 * SECOND, until_us=7 * SECOND)
    engine.run(9 * SECOND)
    last = seen.limits[-1][0]
    assert engine.admission.limit(last + SECOND // 2) > CLAIMS_AT_ONCE
    assert engine.admission.limit(last + 2 * SECOND) == CLAIMS_AT_ONCE
    assert engine.admission.took_us == 0


def test_the_limit_stays_within_its_bounds() -> None:
    """Claims that take fifty syncs bring it to its least, claims that take no more than one to its most."""
    slow, quick = Admission(), Admission()
    now = 0
    for _ in range(5_000):
        now += 1_000
        slow.note(now, 50_000, 1_000, True)
        quick.note(now, 1_000, 1_000, True)

    assert slow.limit(now) == CLAIMS_AT_ONCE_MIN
    assert quick.limit(now) == CLAIMS_AT_ONCE_MAX


@pytest.mark.parametrize(("sync_us", "crowded"), [(0, True), (1_000, False)])
def test_nothing_is_learned_of_a_limit_that_holds_nobody_back(sync_us: int, crowded: bool) -> None:
    """Without a crowd, or without a disk that tells how long it takes, the limit stays where it was."""
    admission = Admission()
    for now in range(0, 5 * SECOND, MS):
        admission.note(now, 50_000, sync_us, crowded)

    assert admission.limit(5 * SECOND) == CLAIMS_AT_ONCE


def test_when_to_come_back() -> None:
    """The seconds after which so many claims will have had their turn: whole, from 1 to 30, 1 when nothing
    is known.
    """
    admission = Admission()
    assert admission.wait_seconds(10_000) == 1
    for now in range(0, 2 * SECOND, 10 * MS):  # 24 at a time, half a second each: 48 a second
        admission.note(now + SECOND, SECOND // 2, 1_000, False)
    assert [admission.wait_seconds(claims) for claims in (0, 40, 100, 100_000)] == [1, 1, 3, 30]
