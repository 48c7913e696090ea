"""heartbeat: keep a lease alive. (Specification §5.2; contract §4.4.)"""

from __future__ import annotations

import msgspec
import pytest
from verbs.bench import LAPSE, Bench
from verbs.refusals import refused, refused_after_lapse

from tessera.errors import StaleLease

VERBS = ("heartbeat",)


@pytest.fixture
def long(bench: Bench) -> Bench:
    """A bench whose leases live three seconds from each heartbeat, ten in all."""
    bench.queue("q", heartbeat_seconds=3, miss_limit=1, lease_seconds=10)
    return bench


def test_a_heartbeat_moves_the_deadline(long: Bench) -> None:
    """The lease lives on from the heartbeat as if it had begun then; nothing else on it changes."""
    lease = long.leased()
    long.world.pass_seconds(2)
    beat = long.store.heartbeat(lease.task_id, 1)
    assert beat == msgspec.structs.replace(lease, expires_at=long.after(3))
    task = long.store.task(lease.task_id)
    assert (task.state, task.expires_at, task.claimed_at) == ("leased", beat.expires_at, lease.claimed_at)
    assert (task.updated_at, task.attempts, task.fencing_token) == (lease.claimed_at, 1, 1)
    assert long.counts().leased == 1


def test_never_past_the_hard_deadline(long: Bench) -> None:
    """Heartbeats without end keep a lease to its hard deadline, not a microsecond longer."""
    lease = long.leased()
    for _ in range(4):
        long.world.pass_seconds(2)
        beat = long.store.heartbeat(lease.task_id, 1)
        assert beat.hard_expires_at == lease.hard_expires_at
    assert beat.expires_at == lease.hard_expires_at
    long.world.pass_seconds(1.999999)
    assert long.store.heartbeat(lease.task_id, 1).expires_at == lease.hard_expires_at
    long.world.pass_seconds(0.000001)
    refused_after_lapse(long, "stale_lease", long.store.heartbeat, lease.task_id, 1)


def test_the_log_of_a_heartbeat(long: Bench) -> None:
    """Each heartbeat is one event with the queue, the task, the worker, the token and the key."""
    key = long.key()
    task_id = long.enqueue()
    key.claim("q", "w")
    seq = long.seq()
    key.heartbeat(task_id, 1)
    (line,) = long.log(seq)
    assert (line.type, line.queue, line.task_id, line.worker) == ("heartbeat", "q", task_id, "w")
    assert (line.fencing_token, line.key_id, line.data, line.at) == (1, long.key_id(), None, long.now())


def test_the_answer_carries_the_brief_alone(bench: Bench) -> None:
    """Children, dependencies and inputs were on the lease; a heartbeat does not repeat them."""
    bench.enqueue(task_id="first", kind="first")
    bench.enqueue(task_id="t", depends_on=["first"])
    bench.ok(bench.claim(), {"out": 1})
    lease = bench.claim()
    bench.store.park("t", 1, "r")
    bench.store.resume("t", {"in": 1})
    lease = bench.claim()
    assert len(lease.dependencies) == len(lease.inputs) == 1
    beat = bench.store.heartbeat("t", 2)
    assert (beat.children, beat.dependencies, beat.inputs) == ([], [], [])
    assert beat.brief == {"for": "q"}


def test_a_childs_parent_is_on_every_answer(bench: Bench) -> None:
    """A heartbeat names the parent and the depth as the lease did."""
    lease = bench.leased()
    (child,) = bench.store.split(lease.task_id, 1, [{"brief": {}}])
    bench.claim()
    beat = bench.store.heartbeat(child, 1)
    assert (beat.parent_id, beat.depth) == (lease.task_id, 1)


def test_live_to_the_last_microsecond(long: Bench) -> None:
    """A lease is live before its deadline and over at it; the lapse is settled, then refused."""
    lease = long.leased()
    long.world.pass_seconds(2.999999)
    assert long.store.heartbeat(lease.task_id, 1).expires_at == long.after(3)
    long.world.pass_seconds(3)
    refused_after_lapse(long, "stale_lease", long.store.heartbeat, lease.task_id, 1)
    task = long.store.task(lease.task_id)
    assert (task.state, task.failures, task.last_error) == ("ready", 1, "lease lapsed")
    refused(long, "stale_lease", long.store.heartbeat, lease.task_id, 1)


