"""counts, health, events: look at the store as a whole. (Specification §5.5; contract §3.)"""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from verbs.bench import LAPSE, Bench
from verbs.refusals import refused, unchanged

from tessera.models import QueueCounts, QueueHealth
from tessera.names import EVENT_TYPES, VERSION

VERBS = ("counts", "health", "events")


def one_of_each(bench: Bench) -> None:
    """One task in each state of the queue `q`."""
    bench.queue("q", max_attempts=1)
    bench.ok(bench.leased())
    bench.dead()
    bench.store.cancel(bench.enqueue(), "r")
    bench.parked()
    bench.leased()
    bench.enqueue()


def test_counts(bench: Bench) -> None:
    """Counts show all six states of every queue, and a recount beside them only when asked."""
    one_of_each(bench)
    bench.queue("empty")
    answer = unchanged(bench, bench.store.counts)
    assert answer.queues == {"empty": QueueCounts(), "q": QueueCounts(1, 1, 1, 1, 1, 1)}
    assert (answer.as_of, answer.recount, answer.agree) == (bench.now(), msgspec.UNSET, msgspec.UNSET)
    recounted = unchanged(bench, bench.store.counts, recount=True)
    assert (recounted.queues, recounted.recount, recounted.agree) == (answer.queues, answer.queues, True)
    assert bench.key(queues=["empty"]).counts().queues == answer.queues


def test_what_is_no_wish_for_a_recount(bench: Bench) -> None:
    """`recount` is a boolean."""
    for recount in [None, 1, "true", []]:
        refused(bench, "invalid_request", bench.store.counts, recount)


def test_health(bench: Bench) -> None:
    """Health shows the version, the time, the reaper's last run, and each queue's counts and lateness."""
    one_of_each(bench)
    bench.queue("empty")
    bench.store.reap()
    reaped = bench.now()
    bench.world.pass_seconds(LAPSE + 0.5)
    health = unchanged(bench, bench.store.health)
    assert (health.db_ok, health.version, health.time) == (True, VERSION, bench.now())
    assert health.reaper_last_run == reaped
    assert health.queues == {
        "empty": QueueHealth(0, 0, 0, 0, 0, 0, None, 0),
        "q": QueueHealth(1, 1, 1, 1, 1, 1, LAPSE + 0.5, 1),
    }
    assert bench.key().health() == health


def test_the_oldest_that_could_be_claimed(bench: Bench) -> None:
    """The age is that of the oldest task claimable now, of whatever priority: not of one that is delayed."""
    late = bench.enqueue(delay_seconds=30)
    bench.world.pass_seconds(10)
    low = bench.enqueue(priority=-5)
    bench.world.pass_seconds(10)
    bench.enqueue(priority=5)
    assert bench.store.health().queues["q"].oldest_ready_age_seconds == 10
    bench.store.cancel(low, "r")
    assert bench.store.health().queues["q"].oldest_ready_age_seconds == 0
    bench.world.pass_seconds(10)
    assert bench.store.health().queues["q"].oldest_ready_age_seconds == 10
    assert bench.state(late) == "ready"
    bench.world.pass_seconds(5)
    assert bench.store.health().queues["q"].oldest_ready_age_seconds == 15


def test_the_age_counts_from_when_a_task_could_be_claimed(bench: Bench) -> None:
    """A task is as old as it has been claimable: since its delay or backoff was over, settled or not, since
    what it waited for had ended, since it was given back; and the oldest need not be the first in line.
    """
    bench.queue("q", backoff_base_seconds=20, backoff_cap_seconds=20)

    def age() -> float | None:
        return bench.store.health().queues["q"].oldest_ready_age_seconds

    bench.enqueue(task_id="first", delay_seconds=30)
    bench.enqueue(task_id="second", depends_on=["first"])
    bench.world.pass_seconds(35)
    assert age() == 5
    bench.store.reap()
    assert age() == 5
    lease = bench.claim()
    bench.world.pass_seconds(5)
    bench.store.submit(lease.task_id, lease.fencing_token, {}, "a")
    bench.world.pass_seconds(2)
    assert age() == 2
    lease = bench.claim()
    bench.enqueue(task_id="third")
    bench.world.pass_seconds(3)
    bench.store.release(lease.task_id, lease.fencing_token)
    bench.world.pass_seconds(1)
    assert age() == 4
    lease = bench.claim()
    assert lease.task_id == "second"
    bench.store.cancel("third", "r")
    bench.store.submit(lease.task_id, lease.fencing_token, None, "b", ok=False, error="no")
    assert age() is None
    bench.world.pass_seconds(50)
    bench.store.reap()
    assert 30 <= (age() or 0) < 50


