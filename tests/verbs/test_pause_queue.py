"""pause_queue, resume_queue, queues: stop giving leases, and start again. (Contract §3.)"""

from __future__ import annotations

import pytest
from verbs.bench import LAPSE, Bench
from verbs.refusals import refused, unchanged

VERBS = ("pause_queue", "resume_queue", "queues")


def test_a_paused_queue_gives_no_leases(bench: Bench) -> None:
    """Nothing is claimed from a paused queue, by no filter; resumed, it goes on where it stopped."""
    task_id = bench.enqueue()
    assert bench.store.pause_queue("q").paused is True
    for filters in ({}, {"kinds": ["k"]}, {"effect_classes": ["read"]}, {"idempotency_key": "i"}):
        assert bench.store.claim("q", "w", **filters) is None
    assert bench.store.claim_or_wait("q", "w").retry_after_seconds == 30
    assert bench.store.resume_queue("q").paused is False
    assert bench.claim().task_id == task_id


def test_all_else_works_in_a_paused_queue(bench: Bench) -> None:
    """Leases that are out are kept, handed in, split, parked and released; tasks come in; time goes on."""
    leases = [bench.leased() for _ in range(6)]
    bench.store.pause_queue("q")
    at = [(lease.task_id, lease.fencing_token) for lease in leases]
    bench.store.heartbeat(*at[0])
    bench.store.submit(*at[0], None, "done")
    bench.store.split(*at[1], [{"brief": {}}])
    bench.store.park(*at[2], "r")
    bench.store.resume(at[2][0], 1)
    bench.store.release(*at[3])
    bench.store.cancel(at[4][0], "r")
    bench.enqueue()
    bench.world.pass_seconds(LAPSE)
    assert bench.store.claim("q", "w") is None
    assert bench.store.task(at[5][0]).last_error == "lease lapsed"
    assert [bench.state(task_id) for task_id, _ in at] == [
        "done", "waiting", "ready", "ready", "cancelled", "ready",
    ]  # fmt: skip


def test_the_same_claim_still_gets_its_lease(bench: Bench) -> None:
    """A claim repeated under its key finds its live lease in a paused queue too: the answer was lost, not the
    lease.
    """
    bench.enqueue()
    lease = bench.claim(idempotency_key="i")
    bench.store.pause_queue("q")
    assert unchanged(bench, bench.store.claim, "q", "w", idempotency_key="i") == lease


@pytest.mark.parametrize(
    ("verb", "event"), [("pause_queue", "queue_paused"), ("resume_queue", "queue_resumed")]
)
def test_pausing_is_told_once(bench: Bench, verb: str, event: str) -> None:
    """A change is one event with the queue and the key; doing it again changes nothing and says nothing."""
    if verb == "resume_queue":
        bench.store.pause_queue("q")
    key = bench.key(scopes=["admin"], queues=["q"])
    seq = bench.seq()
    first = getattr(key, verb)("q")
    (line,) = bench.log(seq)
    assert (line.type, line.queue, line.task_id, line.data) == (event, "q", None, None)
    assert (line.key_id, line.worker, line.fencing_token) == (bench.key_id(), None, None)
    assert unchanged(bench, getattr(key, verb), "q") == first


def test_pausing_is_for_admin_keys_of_the_queue(bench: Bench) -> None:
    """Neither a key without the admin scope nor an admin key of other queues pauses or resumes one."""
    plain, other = bench.key(), bench.key(scopes=["admin"], queues=["other"])
    refused(bench, "scope_denied", plain.pause_queue, "q")
    refused(bench, "scope_denied", plain.resume_queue, "q")
    refused(bench, "forbidden", other.pause_queue, "q")
    refused(bench, "forbidden", other.resume_queue, "q")


def test_an_unknown_queue_is_not_made(bench: Bench) -> None:
    """Pausing and resuming need a queue that exists, also for a key that would not cover it."""
    refused(bench, "not_found", bench.store.pause_queue, "none")
    refused(bench, "not_found", bench.store.resume_queue, "none")
    refused(bench, "not_found", bench.key(scopes=["admin"], queues=["q"]).pause_queue, "none")


def test_what_names_no_queue(bench: Bench) -> None:
    """A malformed name is refused before anything is looked up."""
    for name in ["", "Q", "q\n", "q ", 1, None]:
        refused(bench, "invalid_request", bench.store.pause_queue, name)
        refused(bench, "invalid_request", bench.store.resume_queue, name)


def test_the_list_shows_every_setting(bench: Bench) -> None:
    """What defining and pausing answered is what the list shows."""
    defined = bench.store.define_queue("a", weight=5, max_attempts=2)
    paused = bench.store.pause_queue("q")
    assert bench.store.queues() == [defined, paused]
    assert bench.key(queues=["a"]).queues() == [defined, paused]
