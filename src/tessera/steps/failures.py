"""A lease has failed, or a task cannot be handed out: tried again later, or dead with a tombstone.

Two halves, because a verb reads before it writes: `foreseen` (or `unreadable`) first, `write` after.
"""

from __future__ import annotations

from msgspec import Struct

from tessera.canonical import json_text
from tessera.names import TOMBSTONES
from tessera.rows import RecordRow, TaskRow
from tessera.rules import moves
from tessera.runtime import Runtime, rfc3339
from tessera.states import DEAD
from tessera.steps import recall, tasks
from tessera.storage.port import Transaction


class Failure(Struct, frozen=True):
    """A task before and after it fails, and the tombstone it leaves if that is its end."""

    before: TaskRow
    after: TaskRow
    tombstone: str | None
    brief: str = ""  # the first words of what it was asked to do, if it is dead


def foreseen(tx: Transaction, runtime: Runtime, task: TaskRow, error: str | None) -> Failure:
    """What becomes of a task whose lease fails now."""
    queue = tasks.queue_of(tx, task)
    after = moves.failed(task, queue, tx.now, runtime.uniform(0.5, 1.0), error)
    return _buried(tx, task, after) if after.state == DEAD else Failure(task, after, None)


def unreadable(tx: Transaction, task: TaskRow, error: str) -> Failure:
    """What becomes of a ready task whose brief is damaged: it ends, so that it holds up no other."""
    after = moves.unreadable(task, tx.now, error)
    return _buried(tx, task, after)


def write(tx: Transaction, failure: Failure, key_id: str | None, **data: object) -> None:
    """Move the task, and bury it if it is dead."""
    before, after = failure.before, failure.after
    if failure.tombstone is None:
        tasks.move(tx, before, after, "retry_scheduled", key_id, failures=after.failures, **data)
        return
    tasks.move(tx, before, after, "dead_lettered", key_id, failures=after.failures, **data)
    record = RecordRow(TOMBSTONES, after.task_id, 1, failure.tombstone, tx.now)
    tx.save("insert_record", record)
    tx.write("insert_record_head", store=record.store, key=record.key, version=record.version)
    recall.keep_record(tx, record, failure.brief)


def _buried(tx: Transaction, before: TaskRow, after: TaskRow) -> Failure:
    return Failure(before, after, _tombstone(tx, after), recall.brief_beginning(tx, after.task_id))


def _tombstone(tx: Transaction, after: TaskRow) -> str:
    """The record that a dead letter leaves. (Contract §4.8.) Whoever holds the store scope reads it, so a
    workspace's tells neither its error nor the hash by which a guessed brief could be confirmed.
    """
    queue, sha256 = tasks.queue_of(tx, after), tx.one("brief_hash_of", serial=after.serial)
    secret = queue.workspace_id is not None
    return json_text(
        {
            "task_id": after.task_id,
            "queue": queue.name,
            "kind": after.kind,
            "brief_sha256": None if secret or sha256 is None else sha256.value,
            "failures": after.failures,
            "last_error": None if secret else after.last_error,
            "dead_at": rfc3339(tx.now),
        }
    )
