"""What statements about queues, tasks, leases, results, keys, jobs and the log answer with."""

from __future__ import annotations

from tessera.rows.base import Row


class QueueRow(Row, frozen=True):
    """A queue's settings."""

    queue: int
    name: str
    heartbeat_seconds: int
    miss_limit: int
    lease_seconds: int
    max_attempts: int
    backoff_base_seconds: int
    backoff_cap_seconds: int
    weight: int
    paused: int
    workspace_id: str | None = None


class CountsRow(Row, frozen=True):
    """How many tasks of a queue are in each state."""

    name: str
    ready: int
    leased: int
    waiting: int
    done: int
    dead: int
    cancelled: int


class HealthRow(Row, frozen=True):
    """A queue's counts, its oldest claimable task and the leases that nobody has settled."""

    name: str
    ready: int
    leased: int
    waiting: int
    done: int
    dead: int
    cancelled: int
    oldest_ready_at: int | None
    expired_leases: int


class TaskRow(Row, frozen=True):
    """A task, with its kind and effect class, and its lease while it has one."""

    serial: int
    revision: int
    task_id: str
    queue: int
    lane: int
    state: int
    priority: int
    created_at: int
    updated_at: int
    due: int | None
    not_before: int | None
    fencing_token: int
    attempts: int
    failures: int
    parks: int
    parent: int | None
    depth: int
    children: int
    pending_children: int
    dependents: int
    dependencies: int
    pending_deps: int
    wait_reason: int | None
    park_reason: str | None
    parked_by: str | None
    last_error: str | None
    cancel_reason: str | None
    requeued_from: int | None
    requirement: int | None
    kind: str
    effect: int
    worker: str | None
    key_id: str | None
    claim_key: str | None
    claimed_at: int | None
    expires_at: int | None
    hard_expires_at: int | None


class ReadyRow(TaskRow, frozen=True):
    """A task that may be leased, with its brief as `BriefRow` has it; without, if that is not there."""

    sha256: str | None
    brief: bytes | None
    traceparent: str | None


class NamedTask(Row, frozen=True):
    """A task as others refer to it."""

    serial: int
    task_id: str
    queue: int
    state: int
    queue_name: str
    workspace_id: str | None


class Descendant(Row, frozen=True):
    """A task under another one that has not ended, and whoever works on it."""

    serial: int
    task_id: str
    queue: int
    state: int
    fencing_token: int
    worker: str | None


class HeldBack(Row, frozen=True):
    """A waiting task, and how much of its wait some ending tasks resolve."""

    serial: int
    children: int
    dependencies: int


class BriefRow(Row, frozen=True):
    """A brief's bytes, the hash they had when they were stored, and the trace of the task."""

    serial: int
    sha256: str
    brief: bytes
    traceparent: str | None


class OutcomeRow(Row, frozen=True):
    """A child or dependency, with its latest successful output."""

    task_id: str
    kind: str
    state: int
    output: str | None
    sha256: str | None
    result: int | None


class InputRow(Row, frozen=True):
    """What answered a park."""

    park: int
    input: str
    resumed_at: int


class ResultRow(Row, frozen=True):
    """What one submit handed in."""

    result: int
    idempotency_key: str
    serial: int
    fencing_token: int
    worker: str
    ok: int
    output: str
    error: str | None
    sha256: str
    submitted_at: int
    state: int


class JobRow(Row, frozen=True):
    """A model job, with the public name of its task."""

    job: int
    job_id: str
    serial: int
    fencing_token: int
    key_id: str | None
    model: str
    status: str
    usage: str
    cost_usd: float | None
    created_at: int
    updated_at: int
    task_id: str
    queue: int


class RunningJobs(Row, frozen=True):
    """How many jobs of a task have not ended."""

    serial: int
    jobs: int


class KeyRow(Row, frozen=True):
    """A key without its secret."""

    key_id: str
    name: str | None
    grant_json: str
    created_at: int
    expires_at: int
    revoked_at: int | None


class StandingRow(Row, frozen=True):
    """What decides whether a key counts."""

    expires_at: int
    revoked_at: int | None


class ApprovalRow(Row, frozen=True):
    """The owner's word for one key of a grant."""

    grant_json: str
    expires_at: int
    key_id: str | None


class EventRow(Row, frozen=True):
    """One line of the log."""

    seq: int
    at: int
    type: int
    queue: str | None
    task_id: str | None
    worker: str | None
    fencing_token: int | None
    key_id: str | None
    data: str | None
