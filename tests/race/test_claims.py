"""Many hands, few tasks: nobody gets what another one has."""

from __future__ import annotations

import time
from collections import Counter
from pathlib import Path

import pytest
from crash.wholeness import assert_whole

import tessera
from race.crew import at_once, fill, log, processes, rounds
from tessera.limits import SECOND_US
from tessera.models import Lease
from tessera.testing import World

TASKS = 1_000


@pytest.mark.parametrize("used", [[0], [1], [0, 1]], ids=["direct", "loop", "both"])
def test_eight_threads_share_a_thousand_tasks(handles: list[tessera.Tessera], used: list[int]) -> None:
    """8 threads claim and hand in 1,000 tasks: each is leased once and done once."""
    ids = fill(handles[used[0]], "q", TASKS)

    def work(number: int) -> list[Lease]:
        store, leases = handles[used[number % len(used)]], []
        while lease := store.claim("q", f"w{number}"):
            leases.append(lease)
            store.submit(lease.task_id, lease.fencing_token, {}, lease.task_id)
        return leases

    leases = [lease for share in at_once(8, work) for lease in share]

    assert Counter(lease.task_id for lease in leases) == Counter(ids)
    assert {lease.fencing_token for lease in leases} == {1}
    claimed = {event.task_id: event.worker for event in log(handles[1], "claimed")}
    assert claimed == {lease.task_id: lease.worker for lease in leases}
    assert len(log(handles[1], "claimed")) == len(log(handles[1], "submitted")) == TASKS
    assert handles[1].counts().queues["q"].done == TASKS


def test_eight_processes_share_a_thousand_tasks(path: str, tmp_path: Path) -> None:
    """8 processes on one file claim 1,000 tasks: each is leased once, to the process that wrote it down."""
    with tessera.open(path) as store:
        ids = fill(store, "q", TASKS)
    with processes(8, path, tmp_path) as crew:
        for process in crew:
            process.tell("drain", queue="q")
        leases = [lease for process in crew for lease in process.done()]

    assert Counter(lease["task_id"] for lease in leases) == Counter(ids)
    with tessera.open(path) as store:
        claimed = [(event.task_id, event.worker, event.fencing_token) for event in log(store, "claimed")]
        assert store.counts().queues["q"].leased == TASKS
    assert Counter(claimed) == Counter(
        (lease["task_id"], lease["worker"], lease["fencing_token"]) for lease in leases
    )
    assert_whole(path)


def test_one_task_has_one_winner(path: str, handles: list[tessera.Tessera], tmp_path: Path) -> None:
    """16 threads and 2 processes claim one task at once, again and again: each time one of them has it."""
    with processes(2, path, tmp_path) as crew:
        for number in rounds(25):
            task_id = handles[0].enqueue(queue="q", kind="k", brief={})
            for process in crew:
                process.tell("claim", queue="q")
            here = at_once(16, lambda n: handles[n % 2].claim("q", f"w{n}"))
            there = [answer for process in crew for answer in process.done()]

            won = [(one.task_id, one.fencing_token) for one in here if one is not None]
            won += [(one["task_id"], one["fencing_token"]) for one in there if one is not None]
            assert won == [(task_id, 1)]
            assert len(log(handles[1], "claimed")) == number + 1
            handles[1].submit(task_id, 1, {}, task_id)


def test_a_released_task_has_one_winner_each_time(handles: list[tessera.Tessera]) -> None:
    """16 threads race for a task that comes back each time: every lease has the next token."""
    task_id = handles[0].enqueue(queue="q", kind="k", brief={})
    for number in rounds(25):
        answers = at_once(16, lambda n: handles[n % 2].claim("q", "w"))
        assert [one.fencing_token for one in answers if one is not None] == [number + 1]
        handles[number % 2].release(task_id, number + 1)
    tokens = [event.fencing_token for event in log(handles[0], "claimed")]
    assert tokens == list(range(1, len(tokens) + 1))


def test_one_key_claims_one_lease(handles: list[tessera.Tessera]) -> None:
    """16 threads that claim under one idempotency key hold one and the same lease."""

    def race(number: int) -> None:
        fill(handles[0], "q", 3)
        key = f"claim-{number}"
        answers = at_once(16, lambda n: handles[n % 2].claim("q", "w", idempotency_key=key))
        assert len({(one.task_id, one.fencing_token) for one in answers}) == 1
        assert len(log(handles[0], "claimed")) == number + 1

    for number in rounds(15):
        race(number)


def test_one_key_submits_one_result(handles: list[tessera.Tessera]) -> None:
    """16 threads that hand in under one key get one receipt, and all but one of them as a replay."""

    def race(key: str) -> None:
        handles[0].enqueue(queue="q", kind="k", brief={})
        lease = handles[0].claim("q", "w")
        answers = at_once(16, lambda n: handles[n % 2].submit(lease.task_id, 1, {"from": n}, key))
        assert len({one.sha256 for one in answers}) == 1
        assert sorted(one.replayed for one in answers) == [False] + [True] * 15
        assert [one.sha256 for one in handles[1].results(lease.task_id)] == [answers[0].sha256]

    for number in rounds(15):
        race(f"key-{number}")


@pytest.mark.parametrize("handed_in", [1, 9, 30])
def test_a_killed_process_takes_nothing_with_it(path: str, tmp_path: Path, handed_in: int) -> None:
    """A process killed in the middle of its claims loses no answer that it had; what it held comes back."""
    with tessera.open(path) as store:
        ids = fill(store, "q", 60)
    with processes(2, path, tmp_path) as (doomed, other):
        doomed.tell("work", queue="q")
        for _ in range(handed_in):
            assert doomed.line() == "handed in"
        other.tell("work", queue="q")
        doomed.kill()
        while other.line() == "handed in":
            pass
        answers = doomed.answers() + other.answers()

    an_hour_later = World(now_us=time.time_ns() // 1_000 + 3_600 * SECOND_US)
    with tessera.open(path, runtime=an_hour_later.runtime()) as store:
        claimed = {(event.task_id, event.fencing_token) for event in log(store, "claimed")}
        answered = {(one["task_id"], one["fencing_token"]) for one in answers if "sha256" not in one}
        assert answered <= claimed
        assert len(claimed - answered) <= 1
        while lease := store.claim("q", "heir"):
            store.submit(lease.task_id, lease.fencing_token, {}, f"{lease.task_id}-heir")
        assert len(log(store, "lease_lapsed")) <= 1
        assert store.counts(recount=True).queues["q"].done == len(ids)
        results = {one.idempotency_key: one.sha256 for task_id in ids for one in store.results(task_id)}
        receipts = {one["idempotency_key"]: one["sha256"] for one in answers if "sha256" in one}
        assert receipts.items() <= results.items()
        assert len(results) == len(ids)
    assert_whole(path)
