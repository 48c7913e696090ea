"""park: give a task back until somebody supplies what it needs. (Specification §5.2; contract §3.)"""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from verbs.bench import LAPSE, Bench
from verbs.refusals import dump, refused, refused_after_lapse

from tessera.models import Lease

VERBS = ("park",)
DAYS_30 = 30 * 24 * 3_600
REASON_BYTES = 8 << 10
SCHEMA_BYTES = 8 << 10


def test_the_whole_answer(bench: Bench, lease: Lease) -> None:
    """The task waits for input, without a failure, its lease over; the answer is the task as it now is."""
    before = bench.store.task("t")
    bench.world.pass_seconds(1)
    view = bench.store.park("t", 1, "waiting for ü", 60)
    assert view == bench.store.task("t")
    assert view == msgspec.structs.replace(
        before, state="waiting", wait_reason="input", parks=1, park_reason="waiting for ü", parked_by=None,
        resume_at=bench.after(60), worker=None, claimed_at=None, expires_at=None, updated_at=bench.now(),
    )  # fmt: skip
    assert (bench.counts().waiting, bench.counts().leased) == (1, 0)
    assert bench.store.claim("q", "w") is None


def test_the_log_of_a_park(bench: Bench) -> None:
    """One event names the lease that ended, the key and the park's number, and holds no reason."""
    key = bench.key()
    task_id = bench.enqueue()
    key.claim("q", "w")
    seq = bench.seq()
    view = key.park(task_id, 1, "a secret reason", input_schema={"type": "string"})
    (line,) = bench.log(seq)
    assert (line.type, line.queue, line.task_id, line.worker) == ("parked", "q", task_id, "w")
    assert (line.fencing_token, line.key_id, line.data) == (1, bench.key_id(), {"park": 1})
    assert view.parked_by == bench.key_id()


@pytest.mark.parametrize("waker", ["reap", "claim"])
def test_a_park_whose_time_is_up(bench: Bench, lease: Lease, waker: str) -> None:
    """After `resume_within` seconds, not before, the task comes back with the input that says so."""
    bench.store.park("t", 1, "r", 7.5)
    bench.world.pass_seconds(7.499999)
    assert (bench.store.reap(), bench.store.claim("q", "w")) == (0, None)
    bench.world.pass_seconds(0.000001)
    if waker == "reap":
        assert bench.store.reap() == 1
        assert bench.state("t") == "ready"
    again = bench.claim()
    assert (again.fencing_token, again.failures, again.parks) == (2, 0, 1)
    assert [(one.park, one.input, one.resumed_at) for one in again.inputs] == [
        (1, {"timed_out": True}, bench.now())
    ]
    assert bench.story("t") == ["enqueued", "claimed", "parked", "park_expired", "claimed"]
    expired = bench.log(task_id="t")[3]
    assert (expired.key_id, expired.data, expired.fencing_token) == (None, {"park": 1}, 1)
    task = bench.store.task("t")
    assert (task.park_reason, task.parked_by, task.resume_at, task.wait_reason) == (None, None, None, None)


def test_a_park_without_an_end(bench: Bench, lease: Lease) -> None:
    """Without `resume_within` no time brings the task back."""
    assert bench.store.park("t", 1, "r").resume_at is None
    bench.world.pass_seconds(DAYS_30 * 2)
    assert (bench.store.reap(), bench.state("t")) == (0, "waiting")


def test_every_park_counts(bench: Bench, lease: Lease) -> None:
    """Each park raises `parks`, and every input so far is on the next lease, in order."""
    for number in (1, 2, 3):
        assert bench.store.park("t", number, f"reason {number}").parks == number
        bench.store.resume("t", {"answer": number})
        lease = bench.claim()
        assert (lease.parks, lease.attempts, lease.failures) == (number, number + 1, 0)
    assert [(one.park, one.input) for one in lease.inputs] == [(n, {"answer": n}) for n in (1, 2, 3)]


def test_a_parent_may_park(bench: Bench, lease: Lease) -> None:
    """A parent back from its split may park; its children stay on every later lease."""
    bench.store.split("t", 1, [{"brief": {}}])
    bench.ok(bench.claim(), 1)
    merge = bench.claim()
    bench.store.park("t", 2, "r")
    bench.store.resume("t", 0)
    assert bench.claim().children == merge.children


@pytest.mark.parametrize("within", [0.000001, 1, DAYS_30])
def test_how_long_a_park_may_be(bench: Bench, lease: Lease, within: float) -> None:
    """A park ends after anything above nothing and up to thirty days."""
    assert bench.store.park("t", 1, "r", within).resume_at == bench.after(within)


