"""Rows to try the rules on: a queue and a task with nothing special about them, except as told."""

from __future__ import annotations

from typing import Any

from tessera.rows import QueueRow, TaskRow
from tessera.states import LEASED, READY, WAITING

SECOND = 1_000_000
NOW = 1_800_000_000 * SECOND


def a_queue(**changes: Any) -> QueueRow:
    """A queue with the settings of the specification."""
    settings = dict(
        queue=1, name="q", heartbeat_seconds=60, miss_limit=3, lease_seconds=600, max_attempts=3,
        backoff_base_seconds=30, backoff_cap_seconds=900, weight=1, paused=0,
    )  # fmt: skip
    return QueueRow(**{**settings, **changes})


def a_task(**changes: Any) -> TaskRow:
    """A ready task that nobody has touched."""
    fields = dict(
        serial=1, revision=4, task_id="t", queue=1, lane=1, state=READY, priority=0, created_at=NOW - 100,
        updated_at=NOW - 50, due=None, not_before=None, fencing_token=0, attempts=0, failures=0, parks=0,
        parent=None, depth=0, children=0, pending_children=0, dependents=0, dependencies=0, pending_deps=0,
        wait_reason=None, park_reason=None, parked_by=None, last_error=None, cancel_reason=None,
        requeued_from=None, requirement=None, kind="k",
        effect=0, worker=None, key_id=None, claim_key=None, claimed_at=None,
        expires_at=None, hard_expires_at=None,
    )  # fmt: skip
    return TaskRow(**{**fields, **changes})


def a_leased_task(**changes: Any) -> TaskRow:
    """A task in its second lease."""
    fields = dict(
        state=LEASED, fencing_token=2, attempts=2, worker="w", key_id="k_1", claim_key="i",
        claimed_at=NOW - 10 * SECOND, expires_at=NOW + 170 * SECOND, hard_expires_at=NOW + 590 * SECOND,
    )  # fmt: skip
    return a_task(**{**fields, **changes})


def a_waiting_task(**changes: Any) -> TaskRow:
    """A task that waits."""
    return a_task(**{"state": WAITING, "fencing_token": 1, "attempts": 1, **changes})


def changed(before: TaskRow, after: TaskRow) -> dict[str, Any]:
    """The fields that differ between two rows, as they are after."""
    return {
        name: getattr(after, name)
        for name in before.__struct_fields__
        if getattr(before, name) != getattr(after, name)
    }
