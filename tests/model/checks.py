"""What must hold after every step: the file, read by nobody's help, says what the oracle says."""

from __future__ import annotations

import json
from collections import defaultdict
from typing import Any

from raw_sql import Raw

from model.oracle import Oracle
from model.things import ENDED, Line, Task, brief_hash, receipt_hash, wire_time
from tessera.names import EFFECT_CLASSES, EVENT_TYPES
from tessera.states import STATES, WAIT_REASONS

HUSHED = "hushed"  # a word in every brief, input, output, error and reason: the log may not hold it

# event -> (what the task may have been, what it may be then), by the diagram of specification §5.1
STORY = {
    "enqueued": ({"nothing"}, {"ready", "waiting"}),
    "requeued": ({"nothing"}, {"ready"}),
    "claimed": ({"ready"}, {"leased"}),
    "heartbeat": ({"leased"}, {"leased"}),
    "submitted": ({"leased"}, {"done", "failing"}),
    "lease_lapsed": ({"leased"}, {"failing"}),
    "retry_scheduled": ({"failing", "leased"}, {"ready"}),  # leased: its model job was cancelled
    "dead_lettered": ({"failing", "leased", "ready"}, {"dead"}),  # ready: its brief is damaged
    "released": ({"leased"}, {"ready"}),
    "split": ({"leased"}, {"waiting"}),
    "parked": ({"leased"}, {"waiting"}),
    "parent_ready": ({"waiting"}, {"ready"}),
    "dependencies_met": ({"waiting"}, {"ready"}),
    "resumed": ({"waiting"}, {"ready"}),
    "park_expired": ({"waiting"}, {"ready"}),
    "cancelled": ({"ready", "leased", "waiting"}, {"cancelled"}),
}

# events of a task that do not change its state
BESIDE = ("job_registered", "job_updated", "jobs_cancel_requested")


