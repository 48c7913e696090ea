"""What a task's row becomes. Pure: the row as it was read goes in, the row as it shall be comes out.

`steps.tasks` writes the result, and only if the row's `revision` is still the one that was read.
"""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from tessera.limits import SECOND_US
from tessera.rows import QueueRow, TaskRow
from tessera.rules import leasing, retry
from tessera.states import CANCELLED, CHILDREN, DEAD, DEPENDENCIES, DONE, INPUT, LEASED, READY, WAITING


class NewTask(Struct, frozen=True):
    """A task to be: everything that its insertion writes."""

    task_id: str
    queue: int
    kind: str
    effect: int
    priority: int
    brief: str
    sha256: str  # of the brief
    now: int
    depends_on: tuple[str, ...] = ()
    pending_deps: int = 0
    not_before: int | None = None
    parent: int | None = None
    depth: int = 0
    requeued_from: int | None = None
    requirement: int | None = None  # what it asks of an agent, in a workspace
    traceparent: str | None = None  # the trace it was enqueued in

    @property
    def state(self) -> int:
        """Ready, unless something it depends on has not ended."""
        return WAITING if self.pending_deps else READY

    @property
    def wait_reason(self) -> int | None:
        """Why it waits, if it does."""
        return DEPENDENCIES if self.pending_deps else None

    @property
    def due(self) -> int | None:
        """When time alone makes it claimable."""
        return None if self.pending_deps else self.not_before

    @property
    def dependencies(self) -> int:
        """How many tasks it depends on, ended ones too."""
        return len(self.depends_on)


def leased(
    task: TaskRow, queue: QueueRow, now: int, worker: str, key_id: str | None, claim_key: str | None
) -> TaskRow:
    """Ready, then held by a worker: one more attempt, one token higher."""
    expires_at, hard_expires_at = leasing.deadlines(queue, now)
    return replace(
        task, revision=task.revision + 1, updated_at=now, state=LEASED, not_before=None,
        fencing_token=task.fencing_token + 1, attempts=task.attempts + 1, worker=worker, key_id=key_id,
        claim_key=claim_key, claimed_at=now, expires_at=expires_at, hard_expires_at=hard_expires_at,
    )  # fmt: skip


def extended(task: TaskRow, queue: QueueRow, now: int) -> TaskRow:
    """A lease that gave a sign of life. The task itself does not change. One that was won for a time keeps
    all of it.
    """
    assert task.expires_at is not None
    assert task.hard_expires_at is not None
    expires_at = leasing.extended(queue, now, task.hard_expires_at)
    return replace(
        task, expires_at=expires_at if task.requirement is None else max(expires_at, task.expires_at)
    )


def won(task: TaskRow, now: int, agent_id: str, key_id: str | None, lease_seconds: int) -> TaskRow:
    """Ready, then held by the agent that the ordered log has named, for the time that it asked for."""
    until = now + lease_seconds * SECOND_US
    return replace(
        task, revision=task.revision + 1, updated_at=now, state=LEASED, not_before=None,
        fencing_token=task.fencing_token + 1, attempts=task.attempts + 1, worker=agent_id, key_id=key_id,
        claim_key=None, claimed_at=now, expires_at=until, hard_expires_at=until,
    )  # fmt: skip


def voided(task: TaskRow, now: int) -> TaskRow:
    """A ready task whose contest came to nothing: the next one has another token, so that no message of this
    one, however late, wins it.
    """
    return replace(task, revision=task.revision + 1, updated_at=now, fencing_token=task.fencing_token + 1)


def done(task: TaskRow, now: int) -> TaskRow:
    """A lease that ended well."""
    return replace(_free(task, now), state=DONE)


def failed(task: TaskRow, queue: QueueRow, now: int, u: float, error: str | None) -> TaskRow:
    """A lease that failed or lapsed: tried again after a backoff, or dead at the last attempt."""
    failures = task.failures + 1
    if failures >= queue.max_attempts:
        return replace(_free(task, now), state=DEAD, failures=failures, last_error=error)
    start = _later(now + retry.delay_us(queue, failures, u), now)
    return replace(
        _free(task, now), state=READY, failures=failures, last_error=error, due=start, not_before=start
    )


def released(task: TaskRow, now: int, delay_seconds: float) -> TaskRow:
    """A lease given back unharmed."""
    start = _later(now + int(delay_seconds * SECOND_US), now)
    return replace(_free(task, now), state=READY, due=start, not_before=start)


def parked(task: TaskRow, now: int, reason: str, by: str | None, resume_within: float | None) -> TaskRow:
    """A lease given back until somebody supplies input, or until its time is up."""
    due = None if resume_within is None else now + int(resume_within * SECOND_US)
    return replace(
        _free(task, now), state=WAITING, wait_reason=INPUT, due=due, parks=task.parks + 1,
        park_reason=reason, parked_by=by,
    )  # fmt: skip


def split(task: TaskRow, now: int, children: int) -> TaskRow:
    """A lease given back until its children have ended."""
    return replace(
        _free(task, now), state=WAITING, wait_reason=CHILDREN, pending_children=children,
        children=task.children + children,
    )  # fmt: skip


def resolved(task: TaskRow, now: int, children: int, dependencies: int) -> TaskRow:
    """Some of what a waiting task waits for has ended; it starts when nothing is left."""
    children, dependencies = task.pending_children - children, task.pending_deps - dependencies
    left = replace(task, pending_children=children, pending_deps=dependencies)
    if children or dependencies:
        return replace(left, revision=task.revision + 1, updated_at=now)
    return started(left, now)


def started(task: TaskRow, now: int) -> TaskRow:
    """A waiting task that nothing holds back any more, unless its own delay does."""
    due = None if task.not_before is None else _later(task.not_before, now)
    return replace(_free(task, now), state=READY, due=due)


def cancelled(task: TaskRow, now: int, reason: str) -> TaskRow:
    """A task that is to be done no more."""
    return replace(_free(task, now), state=CANCELLED, cancel_reason=reason)


def unreadable(task: TaskRow, now: int, error: str) -> TaskRow:
    """A ready task whose brief cannot be handed out."""
    return replace(_free(task, now), state=DEAD, last_error=error)


def _free(task: TaskRow, now: int) -> TaskRow:
    """A task that nobody holds and that waits for nothing: where most moves begin."""
    return replace(
        task, revision=task.revision + 1, updated_at=now, due=None, wait_reason=None, park_reason=None,
        parked_by=None, worker=None, key_id=None, claim_key=None, claimed_at=None, expires_at=None,
        hard_expires_at=None,
    )  # fmt: skip


def _later(instant: int, now: int) -> int | None:
    """An instant if it is still to come."""
    return instant if instant > now else None
