"""submit: hand in what came of a lease. (Specification §5.3, §5.4.)"""

from __future__ import annotations

import hashlib
import json
from typing import Any

import pytest
from verbs.bench import LAPSE, Bench
from verbs.refusals import dump, unchanged

from tessera.models import Receipt, Result

VERBS = ("submit",)


def receipt_hash(task_id: str, token: int, ok: bool, output: object, error: str | None) -> str:
    """The specification's formula, by the standard library."""
    document = {"task_id": task_id, "fencing_token": token, "ok": ok, "output": output, "error": error}
    text = json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()


@pytest.mark.parametrize(
    ("ok", "output", "error", "state"),
    [
        (True, {"n": 1}, None, "done"), (True, None, "a warning", "done"),
        (False, [1], "it broke", "ready"), (False, None, None, "ready"),
    ],
)  # fmt: skip
def test_the_whole_receipt(bench: Bench, ok: bool, output: object, error: str | None, state: str) -> None:
    """A receipt holds the outcome's hash, the key, the time and the state right after; a result the rest."""
    lease = bench.leased()
    bench.world.pass_seconds(1)
    receipt = bench.store.submit(lease.task_id, 1, output, "key-1", ok, error)
    sha256 = receipt_hash(lease.task_id, 1, ok, output, error)
    assert receipt == Receipt(
        task_id=lease.task_id, fencing_token=1, ok=ok, sha256=sha256, idempotency_key="key-1",
        submitted_at=bench.now(), replayed=False, state=state,
    )  # fmt: skip
    (result,) = bench.store.results(lease.task_id)
    assert result == Result(
        result_id=result.result_id, task_id=lease.task_id, fencing_token=1, worker="w", ok=ok, output=output,
        error=error, sha256=sha256, idempotency_key="key-1", submitted_at=bench.now(),
    )  # fmt: skip
    assert result.result_id.startswith("r_")


def test_a_success_ends_the_task(bench: Bench) -> None:
    """The task is done, its lease is gone, and nothing of it can be claimed again."""
    lease = bench.leased()
    bench.world.pass_seconds(1)
    bench.ok(lease)
    task = bench.store.task(lease.task_id)
    assert (task.state, task.failures, task.last_error, task.fencing_token) == ("done", 0, None, 1)
    assert (task.worker, task.claimed_at, task.expires_at, task.updated_at) == (None, None, None, bench.now())
    assert bench.counts().done == 1
    bench.world.pass_seconds(1_000)
    assert (bench.store.reap(), bench.store.claim("q", "w")) == (0, None)


def test_the_log_of_a_success(bench: Bench) -> None:
    """One event names the lease that ended and the key, and holds no output."""
    key = bench.key()
    task_id = bench.enqueue()
    key.claim("q", "w")
    seq = bench.seq()
    key.submit(task_id, 1, {"secret": 1}, "i", error="hush")
    (line,) = bench.log(seq)
    assert (line.type, line.queue, line.task_id, line.worker) == ("submitted", "q", task_id, "w")
    assert (line.fencing_token, line.key_id, line.data) == (1, bench.key_id(), {"ok": True})


def test_the_log_of_a_failure(bench: Bench) -> None:
    """A failure is two events: the submit, and what became of the task."""
    bench.queue("q", max_attempts=2)
    key = bench.key()
    task_id = bench.enqueue()
    seq = bench.seq()
    for token in (1, 2):
        key.claim("q", "w")
        key.submit(task_id, token, None, f"i{token}", ok=False, error="hush")
    told = [(line.type, line.data) for line in bench.log(seq) if line.type != "claimed"]
    assert told == [
        ("submitted", {"ok": False}), ("retry_scheduled", {"failures": 1}),
        ("submitted", {"ok": False}), ("dead_lettered", {"failures": 2}),
    ]  # fmt: skip
    for line in bench.log(seq):
        assert (line.queue, line.task_id, line.worker, line.key_id) == ("q", task_id, "w", bench.key_id())


