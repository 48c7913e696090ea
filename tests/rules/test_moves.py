"""What each move makes of a task's row, field by field: whatever is not named here stays."""

from __future__ import annotations

from typing import Any

import pytest
from rules.rows_for_rules import NOW, SECOND, a_leased_task, a_queue, a_task, a_waiting_task, changed

from tessera.rows import TaskRow
from tessera.rules import moves
from tessera.states import CANCELLED, CHILDREN, DEAD, DEPENDENCIES, DONE, INPUT, LEASED, READY, WAITING

TOUCHED = {"revision": 5, "updated_at": NOW}
NO_LEASE = dict.fromkeys(["worker", "key_id", "claim_key", "claimed_at", "expires_at", "hard_expires_at"])


def test_leased() -> None:
    """A ready task is held: a token and an attempt more, the deadlines set, its delay forgotten."""
    before = a_task(fencing_token=3, attempts=3, failures=1, not_before=NOW - 1)
    assert changed(before, moves.leased(before, a_queue(), NOW, "w", "k_1", "i")) == {
        **TOUCHED, "state": LEASED, "fencing_token": 4, "attempts": 4, "not_before": None, "worker": "w",
        "key_id": "k_1", "claim_key": "i", "claimed_at": NOW, "expires_at": NOW + 180 * SECOND,
        "hard_expires_at": NOW + 600 * SECOND,
    }  # fmt: skip


def test_leased_by_the_owner() -> None:
    """A claim without a key and without an idempotency key leaves both empty."""
    after = moves.leased(a_task(), a_queue(), NOW, "w", None, None)
    assert (after.key_id, after.claim_key, after.worker) == (None, None, "w")


def test_extended() -> None:
    """A heartbeat moves the deadline and not even the task's revision."""
    before = a_leased_task()
    assert changed(before, moves.extended(before, a_queue(), NOW)) == {"expires_at": NOW + 180 * SECOND}
    late = NOW + 580 * SECOND
    assert moves.extended(before, a_queue(), late).expires_at == before.hard_expires_at


def test_won() -> None:
    """A won task is held by its agent for the time that was asked for, which no heartbeat shortens."""
    before = a_task(fencing_token=3, attempts=3, not_before=NOW - 1, requirement=7)
    after = moves.won(before, NOW, "agt_a", "k_1", 400)
    assert changed(before, after) == {
        **TOUCHED, "state": LEASED, "fencing_token": 4, "attempts": 4, "not_before": None, "worker": "agt_a",
        "key_id": "k_1", "claimed_at": NOW, "expires_at": NOW + 400 * SECOND,
        "hard_expires_at": NOW + 400 * SECOND,
    }  # fmt: skip
    assert moves.extended(after, a_queue(), NOW).expires_at == NOW + 400 * SECOND


def test_voided() -> None:
    """A contest that came to nothing leaves the task as it was, under another token."""
    before = a_task(fencing_token=3)
    assert changed(before, moves.voided(before, NOW)) == {**TOUCHED, "fencing_token": 4}


def test_done() -> None:
    """A lease that ended well leaves a task that is done, and no lease."""
    before = a_leased_task(failures=2, last_error="before")
    assert changed(before, moves.done(before, NOW)) == {**TOUCHED, **NO_LEASE, "state": DONE}


@pytest.mark.parametrize(("failures", "ceiling"), [(0, 30), (1, 60)])
@pytest.mark.parametrize("u", [0.5, 1.0])
def test_failed_and_tried_again(failures: int, ceiling: int, u: float) -> None:
    """A failure below the last waits its backoff, in state ready, due at its instant."""
    before = a_leased_task(failures=failures)
    start = NOW + int(ceiling * u * SECOND)
    assert changed(before, moves.failed(before, a_queue(), NOW, u, "why")) == {
        **TOUCHED, **NO_LEASE, "state": READY, "failures": failures + 1, "last_error": "why", "due": start,
        "not_before": start,
    }  # fmt: skip


def test_failed_without_a_backoff() -> None:
    """With no backoff the task is claimable at once: nothing is due."""
    before = a_leased_task()
    after = moves.failed(before, a_queue(backoff_base_seconds=0), NOW, 1.0, None)
    assert (after.state, after.due, after.not_before, after.last_error) == (READY, None, None, None)


@pytest.mark.parametrize(("failures", "attempts"), [(0, 1), (2, 3), (19, 20), (7, 3)])
def test_failed_for_the_last_time(failures: int, attempts: int) -> None:
    """At the last attempt, or beyond a limit that was lowered, a failure is the end."""
    before = a_leased_task(failures=failures)
    assert changed(before, moves.failed(before, a_queue(max_attempts=attempts), NOW, 1.0, "why")) == {
        **TOUCHED, **NO_LEASE, "state": DEAD, "failures": failures + 1, "last_error": "why",
    }  # fmt: skip


@pytest.mark.parametrize(("delay", "start"), [(0, None), (1e-9, None), (1.5, NOW + 1_500_000)])
def test_released(delay: float, start: int | None) -> None:
    """A lease given back counts no failure, and starts after its delay."""
    before = a_leased_task(failures=1, last_error="before", due=None, not_before=None)
    delayed = {} if start is None else {"due": start, "not_before": start}
    assert changed(before, moves.released(before, NOW, delay)) == {
        **TOUCHED, **NO_LEASE, "state": READY, **delayed,
    }  # fmt: skip


