"""The nouns of the oracle: tasks, leases, results, lines of the log, the clock, and how each is seen."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
ENDED = ("done", "dead", "cancelled")


class Refused(Exception):
    """The specification's refusal, by its code."""

    @property
    def code(self) -> str:
        return str(self.args[0])


class Line(NamedTuple):
    """One line of the log about a task; worker and token where it begins, keeps or ends a lease."""

    type: str
    worker: str | None
    token: int | None


@dataclass
class Lease:
    """The right to work on a task."""

    worker: str
    key: str | None
    claimed_at: int
    expires_at: int
    hard_expires_at: int


@dataclass
class Result:
    """What one submit handed in, and what the task became."""

    key: str
    task_id: str
    token: int
    worker: str
    ok: bool
    output: Any
    error: str | None
    submitted_at: int
    state: str

    @property
    def sha256(self) -> str:
        """The receipt's hash, by the formula of specification §5.4."""
        return receipt_hash(self.task_id, self.token, self.ok, self.output, self.error)

    def receipt(self, replayed: bool) -> dict[str, Any]:
        """What the submit is answered with."""
        return {
            "task_id": self.task_id,
            "fencing_token": self.token,
            "ok": self.ok,
            "sha256": self.sha256,
            "idempotency_key": self.key,
            "submitted_at": wire_time(self.submitted_at),
            "replayed": replayed,
            "state": self.state,
        }


@dataclass
class Task:
    """One task."""

    task_id: str
    queue: str
    kind: str
    effect: str
    priority: int
    brief: dict[str, Any]
    created_at: int
    depends_on: list[Task]
    parent: Task | None = None
    requeued_from: str | None = None
    state: str = "ready"
    waits_for: str | None = None
    start_at: int | None = None  # a delay or a backoff that nobody has seen the end of yet
    claimable_at: int = 0  # since when it is ready and nothing holds it back
    wake_at: int | None = None  # when a park ends by itself
    attempts: int = 0
    failures: int = 0
    parks: int = 0
    token: int = 0
    lease: Lease | None = None
    children: list[Task] = field(default_factory=list)
    inputs: list[tuple[int, Any, int]] = field(default_factory=list)
    results: list[Result] = field(default_factory=list)
    park_reason: str | None = None
    last_error: str | None = None
    cancel_reason: str | None = None
    died_at: int | None = None
    damaged: bool = False  # its stored brief no longer matches its hash

    @property
    def ended(self) -> bool:
        return self.state in ENDED

    @property
    def depth(self) -> int:
        return 0 if self.parent is None else self.parent.depth + 1

    @property
    def pending_children(self) -> int:
        return sum(not child.ended for child in self.children)

    @property
    def pending_deps(self) -> int:
        return sum(not one.ended for one in self.depends_on)

    @property
    def due(self) -> int | None:
        """When time alone will move it."""
        if self.lease:
            return self.lease.expires_at
        return self.start_at if self.state == "ready" else self.wake_at

    def outcome(self) -> dict[str, Any]:
        """How the lease of a parent or dependent shows it."""
        good = [result for result in self.results if result.ok]
        return {
            "task_id": self.task_id,
            "kind": self.kind,
            "state": self.state,
            "output": good[-1].output if good else None,
            "output_sha256": good[-1].sha256 if good else None,
        }


class Clocks:
    """The time that each open handle of a store sees: the wall clock, unless that has stepped back behind an
    instant that was seen or written already.
    """

    def __init__(self, step_us: int = 0) -> None:
        self.step_us = step_us  # by less than this a clock is not put back, but another one
        self.wall = 0
        self.elapsed = 0
        self.written = 0
        self._seen: dict[int, tuple[int, int]] = {}

    def read(self, handle: int) -> int:
        """Now, as this handle has it, which from here on it will never fall behind."""
        now = self.would_be(handle)
        self._seen[handle] = now, self.elapsed
        return now

    def would_be(self, handle: int) -> int:
        """What it would read; but nobody looks."""
        last, then = self._seen[handle]
        goes_on = last + self.elapsed - then
        is_put_back = goes_on - self.wall >= self.step_us
        return max(self.wall, goes_on if is_put_back else last, self.written)

    def opened(self, handle: int) -> None:
        """A new process has the wall clock, and soon learns what was written."""
        self._seen[handle] = self.wall, self.elapsed


def lease_shown(task: Task, heartbeat_seconds: int, *, in_full: bool) -> dict[str, Any]:
    """The lease as its holder sees it."""
    assert task.lease is not None
    return {
        "task_id": task.task_id,
        "queue": task.queue,
        "kind": task.kind,
        "effect_class": task.effect,
        "priority": task.priority,
        "brief": task.brief,
        "worker": task.lease.worker,
        "fencing_token": task.token,
        "attempts": task.attempts,
        "failures": task.failures,
        "parks": task.parks,
        "claimed_at": wire_time(task.lease.claimed_at),
        "expires_at": wire_time(task.lease.expires_at),
        "hard_expires_at": wire_time(task.lease.hard_expires_at),
        "heartbeat_seconds": heartbeat_seconds,
        "parent_id": task.parent.task_id if task.parent else None,
        "depth": task.depth,
        "children": [child.outcome() for child in task.children] if in_full else [],
        "dependencies": [one.outcome() for one in task.depends_on] if in_full else [],
        "inputs": [
            {"park": park, "input": answer, "resumed_at": wire_time(at)} for park, answer, at in task.inputs
        ]
        if in_full
        else [],
    }


def view(task: Task) -> dict[str, Any]:
    """The task as its followers see it, as far as the specification says."""
    parked = task.waits_for == "input"
    return {
        "task_id": task.task_id,
        "queue": task.queue,
        "kind": task.kind,
        "effect_class": task.effect,
        "priority": task.priority,
        "state": task.state,
        "wait_reason": task.waits_for,
        "brief": None if task.damaged else task.brief,
        "parent_id": task.parent.task_id if task.parent else None,
        "depth": task.depth,
        "attempts": task.attempts,
        "failures": task.failures,
        "parks": task.parks,
        "fencing_token": task.token,
        "depends_on": [one.task_id for one in task.depends_on],
        "children": [child.task_id for child in task.children],
        "worker": task.lease.worker if task.lease else None,
        "claimed_at": wire_time(task.lease.claimed_at) if task.lease else None,
        "expires_at": wire_time(task.lease.expires_at) if task.lease else None,
        "created_at": wire_time(task.created_at),
        "park_reason": task.park_reason if parked else None,
        "parked_by": None,
        "resume_at": wire_time(task.wake_at) if parked and task.wake_at else None,
        "last_error": task.last_error,
        "cancel_reason": task.cancel_reason,
        "requeued_from": task.requeued_from,
    }


def receipt_hash(task_id: str, token: int, ok: bool, output: Any, error: str | None) -> str:
    """Specification §5.4, with the standard library: good for documents without fractions."""
    document = {"task_id": task_id, "fencing_token": token, "ok": ok, "output": output, "error": error}
    text = json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()


def brief_hash(brief: dict[str, Any]) -> str:
    """The SHA-256 of a brief's canonical text."""
    text = json.dumps(brief, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()


def wire_time(instant: int) -> str:
    """RFC 3339 in UTC with six digits of microseconds."""
    return (EPOCH + timedelta(microseconds=instant)).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
