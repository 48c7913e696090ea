"""Looking a store over, copying it, bringing it back."""

from __future__ import annotations

from typing import Literal

from tessera.models.base import Answer


class Check(Answer, frozen=True):
    """One kind of check: how many things it looked at, and how many were wrong."""

    name: str
    looked_at: int
    wrong: int


class Finding(Answer, frozen=True):
    """One thing that is wrong."""

    check: str
    thing: str
    says: str


class Verified(Answer, frozen=True):
    """What came of verifying a store: `checks` counts what is wrong, `findings` names the first of each."""

    ok: bool
    as_of: str
    checks: list[Check]
    findings: list[Finding]


class BackedUp(Answer, frozen=True):
    """A backup that was made and checked: everything up to an event of the log."""

    file: str
    bytes: int
    last_seq: int
    last_event_at: str | None
    verified: Verified


class Epoch(Answer, frozen=True):
    """What a restore changed in the copy, so that nothing handed out since counts or comes again."""

    epoch: int
    restored_at: str
    last_event_at: str | None
    leases_ended: int
    tokens_raised: int
    keys_revoked: int
    approvals_ended: int


class Restored(Answer, frozen=True):
    """A store that was brought back from a backup. `moved_aside` names where a damaged one was put."""

    store: str
    file: str
    replaced: bool
    moved_aside: str | None
    epoch: Epoch


class Moved(Answer, frozen=True):
    """A store that was moved from one place to another, compared row by row and verified there. `resumed`: an
    attempt before had brought part of it over.
    """

    source: str
    target: str
    rows: int
    resumed: bool
    verified: Verified


class Advice(Answer, frozen=True):
    """One thing that was looked at: whether it is fine, worth knowing, or needs somebody to act."""

    subject: str
    level: Literal["fine", "note", "act"]
    says: str
    do: str | None = None


class FileFigures(Answer, frozen=True):
    """How large the write-ahead log is, and how many bytes the store's disk has left."""

    wal_bytes: int
    disk_free_bytes: int | None


class LateQueue(Answer, frozen=True):
    """What is overdue in a queue, and how many seconds the first of it has been."""

    expired_leases: int
    overdue_tasks: int
    late_seconds: float


class TimeFigures(Answer, frozen=True):
    """How far this machine's clock is behind the store's last instant, how many seconds ago the reaper ran
    (null: never), and the queues with something overdue.
    """

    clock_behind_seconds: float
    reaped_seconds_ago: float | None
    late: dict[str, LateQueue]


class Diagnosis(Answer, frozen=True):
    """What is wrong with a store, in plain words, and the figures behind them. `ok` is false when something
    needs somebody to act; `files` is null of a store that is no file, `times` when it could not be read.
    """

    ok: bool
    store: str
    advice: list[Advice]
    files: FileFigures | None
    times: TimeFigures | None = None