NOT_WITHIN: list[Any] = [0, -1, -0.0, DAYS_30 + 0.001, float("inf"), float("nan"), "60", True]


def test_how_long_a_park_may_not_be(bench: Bench, lease: Lease) -> None:
    """Nothing, less than nothing and more than thirty days are refused."""
    for within in NOT_WITHIN:
        refused(bench, "invalid_request", bench.store.park, "t", 1, "r", within)


@pytest.mark.parametrize("character", ["x", "é", "€", "\U0001f600"])
def test_the_size_of_a_reason(bench: Bench, lease: Lease, character: str) -> None:
    """A reason has at most 8 KiB of UTF-8, and may be empty."""
    width = len(character.encode())
    reason = character * (REASON_BYTES // width) + "x" * (REASON_BYTES % width)
    refused(bench, "invalid_request", bench.store.park, "t", 1, reason + "x")
    assert bench.store.park("t", 1, reason).park_reason == reason


def test_what_is_no_reason(bench: Bench, lease: Lease) -> None:
    """A reason is a text that Unicode knows."""
    for reason in [None, 1, ["r"], "\ud800"]:
        refused(bench, "invalid_request", bench.store.park, "t", 1, reason)


def test_an_empty_reason(bench: Bench, lease: Lease) -> None:
    """A park need not say why."""
    assert bench.store.park("t", 1, "").park_reason == ""


def schema_of(size: int) -> dict[str, Any]:
    """A JSON Schema whose canonical text has this many bytes."""
    return {"title": "x" * (size - len('{"title":""}'))}


def test_the_size_of_a_schema(bench: Bench, lease: Lease) -> None:
    """A schema has at most 8 KiB of canonical bytes."""
    beyond = schema_of(SCHEMA_BYTES + 1)
    refused(bench, "invalid_request", bench.store.park, "t", 1, "r", input_schema=beyond)
    bench.store.park("t", 1, "r", input_schema=schema_of(SCHEMA_BYTES))
    assert len(dump(bench.path)["park_schemas"]) == 1


NO_SCHEMAS: list[Any] = [
        [], "string", 1, {"type": "text"}, {"pattern": "("}, {"pattern": "(a)\\1"}, {"$ref": "#"},
        {"properties": {"a": {"$ref": "https://example.com/s"}}}, {"$schema": "https://example.com/s"},
        {"unevaluatedProperties": False}, {"maxLength": -1}, {"multipleOf": 0}, {"n": float("nan")},
    ]  # fmt: skip


def test_what_is_no_schema(bench: Bench, lease: Lease) -> None:
    """What is no JSON Schema, or could cost more than its size, is refused when it is given."""
    for schema in NO_SCHEMAS:
        refused(bench, "invalid_request", bench.store.park, "t", 1, "r", input_schema=schema)


@pytest.mark.parametrize("schema", [True, False, {}])
def test_the_smallest_schemas(bench: Bench, lease: Lease, schema: Any) -> None:
    """The schemas that allow everything and nothing are schemas; null is none."""
    bench.store.park("t", 1, "r", input_schema=schema)
    assert len(dump(bench.path)["park_schemas"]) == 1


def test_an_unknown_task(bench: Bench, lease: Lease) -> None:
    """A task that does not exist is not found."""
    refused(bench, "not_found", bench.store.park, "none", 1, "r")


def test_outside_the_grant(bench: Bench, lease: Lease) -> None:
    """Keys of other queues and kinds park nothing."""
    refused(bench, "forbidden", bench.key(queues=["other"]).park, "t", 1, "r")
    refused(bench, "forbidden", bench.key(kinds=["x"]).park, "t", 2, "r")


def test_another_keys_lease(bench: Bench, lease: Lease) -> None:
    """Only the key that claimed parks."""
    refused(bench, "scope_denied", bench.key(scopes=["admin"]).park, "t", 1, "r")


def test_a_lease_that_is_not_live(bench: Bench, lease: Lease) -> None:
    """A guessed, a lapsed and an ended lease park nothing, and leave no schema behind."""
    schema = {"type": "string"}
    refused(bench, "stale_lease", bench.store.park, "t", 2, "r", input_schema=schema)
    bench.world.pass_seconds(LAPSE)
    refused_after_lapse(bench, "stale_lease", bench.store.park, "t", 1, "r", input_schema=schema)
    bench.claim()
    bench.store.park("t", 2, "r")
    for token in (1, 2, 3):
        refused(bench, "stale_lease", bench.store.park, "t", token, "again", input_schema=schema)
