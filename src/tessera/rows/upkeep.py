"""What the statements that look a store over answer with."""

from __future__ import annotations

from tessera.rows.base import Row


class Wrong(Row, frozen=True):
    """Something that should not be: what it is about, and what is wrong."""

    thing: str
    says: str


class BriefToCheck(Row, frozen=True):
    """A task with the bytes of its brief, if it has one."""

    serial: int
    task_id: str
    sha256: str | None
    brief: bytes | None


class ResultToCheck(Row, frozen=True):
    """What a receipt is made of, as bytes, and the receipt."""

    result: int
    serial: int
    task_id: str | None
    fencing_token: int
    ok: int
    output: bytes
    error: bytes | None
    sha256: str


class EventToCheck(Row, frozen=True):
    """A line of the log, and the number of the task that it names, if there is one."""

    seq: int
    at: int
    type: int
    task_id: str | None
    serial: int | None
    fencing_token: int | None


class TaskToCheck(Row, frozen=True):
    """A task, as far as the log tells of it."""

    serial: int
    task_id: str
    state: int
    attempts: int
    failures: int
    parks: int
    fencing_token: int


class Sizes(Row, frozen=True):
    """How many rows of each kind a store has."""

    tasks: int
    results: int
    leases: int
    records: int
    queues: int
    events: int


class Late(Row, frozen=True):
    """What is overdue in a queue, and since when."""

    queue: str
    expired_leases: int
    overdue_tasks: int
    since: int


class Numbers(Row, frozen=True):
    """How far a store has counted, and its last instant and event."""

    highest: int
    last_instant: int
    last_seq: int
    last_event_at: int | None


class RestoreSizes(Row, frozen=True):
    """How much a restore is about to change."""

    unfinished: int
    keys: int
    approvals: int
    feeds: int


class BlobSizes(Row, frozen=True):
    """How many blobs, objects, buckets, feeds and topics of its own log a store has."""

    blobs: int
    objects: int
    buckets: int
    feeds: int
    topics: int
