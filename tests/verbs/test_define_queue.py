"""define_queue: make a queue, change its settings. (Specification §4.)"""

from __future__ import annotations

import pytest
from msgspec.structs import asdict
from verbs.bench import Bench
from verbs.refusals import refused, unchanged

from tessera.models import QueueConfig

VERBS = ("define_queue",)
DAYS_30 = 30 * 24 * 3_600
DEFAULTS = {
    "heartbeat_seconds": 60, "miss_limit": 3, "lease_seconds": 600, "max_attempts": 3,
    "backoff_base_seconds": 30, "backoff_cap_seconds": 900, "weight": 1, "paused": False,
}  # fmt: skip
BOUNDS = {
    "heartbeat_seconds": (1, 600), "miss_limit": (1, 10), "lease_seconds": (1, 3_600),
    "max_attempts": (1, 20), "backoff_base_seconds": (0, DAYS_30), "backoff_cap_seconds": (0, DAYS_30),
    "weight": (1, 1_000),
}  # fmt: skip
NAMES = ["a", "0", "a" * 64, "a.b_c-d", "9-", "queue.with.many.dots", "claim", "nul"]
NO_NAMES = [
    "", "a" * 65, "A", "é", "_a", ".a", "-a", "a b", "a/b", "a\n", "\na", "a\x00", "a:b", "*", "..",
    "\uff41", "a\u0301", "\u0661",
]  # fmt: skip


def test_a_new_queue_has_the_specified_defaults(bench: Bench) -> None:
    """A queue defined by its name alone gets every default of the specification, and six counts of zero."""
    assert bench.store.define_queue("new") == QueueConfig(name="new", **DEFAULTS)
    assert set(asdict(bench.counts("new")).values()) == {0}
    assert [queue.name for queue in bench.store.queues()] == ["new", "q"]


def test_defining_again_changes_what_is_given_only(bench: Bench) -> None:
    """A setting that is left out keeps its value, on a queue that exists."""
    bench.store.define_queue("new", weight=7, lease_seconds=30, paused=True)
    changed = bench.store.define_queue("new", lease_seconds=31)
    assert changed == QueueConfig(
        name="new", **{**DEFAULTS, "weight": 7, "lease_seconds": 31, "paused": True}
    )
    assert bench.store.queues()[0] == changed


def test_the_log_says_who_defined_what(bench: Bench) -> None:
    """Each definition is one event with the queue and the key, and a change of `paused` one more."""
    seq = bench.seq()
    key = bench.key(scopes=["admin"])
    for paused in (False, True, True, False):
        key.define_queue("new", paused=paused)
    lines = bench.log(seq)[1:]
    assert [line.type for line in lines] == [
        "queue_defined", "queue_defined", "queue_paused", "queue_defined", "queue_defined", "queue_resumed",
    ]  # fmt: skip
    for line in lines:
        assert (line.queue, line.task_id, line.worker, line.fencing_token) == ("new", None, None, None)
        assert (line.key_id, line.data, line.at) == (bench.key_id(), None, bench.now())


@pytest.mark.parametrize("setting", BOUNDS)
def test_the_bounds_of_a_setting(bench: Bench, setting: str) -> None:
    """Both bounds are allowed; one below, one above, a fraction, a text and null are refused by name."""
    least, most = BOUNDS[setting]
    for allowed in (least, most):
        assert getattr(bench.store.define_queue("q", **{setting: allowed}), setting) == allowed
    for beyond in (least - 1, most + 1, least + 0.5, str(least), None, True, 2**63, -1):
        refusal = refused(bench, "invalid_request", bench.store.define_queue, "q", **{setting: beyond})
        assert setting in refusal.detail


@pytest.mark.parametrize("setting", [*BOUNDS, "paused"])
def test_a_setting_is_an_integer(bench: Bench, setting: str) -> None:
    """No infinity, no NaN and no number with a point gets into a queue's arithmetic."""
    for number in ("NaN", "Infinity", "-Infinity", "1e400", "1e3", "1.0"):
        ask = f'{{"name":"q","{setting}":{number}}}'.encode()
        refused(bench, "invalid_request", bench.raw, "define_queue", ask)
        refused(bench, "invalid_request", bench.store.define_queue, "q", **{setting: float(number)})


@pytest.mark.parametrize("name", NAMES)
def test_names_of_queues(bench: Bench, name: str) -> None:
    """A name of the specified pattern makes a queue that works."""
    assert bench.store.define_queue(name).name == name
    bench.leased(name)


def test_what_is_no_name_of_a_queue(bench: Bench) -> None:
    """The pattern holds for the whole name: no trailing newline, no other alphabet, not one letter more."""
    for name in NO_NAMES:
        refused(bench, "invalid_request", bench.store.define_queue, name)
        refused(bench, "invalid_request", bench.store.enqueue, queue=name, kind="k", brief={})
        refused(bench, "invalid_request", bench.store.enqueue, queue="q", kind=name, brief={})
        refused(bench, "invalid_request", bench.store.claim, name, "w")
        refused(bench, "invalid_request", bench.store.claim, "q", "w", kinds=[name])
        refused(bench, "invalid_request", bench.store.tasks, name)


def test_only_an_admin_key_defines(bench: Bench) -> None:
    """A key without the admin scope is refused, whatever else it holds."""
    key = bench.key(scopes=["store"], effect_classes=["read", "write-internal", "write-repo"])
    refused(bench, "scope_denied", key.define_queue, "q", weight=2)
    refused(bench, "scope_denied", key.define_queue, "new")


def test_an_admin_key_defines_its_own_queues_only(bench: Bench) -> None:
    """Admin alone grants no queues: an admin key of one queue can neither change nor make another."""
    key = bench.key(scopes=["admin"], queues=["q"])
    assert key.define_queue("q", weight=2).weight == 2
    refused(bench, "forbidden", key.define_queue, "new")


def test_the_hard_deadline_of_a_lease_that_is_out_stays(bench: Bench) -> None:
    """New settings count from the next heartbeat on, but never move a lease's hard deadline."""
    lease = bench.leased()
    bench.store.define_queue("q", heartbeat_seconds=2, lease_seconds=3_600)
    assert bench.store.task(lease.task_id).expires_at == lease.expires_at
    beat = bench.store.heartbeat(lease.task_id, lease.fencing_token)
    assert (beat.expires_at, beat.hard_expires_at) == (bench.after(2), lease.hard_expires_at)
    assert beat.heartbeat_seconds == 2


def test_fewer_attempts_count_from_the_next_failure(bench: Bench) -> None:
    """Lowering `max_attempts` below a task's failures ends nothing by itself; its next failure does."""
    bench.queue("few", max_attempts=20)
    task_id = bench.enqueue("few")
    for _ in range(3):
        bench.fail(bench.claim("few"))
    bench.store.define_queue("few", max_attempts=1)
    assert bench.state(task_id) == "ready"
    bench.fail(bench.claim("few"))
    assert (bench.state(task_id), bench.store.task(task_id).failures) == ("dead", 4)


def test_looking_at_queues_changes_nothing(bench: Bench) -> None:
    """The list shows every queue to any key, in the order of their names."""
    for name in ("b", "a.1", "a-1", "0"):
        bench.queue(name)
    key = bench.key(queues=["b"])
    assert [queue.name for queue in unchanged(bench, key.queues)] == ["0", "a-1", "a.1", "b", "q"]