def test_a_clock_that_is_set_back(long: Bench) -> None:
    """A wall clock that steps back neither revives a lapsed lease nor lengthens a live one, also not after a
    restart.
    """
    lapsed, live = long.leased(), long.leased()
    long.world.pass_seconds(2)
    beat = long.store.heartbeat(live.task_id, 1)
    long.world.pass_seconds(-3_600)
    assert long.store.heartbeat(live.task_id, 1).expires_at == beat.expires_at
    long.world.pass_seconds(1)
    with pytest.raises(StaleLease):
        long.store.heartbeat(lapsed.task_id, 1)
    long.world.pass_seconds(-3_600)
    store = long.reopened()
    refused(long, "stale_lease", store.heartbeat, lapsed.task_id, 1)
    assert store.heartbeat(live.task_id, 1).hard_expires_at == live.hard_expires_at
    long.world.pass_seconds(2.999999)
    store.heartbeat(live.task_id, 1)
    long.world.pass_seconds(3)
    with pytest.raises(StaleLease):
        store.heartbeat(live.task_id, 1)
    assert store.task(live.task_id).failures == store.task(lapsed.task_id).failures == 1


def test_a_guessed_token(bench: Bench) -> None:
    """A token that was not handed out yet is no lease, and moves nothing."""
    for token in [2, 3, 2**53 - 1]:
        lease = bench.leased()
        refused(bench, "stale_lease", bench.store.heartbeat, lease.task_id, token)
        assert bench.store.task(lease.task_id).expires_at == lease.expires_at


def test_an_old_token(bench: Bench) -> None:
    """After the next claim the first token is over, for its own key and for any other."""
    key = bench.key()
    bench.enqueue()
    lease = key.claim("q", "w")
    assert lease is not None
    bench.world.pass_seconds(LAPSE)
    bench.claim(worker="second")
    for store in (bench.store, key, bench.key()):
        refused(bench, "stale_lease", store.heartbeat, lease.task_id, 1)


def test_what_is_no_token(bench: Bench) -> None:
    """A token is an integer from 1 to 2^53 - 1."""
    for token in [0, -1, 1.5, 2**53, "1", True, None, [1]]:
        lease = bench.leased()
        refused(bench, "invalid_request", bench.store.heartbeat, lease.task_id, token)


def test_what_names_no_task(bench: Bench) -> None:
    """A task id is 1 to 128 characters of text."""
    for task_id in ["", "x" * 129, None, 1]:
        refused(bench, "invalid_request", bench.store.heartbeat, task_id, 1)


def test_an_unknown_task(bench: Bench) -> None:
    """A task that does not exist is not found, whatever its name looks like."""
    for task_id in ["none", "x" * 128, "claim", "../t", "é", "%"]:
        bench.leased()
        refused(bench, "not_found", bench.store.heartbeat, task_id, 1)


def test_outside_the_grant(bench: Bench) -> None:
    """Keys of other queues and kinds are refused before the lease is looked at, live or not."""
    bench.queue("other")
    lease = bench.leased()
    for token in (1, 2):
        for key in (bench.key(queues=["other"]), bench.key(kinds=["x"])):
            refused(bench, "forbidden", key.heartbeat, lease.task_id, token)


def test_another_keys_lease(bench: Bench) -> None:
    """Only the key that claimed keeps a lease alive; not even an admin key may for it, and a stranger's
    heartbeat settles no lapse.
    """
    claiming, admin = bench.key(), bench.key(scopes=["admin"])
    bench.enqueue()
    lease = claiming.claim("q", "w")
    assert lease is not None
    mine = bench.leased()
    for store in (bench.key(), admin):
        refused(bench, "scope_denied", store.heartbeat, lease.task_id, 1)
        refused(bench, "scope_denied", store.heartbeat, mine.task_id, 1)
    bench.store.heartbeat(lease.task_id, 1)  # the owner stands above
    claiming.heartbeat(lease.task_id, 1)
    bench.world.pass_seconds(LAPSE)
    refused(bench, "scope_denied", admin.heartbeat, lease.task_id, 1)


def test_a_revoked_key_loses_its_lease(bench: Bench) -> None:
    """From the instant a key is revoked its heartbeats are refused; the lease lapses in its own time."""
    key = bench.key()
    bench.enqueue()
    lease = key.claim("q", "w")
    assert lease is not None
    bench.store.revoke_key(bench.key_id())
    refused(bench, "unauthorized", key.heartbeat, lease.task_id, 1)
    assert bench.state(lease.task_id) == "leased"


@pytest.mark.parametrize("end", ["submit", "split", "park", "release", "cancel"])
def test_after_the_end_of_the_lease(bench: Bench, end: str) -> None:
    """However a lease ended, its token keeps nothing alive and revives nothing."""
    lease = bench.leased()
    at = lease.task_id, 1
    if end == "submit":
        bench.ok(lease)
    elif end == "split":
        bench.store.split(*at, [{"brief": {}}])
    elif end == "park":
        bench.store.park(*at, "r")
    elif end == "release":
        bench.store.release(*at)
    else:
        bench.store.cancel(lease.task_id, "r")
    refused(bench, "stale_lease", bench.store.heartbeat, *at)