def test_an_event_has_every_field(bench: Bench) -> None:
    """A line has a number, a time, a type, and what it is about; what it is not about is null."""
    (line,) = bench.store.events()
    assert (line.seq, line.type, line.queue, line.at) == (1, "queue_defined", "q", bench.now())
    assert (line.task_id, line.worker, line.fencing_token, line.key_id, line.data) == (None,) * 5


@pytest.mark.parametrize("limit", [1, 2, 7, 10_000])
def test_pages_of_the_log(bench: Bench, limit: int) -> None:
    """Pages after a number follow each other without a gap; numbers rise; the end is an empty page."""
    for _ in range(20):
        bench.enqueue()
    seen: list[int] = []
    while page := unchanged(bench, bench.store.events, after=seen[-1] if seen else 0, limit=limit):
        assert len(page) <= limit
        seen += [line.seq for line in page]
    assert seen == sorted(set(seen))
    assert len(seen) == 21
    assert bench.store.events(after=2**53 - 1) == []


def test_a_page_of_ten_thousand(bench: Bench) -> None:
    """A page has up to 10,000 lines and by default a hundred."""
    bench.queue("big", lease_seconds=3_600, heartbeat_seconds=600)
    bench.leased("big", task_id="root")
    for _ in range(101):
        lease = bench.store.claim("big", "w")
        task_id, token = ("root", 1) if lease is None else (lease.task_id, lease.fencing_token)
        bench.store.split(task_id, token, [{"brief": {}}] * 99)
    assert len(bench.store.events(limit=10_000)) == 10_000
    assert len(bench.store.events()) == 100
    refused(bench, "invalid_request", bench.store.events, limit=10_001)


NO_PAGES: list[Any] = [
    {"limit": 0}, {"limit": -1}, {"limit": 1.5}, {"after": -1}, {"after": 2**53}, {"after": "1"},
]  # fmt: skip


def test_what_is_no_page(bench: Bench) -> None:
    """A page starts after a number from 0 to 2^53 - 1 and has at least one line."""
    for ask in NO_PAGES:
        refused(bench, "invalid_request", bench.store.events, **ask)


def test_only_an_admin_key_reads_the_log(bench: Bench) -> None:
    """The log tells of every queue: it is for admin keys, of whichever queues."""
    refused(bench, "scope_denied", bench.key(scopes=["store"]).events)
    assert len(bench.key(scopes=["admin"], queues=["other"]).events()) == 3


def test_a_refusal_is_no_event(bench: Bench) -> None:
    """What was refused leaves no line in the log."""
    seq = bench.seq()
    refused(bench, "invalid_request", bench.store.events, limit=0)
    refused(bench, "invalid_request", bench.store.counts, recount="yes")
    assert bench.seq() == seq


def test_no_document_is_in_the_log(bench: Bench) -> None:
    """Whatever briefs, outputs, errors, reasons, inputs and secrets went through, the log has none."""
    bench.queue("q", max_attempts=1)
    key = bench.key(scopes=["admin"])
    secret = bench.store.issue_key(name="hush-label").key
    bench.enqueue(task_id="t", brief={"hush-brief": "hush-brief"})
    key.claim("q", "w", idempotency_key="hush-claim-key")
    key.park("t", 1, "hush-reason", input_schema={"title": "hush-schema"})
    bench.store.resume("t", {"hush-input": "hush-input"})
    key.claim("q", "w")
    key.submit("t", 2, {"hush-output": 1}, "hush-submit-key", ok=False, error="hush-error")
    bench.store.cancel(bench.enqueue(), "hush-cancel")
    log = msgspec.json.encode(bench.log()).decode()
    assert "hush" not in log
    assert secret not in log
    assert {line.type for line in bench.log()} <= set(EVENT_TYPES)