@pytest.mark.parametrize("u", [0.0, 0.5, 1.0])
def test_the_backoff_of_a_failure(bench: Bench, u: float) -> None:
    """A failed task waits base x 2^(failures - 1) up to the cap, times something from half to one."""
    bench.world.u = u
    bench.queue("q", max_attempts=6, backoff_base_seconds=10, backoff_cap_seconds=60)
    task_id = bench.enqueue()
    for failures, ceiling in ((1, 10), (2, 20), (3, 40), (4, 60), (5, 60)):
        bench.fail(bench.claim(), f"failure {failures}")
        task = bench.store.task(task_id)
        assert (task.state, task.failures, task.last_error) == ("ready", failures, f"failure {failures}")
        delay = ceiling * (0.5 + u / 2)
        assert task.not_before == bench.after(delay)
        bench.world.pass_seconds(delay - 0.000001)
        assert bench.store.claim("q", "w") is None
        bench.world.pass_seconds(0.000001)
    bench.fail(bench.claim(), "the last")
    task = bench.store.task(task_id)
    assert (task.state, task.failures, task.last_error, task.not_before) == ("dead", 6, "the last", None)
    assert bench.counts().dead == 1


def test_the_tombstone_of_a_dead_letter(bench: Bench) -> None:
    """A dead task leaves one record in `negative.knowledge` in the transaction that ends it."""
    bench.queue("q", max_attempts=1)
    lease = bench.leased(brief={"b": 1, "a": "é"}, kind="sad")
    bench.world.pass_seconds(1)
    bench.fail(lease, "broke ü")
    tables = dump(bench.path)
    ((store, key, version, value, _),) = tables["records"]
    assert (store, key, version) == ("negative.knowledge", lease.task_id, 1)
    assert tables["record_heads"] == [("negative.knowledge", lease.task_id, 1)]
    assert json.loads(value) == {
        "task_id": lease.task_id, "queue": "q", "kind": "sad", "failures": 1, "last_error": "broke ü",
        "brief_sha256": hashlib.sha256('{"a":"é","b":1}'.encode()).hexdigest(), "dead_at": bench.now(),
    }  # fmt: skip


REPLAYS: dict[str, dict[str, Any]] = {
    "the same": {},
    "another output": {"output": [1, 2, 3]},
    "another outcome": {"ok": False, "error": "no"},
    "another token": {"fencing_token": 77},
}


@pytest.mark.parametrize("how", REPLAYS)
@pytest.mark.parametrize("later", ["at once", "lapsed", "claimed again", "ended"])
def test_a_replay_gets_the_first_receipt(bench: Bench, how: str, later: str) -> None:
    """Whatever a replay says and whatever became of the task, it gets the first receipt, nothing written."""
    bench.queue("q", max_attempts=2)
    lease = bench.leased()
    asked = {"task_id": lease.task_id, "fencing_token": 1, "output": {"n": 1}, "idempotency_key": "i"}
    first = bench.store.submit(**asked, ok=False, error="e")
    if later != "at once":
        again = bench.claim(worker="second")
        bench.world.pass_seconds(LAPSE if later == "lapsed" else 1)
        if later == "ended":
            bench.ok(again)
    replay = unchanged(bench, bench.store.submit, **{**asked, "ok": False, "error": "e", **REPLAYS[how]})
    assert replay == Receipt(**{**{f: getattr(first, f) for f in first.__struct_fields__}, "replayed": True})


def test_a_replay_by_another_key(bench: Bench) -> None:
    """Any key with the right on the task may read the receipt; one without it learns nothing."""
    lease = bench.leased()
    bench.store.submit(lease.task_id, 1, 5, "i")
    assert unchanged(bench, bench.key().submit, lease.task_id, 1, 5, "i").replayed


def test_what_depends_on_the_task_is_told(bench: Bench) -> None:
    """The end of a task resolves its dependents and its parent in the same transaction."""
    lease = bench.leased(task_id="p")
    (child,) = bench.store.split("p", 1, [{"brief": {}, "kind": "c"}])
    bench.enqueue(task_id="d", depends_on=[child, "p"])
    seq = bench.seq()
    bench.ok(bench.claim(kinds=["c"]))
    assert [(line.type, line.task_id) for line in bench.log(seq)][1:] == [
        ("submitted", child), ("parent_ready", "p"),
    ]  # fmt: skip
    dependent = bench.store.task("d")
    assert (dependent.state, dependent.pending_deps) == ("waiting", 1)
    bench.ok(bench.claim())
    last = bench.log()[-1]
    assert (last.type, last.task_id, last.fencing_token, last.key_id) == ("dependencies_met", "d", None, None)
    assert bench.state("d") == "ready"
    assert lease.task_id == "p"


def test_a_failure_that_is_tried_again_tells_nobody(bench: Bench) -> None:
    """Only the end of a task resolves anything; a retry does not."""
    bench.enqueue(task_id="first", kind="first")
    bench.enqueue(task_id="d", depends_on=["first"])
    bench.fail(bench.claim())
    assert bench.state("d") == "waiting"
