"""Leases: claiming, keeping, handing in, giving back, waiting."""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import Meta

from tessera import limits, names
from tessera.models.base import (
    NULL,
    Answer,
    Delay,
    Document,
    EffectClass,
    IdempotencyKey,
    KnownId,
    Model,
    Name,
    Priority,
    Reason,
    TaskId,
    Token,
    Wait,
    Worker,
)


class Claim(Model, frozen=True):
    """Who asks for work, from which queue (or queues, served in proportion to their weight), and which kinds
    and effect classes it would take.
    """

    worker: Worker
    queue: Name | None = None
    queues: Annotated[list[Name], Meta(min_length=1, max_length=limits.QUEUES_PER_CLAIM_MAX)] | None = None
    kinds: Annotated[list[Name], Meta(max_length=limits.KINDS_PER_CLAIM_MAX)] | None = None
    effect_classes: Annotated[list[EffectClass], Meta(max_length=len(names.EFFECT_CLASSES))] | None = None
    wait_seconds: Wait = 0  # how long a service may wait for work; a store at hand answers at once
    idempotency_key: IdempotencyKey | None = None


class ClaimBatch(Claim, frozen=True):
    """The same for up to `limit` tasks at once."""

    limit: Annotated[int, Meta(ge=1, le=limits.CLAIMS_PER_BATCH_MAX)] = 1


class Empty(Answer, frozen=True):
    """No lease now; `retry_after_seconds` is when the queue may have one."""

    retry_after_seconds: int


class Outcome(Answer, frozen=True):
    """A child or dependency, as its parent's or dependent's lease shows it. `output` is its latest
    successful one, null when there is none or when it did not fit on the lease; the hash tells which.
    """

    task_id: str
    kind: str
    state: str
    output: Document
    output_sha256: str | None
    result_id: str | None


class Input(Answer, frozen=True):
    """What answered a park."""

    park: int
    input: Document
    resumed_at: str


class Lease(Answer, frozen=True):
    """The right to work on one task until it lapses, with all that the work needs."""

    task_id: str
    queue: str
    kind: str
    effect_class: str
    priority: int
    brief: Document
    worker: str
    fencing_token: int
    attempts: int
    failures: int
    parks: int
    claimed_at: str
    expires_at: str
    hard_expires_at: str
    heartbeat_seconds: int
    parent_id: str | None
    depth: int
    traceparent: str | None = None  # the trace that the task was enqueued in, to be passed on
    children: list[Outcome] = []
    dependencies: list[Outcome] = []
    inputs: list[Input] = []


class Leases(Answer, frozen=True):
    """What a batch claimed; never empty."""

    leases: list[Lease]


class Heartbeat(Model, frozen=True):
    """A sign of life from a lease's holder."""

    task_id: KnownId
    fencing_token: Token


class Release(Model, frozen=True):
    """A lease to give back unharmed; the task may be claimed again after `delay_seconds`."""

    task_id: KnownId
    fencing_token: Token
    delay_seconds: Delay = 0


class Submit(Model, frozen=True):
    """What came of a lease."""

    task_id: KnownId
    fencing_token: Token
    output: Document = NULL
    ok: bool = True
    error: str | None = None  # up to 8 KiB; the verb measures it, so that a long one refuses no whole batch
    idempotency_key: IdempotencyKey | None = None  # required; over HTTP it is a header


class Receipt(Answer, frozen=True):
    """The proof of a submit. (Specification §5.4.) `state` is the task's right after it."""

    task_id: str
    fencing_token: int
    ok: bool
    sha256: str
    idempotency_key: str
    submitted_at: str
    replayed: bool
    state: str


class SubmitBatch(Model, frozen=True):
    """Several submits, each standing alone."""

    submits: Annotated[list[Submit], Meta(min_length=1, max_length=limits.SUBMITS_PER_BATCH_MAX)]


class Submitted(Answer, frozen=True):
    """For each submit of a batch, in order: its receipt, or the problem document of its refusal."""

    results: list[Receipt | dict[str, Any]]


class Result(Answer, frozen=True):
    """One stored submit."""

    result_id: str
    task_id: str
    fencing_token: int
    worker: str
    ok: bool
    output: Document
    error: str | None
    sha256: str
    idempotency_key: str
    submitted_at: str


class Results(Answer, frozen=True):
    """Every submit of a task, oldest first."""

    results: list[Result]


class Child(Model, frozen=True):
    """A child to be; what it leaves out comes from its parent. `after` lists indexes of earlier children."""

    brief: Document
    kind: Name | None = None
    queue: Name | None = None
    effect_class: EffectClass | None = None
    priority: Priority | None = None
    task_id: TaskId | None = None
    after: Annotated[list[int], Meta(max_length=limits.CHILDREN_PER_SPLIT_MAX)] = []


class Split(Model, frozen=True):
    """A task to turn into children."""

    task_id: KnownId
    fencing_token: Token
    children: Annotated[list[Child], Meta(min_length=1, max_length=limits.CHILDREN_PER_SPLIT_MAX)]


class Children(Answer, frozen=True):
    """The children's ids, in the order given."""

    children: list[str]


class Park(Model, frozen=True):
    """A lease to give back until somebody supplies what the task needs."""

    task_id: KnownId
    fencing_token: Token
    reason: Reason
    resume_within: Annotated[float, Meta(gt=0, le=limits.PARK_SECONDS_MAX)] | None = None
    input_schema: Document = NULL  # a JSON Schema that `resume` is checked against


class Resume(Model, frozen=True):
    """What a parked task waits for. `park` may say which of its parks is meant."""

    task_id: KnownId
    input: Document
    park: Annotated[int, Meta(ge=1, le=limits.INTEGER_MAX)] | None = None


class Cancel(Model, frozen=True):
    """A task to end, with all its unfinished descendants."""

    task_id: KnownId
    reason: Reason


class Reaped(Answer, frozen=True):
    """How many lapses, retries and parks a reap has settled."""

    reaped: int