@pytest.mark.parametrize(("within", "due"), [(None, {}), (60, {"due": NOW + 60 * SECOND})])
def test_parked(within: float | None, due: dict[str, int]) -> None:
    """A park counts itself, says why and whose it is, and wakes when told; no failure is counted."""
    before = a_leased_task(parks=2)
    assert changed(before, moves.parked(before, NOW, "why", "k_1", within)) == {
        **TOUCHED, **NO_LEASE, **due, "state": WAITING, "wait_reason": INPUT, "parks": 3,
        "park_reason": "why", "parked_by": "k_1",
    }  # fmt: skip


def test_split() -> None:
    """A split waits for its new children, and counts all that it ever had."""
    before = a_leased_task(children=2)
    assert changed(before, moves.split(before, NOW, 3)) == {
        **TOUCHED, **NO_LEASE, "state": WAITING, "wait_reason": CHILDREN, "pending_children": 3,
        "children": 5,
    }  # fmt: skip


WAITS = [
    (dict(wait_reason=CHILDREN, pending_children=3), (1, 0), dict(pending_children=2)),
    (dict(wait_reason=DEPENDENCIES, pending_deps=3), (0, 2), dict(pending_deps=1)),
    (dict(wait_reason=CHILDREN, pending_children=3), (3, 0), None),
    (dict(wait_reason=DEPENDENCIES, pending_deps=1), (0, 1), None),
]


@pytest.mark.parametrize(("waiting", "ended", "left"), WAITS)
def test_resolved(waiting: dict[str, int], ended: tuple[int, int], left: dict[str, int] | None) -> None:
    """Each end counts one less; the last one starts the task."""
    before = a_waiting_task(**waiting)
    after = moves.resolved(before, NOW, *ended)
    if left is not None:
        assert changed(before, after) == {**TOUCHED, **left}
    else:
        pending = "pending_children" if "pending_children" in waiting else "pending_deps"
        assert changed(before, after) == {**TOUCHED, "state": READY, "wait_reason": None, pending: 0}


@pytest.mark.parametrize(
    ("not_before", "due"), [(None, None), (NOW - 1, None), (NOW, None), (NOW + 1, NOW + 1)]
)
def test_started(not_before: int | None, due: int | None) -> None:
    """What was parked starts; a delay of its own that is still to come holds it."""
    before = a_waiting_task(
        wait_reason=INPUT, park_reason="why", parked_by="k_1", due=NOW - 5, not_before=not_before
    )
    assert changed(before, moves.started(before, NOW)) == {
        **TOUCHED, "state": READY, "wait_reason": None, "park_reason": None, "parked_by": None, "due": due,
    }  # fmt: skip


ENDING: list[tuple[TaskRow, dict[str, Any]]] = [
    (a_task(due=NOW + 5, not_before=NOW + 5), {"due": None}),
    (a_leased_task(), NO_LEASE),
    (
        a_waiting_task(wait_reason=INPUT, park_reason="why", parked_by="k_1", due=NOW + 5),
        {"wait_reason": None, "park_reason": None, "parked_by": None, "due": None},
    ),
    (a_waiting_task(wait_reason=CHILDREN, pending_children=2), {"wait_reason": None}),
]


@pytest.mark.parametrize(("before", "cleared"), ENDING)
def test_cancelled(before: TaskRow, cleared: dict[str, Any]) -> None:
    """A cancelled task has no lease, no wait and nothing due; what it counted stays as it was."""
    assert changed(before, moves.cancelled(before, NOW, "no more")) == {
        **TOUCHED, **cleared, "state": CANCELLED, "cancel_reason": "no more",
    }  # fmt: skip


def test_unreadable() -> None:
    """A task that cannot be handed out is dead without a failure of anybody's."""
    before = a_task(failures=1)
    assert changed(before, moves.unreadable(before, NOW, "damaged")) == {
        **TOUCHED, "state": DEAD, "last_error": "damaged",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("given", "state", "reason", "due"),
    [
        ({}, READY, None, None),
        ({"not_before": NOW + 5}, READY, None, NOW + 5),
        ({"depends_on": ("a", "b"), "pending_deps": 2}, WAITING, DEPENDENCIES, None),
        ({"depends_on": ("a", "b"), "pending_deps": 1, "not_before": NOW + 5}, WAITING, DEPENDENCIES, None),
        ({"depends_on": ("a", "b"), "pending_deps": 0}, READY, None, None),
    ],
)
def test_a_new_task(given: dict[str, Any], state: int, reason: int | None, due: int | None) -> None:
    """A task begins ready or waiting by what it depends on, and is due by its delay only once it is ready."""
    task = moves.NewTask(
        **{
            **dict(task_id="t", queue=1, kind="k", effect=0, priority=0, brief="{}", sha256="", now=NOW),
            **given,
        }
    )
    assert (task.state, task.wait_reason, task.due) == (state, reason, due)
    assert task.dependencies == len(given.get("depends_on", ()))


def test_every_move_is_tested() -> None:
    """A move that is added to the rules gets its row here."""
    public = {name for name, one in vars(moves).items() if callable(one) and one.__module__ == moves.__name__}
    tested = {name.removeprefix("test_") for name in globals() if name.startswith("test_")}
    assert {name for name in public if not name.startswith("_") and name != "NewTask"} <= tested | {"failed"}