class Checks:
    """A connection of its own to the store's tables, and how far it has read the log."""

    def __init__(self, connection: Raw) -> None:
        self._connection = connection
        self._seq = 0
        self._at = 0
        self._lines: dict[str, int] = defaultdict(int)  # task -> lines read
        self._queue_lines = 0
        self._may_be: dict[str, set[str]] = defaultdict(lambda: {"nothing"})

    def close(self) -> None:
        self._connection.close()

    def all(self, oracle: Oracle) -> None:
        """Everything, in one snapshot."""
        with self._connection:
            self._tasks(oracle)
            self._leases(oracle)
            self._results(oracle)
            self._inputs(oracle)
            self._tombstones(oracle)
            self._counts(oracle)
            self._log(oracle)

    def _rows(self, sql: str, *values: Any) -> list[tuple[Any, ...]]:
        return list(self._connection.execute(sql, values))

    def _tasks(self, oracle: Oracle) -> None:
        """Every task's row."""
        rows = self._rows(
            "select t.task_id, q.name, l.kind, l.effect, t.priority, t.created_at, p.task_id, t.depth, "
            "r.task_id, t.state, t.wait_reason, t.due, t.attempts, t.failures, t.parks, t.fencing_token, "
            "t.park_reason, t.last_error, t.cancel_reason, t.pending_children, t.pending_deps "
            "from tasks t join queues q using (queue) join lanes l using (lane) "
            "left join tasks p on p.serial = t.parent left join tasks r on r.serial = t.requeued_from"
        )
        assert {row[0]: _whole(row) for row in rows} == {
            task.task_id: _told(task) for task in oracle.tasks.values()
        }

    def _leases(self, oracle: Oracle) -> None:
        """A row for each lease that nobody has ended, and for nothing else; so at most one per task."""
        rows = self._rows(
            "select t.task_id, q.name, l.worker, l.fencing_token, l.claim_key, l.claimed_at, l.expires_at, "
            "l.hard_expires_at from leases l join tasks t using (serial) join queues q on q.queue = l.queue"
        )
        assert sorted(rows) == sorted(
            (
                task.task_id,
                task.queue,
                task.lease.worker,
                task.token,
                task.lease.key,
                task.lease.claimed_at,
                task.lease.expires_at,
                task.lease.hard_expires_at,
            )
            for task in oracle.tasks.values()
            if task.lease
        )
        assert self._rows("select count(*) from leases") == [(len(rows),)]

    def _results(self, oracle: Oracle) -> None:
        """One row per key that was ever accepted, its receipt recomputed from what the row holds."""
        rows = self._rows(
            "select idempotency_key, task_id, r.fencing_token, worker, ok, output, error, submitted_at, "
            "r.state, sha256 from results r join tasks using (serial)"
        )
        assert len({row[0] for row in rows}) == len(rows)
        for _, task_id, token, _, ok, output, error, _, _, sha256 in rows:
            assert receipt_hash(task_id, token, bool(ok), json.loads(output), error) == sha256
        stored = {row[0]: (*row[1:5], json.loads(row[5]), *row[6:8], STATES[row[8]]) for row in rows}
        assert stored == {
            one.key: (
                one.task_id,
                one.token,
                one.worker,
                one.ok,
                one.output,
                one.error,
                one.submitted_at,
                one.state,
            )
            for one in oracle.results.values()
        }

    def _inputs(self, oracle: Oracle) -> None:
        """One answer per park, in order."""
        rows = self._rows(
            "select task_id, park, input, resumed_at from task_inputs join tasks using (serial)"
        )
        assert sorted((row[0], row[1], json.loads(row[2]), row[3]) for row in rows) == sorted(
            (task.task_id, *one) for task in oracle.tasks.values() for one in task.inputs
        )

    def _tombstones(self, oracle: Oracle) -> None:
        """One record per dead task, and no other."""
        rows = self._rows(
            "select key, value from records join record_heads using (store, key, version) "
            "where store = 'negative.knowledge'"
        )
        assert self._rows("select count(*) from records") == [(len(rows),)]
        assert {key: json.loads(value) for key, value in rows} == {
            task.task_id: {
                "task_id": task.task_id,
                "queue": task.queue,
                "kind": task.kind,
                "brief_sha256": brief_hash(task.brief),
                "failures": task.failures,
                "last_error": task.last_error,
                "dead_at": wire_time(task.died_at),
            }
            for task in oracle.tasks.values()
            if task.state == "dead"
        }

    def _counts(self, oracle: Oracle) -> None:
        """The kept counts are a tally of the tasks."""
        rows = self._rows("select name, " + ", ".join(STATES) + " from counts join queues using (queue)")
        assert {name: dict(zip(STATES, tally, strict=True)) for name, *tally in rows} == oracle.counts()

    def _log(self, oracle: Oracle) -> None:
        """New lines follow without a gap, tell each story as the oracle does, and give nothing away."""
        rows = self._rows(
            "select seq, at, type, name, task_id, worker, fencing_token, data from events "
            "left join queues using (queue) where seq > ? order by seq",
            self._seq,
        )
        told: dict[str, list[Line]] = defaultdict(list)
        about_queues = []
        for seq, at, number, queue, task_id, worker, token, data in rows:
            assert seq == self._seq + 1
            assert at >= self._at
            assert HUSHED not in (data or "")
            self._seq, self._at = seq, at
            event = EVENT_TYPES[number]
            if task_id is None:
                about_queues.append((event, queue))
                continue
            if event not in BESIDE:
                before, after = STORY[event]
                assert before & self._may_be[task_id], f"{event} after {self._may_be[task_id]}"
                self._may_be[task_id] = after
            told[task_id].append(Line(event, worker, token if worker else None))
        for task_id, lines in oracle.log.items():
            assert told.pop(task_id, []) == lines[self._lines[task_id] :], task_id
            self._lines[task_id] = len(lines)
            assert oracle.tasks[task_id].state in self._may_be[task_id]
        assert not told
        assert about_queues == oracle.queue_log[self._queue_lines :]
        self._queue_lines = len(oracle.queue_log)


def _whole(row: tuple[Any, ...]) -> tuple[Any, ...]:
    """A row in words. What a task that has ended once waited for no longer matters."""
    told = list(row)
    told[3] = EFFECT_CLASSES[row[3]]
    told[9] = STATES[row[9]]
    told[10] = None if row[10] is None else WAIT_REASONS[row[10]]
    if told[9] in ENDED:
        told[-2:] = 0, 0
    return tuple(told)


def _told(task: Task) -> tuple[Any, ...]:
    """The same, as the oracle has it."""
    return (
        task.task_id,
        task.queue,
        task.kind,
        task.effect,
        task.priority,
        task.created_at,
        task.parent.task_id if task.parent else None,
        task.depth,
        task.requeued_from,
        task.state,
        task.waits_for,
        None if task.lease else task.due,
        task.attempts,
        task.failures,
        task.parks,
        task.token,
        task.park_reason if task.waits_for == "input" else None,
        task.last_error,
        task.cancel_reason,
        0 if task.ended else task.pending_children,
        0 if task.ended else task.pending_deps,
    )
