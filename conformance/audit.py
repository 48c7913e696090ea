"""What must hold of every queue at any instant, checked from outside: by counts, views, results and the log.

Each test ends with an audit of its bench, whatever it was about.
"""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

from conformance.bench import Bench
from conformance.receipts import receipt
from tessera.models import Event, Job, Result, TaskView

# What a line of the log may follow, and what the task may be after it. `handed in` and `failing` last for the
# rest of one transaction: the line that says what became of the failure is the next one.
MOVES: dict[str, tuple[set[str], set[str]]] = {
    "enqueued": ({"new"}, {"ready", "waiting"}),
    "requeued": ({"new"}, {"ready"}),
    "claimed": ({"ready"}, {"leased"}),
    "heartbeat": ({"leased"}, {"leased"}),
    "submitted": ({"leased"}, {"done", "failing"}),
    "lease_lapsed": ({"leased"}, {"failing"}),
    "retry_scheduled": ({"failing"}, {"ready"}),
    "dead_lettered": ({"failing"}, {"dead"}),
    "released": ({"leased"}, {"ready"}),
    "split": ({"leased"}, {"waiting"}),
    "parked": ({"leased"}, {"waiting"}),
    "parent_ready": ({"waiting"}, {"ready"}),
    "dependencies_met": ({"waiting"}, {"ready"}),
    "resumed": ({"waiting"}, {"ready"}),
    "park_expired": ({"waiting"}, {"ready"}),
    "cancelled": ({"ready", "leased", "waiting"}, {"cancelled"}),
    "job_registered": ({"leased"}, {"leased"}),
}
ENDS_LEASE = {"retry_scheduled", "dead_lettered", "released", "split", "parked", "cancelled"}
OF_LEASE = ENDS_LEASE | {"heartbeat", "submitted", "lease_lapsed", "job_registered"}
JOB_RUNNING = {"queued", "in_progress"}


def audit(bench: Bench) -> None:
    """Check every task of the bench's queues, and that counts, recount and tasks tell the same."""
    log = bench.log()
    _rising(log)
    lines: dict[str, list[Event]] = {}
    for line in log:
        if line.task_id is not None and (line.type in MOVES or line.type == "job_updated"):
            lines.setdefault(line.task_id, []).append(line)
    assert bench.queues
    for queue in bench.queues:
        tasks = bench.tasks(queue)
        assert bench.counts(queue) == Counter(task.state for task in tasks)
        for task in tasks:
            _audit_task(task, lines[task.task_id], bench.client.results(task.task_id))
            if registered := [line for line in lines[task.task_id] if line.type == "job_registered"]:
                _audit_jobs(task, registered, bench.client.jobs(task.task_id, limit=1_000).jobs)


def _rising(log: list[Event]) -> None:
    """Sequence numbers rise; time never runs backwards."""
    for earlier, later in pairwise(log):
        assert earlier.seq < later.seq
        assert earlier.at <= later.at


def _audit_task(task: TaskView, lines: list[Event], results: list[Result]) -> None:
    kinds = Counter(line.type for line in lines)
    assert task.state in _states_after(lines), [line.type for line in lines]
    _audit_tokens(task, lines)
    assert task.failures == kinds["retry_scheduled"] + kinds["dead_lettered"]
    assert task.parks == kinds["parked"]
    leased, waiting = task.state == "leased", task.state == "waiting"
    assert [task.worker is not None, task.claimed_at is not None, task.expires_at is not None] == [leased] * 3
    assert (task.wait_reason is not None) == waiting
    if task.state != "cancelled":
        assert (task.pending_children > 0) == (task.wait_reason == "children")
        assert (task.pending_deps > 0) == (task.wait_reason == "dependencies")
    _audit_results(task, lines, results)


def _states_after(lines: list[Event]) -> set[str]:
    """Where the log leaves a task; every line must have been possible where it stands."""
    states = {"new"}
    for line in lines:
        if line.type == "job_updated":
            if line.data["status"] == "cancelled" and "leased" in states:
                states = states | {"failing"}  # if it was a job of this very lease
            continue
        possible_from, becomes = MOVES[line.type]
        assert states & possible_from, [line.type for line in lines]
        states = becomes
    return states


def _audit_tokens(task: TaskView, lines: list[Event]) -> None:
    """Each claim has a token above all before it; what happens to a lease names its token and worker."""
    tokens = [line.fencing_token for line in lines if line.type == "claimed"]
    assert all(token is not None for token in tokens)
    assert tokens == sorted(set(tokens), key=lambda token: token or 0)
    assert task.attempts == len(tokens)
    assert task.fencing_token == (tokens[-1] if tokens else 0)
    lease: Event | None = None
    for line in lines:
        if line.type == "claimed":
            lease = line
        elif line.type in OF_LEASE and lease is not None:
            assert (line.fencing_token, line.worker) == (lease.fencing_token, lease.worker), line
        if line.type in ENDS_LEASE:
            lease = None


def _audit_results(task: TaskView, lines: list[Event], results: list[Result]) -> None:
    """One result per submit in the log, each with a receipt that can be recomputed; at most one success."""
    holders = {line.fencing_token: line.worker for line in lines if line.type == "claimed"}
    submitted = [line.fencing_token for line in lines if line.type == "submitted"]
    assert [result.fencing_token for result in results] == submitted
    assert len(set(submitted)) == len(submitted)
    assert sum(result.ok for result in results) == (task.state == "done")
    for result in results:
        assert result.task_id == task.task_id
        assert result.worker == holders[result.fencing_token]
        assert result.sha256 == receipt(
            task.task_id, result.fencing_token, result.ok, result.output, result.error
        )


def _audit_jobs(task: TaskView, registered: list[Event], jobs: list[Job]) -> None:
    """Each job of a task has its line; none runs on for a task that was cancelled."""
    told = [(line.data["job_id"], line.fencing_token) for line in registered]
    assert [(job.job_id, job.fencing_token) for job in jobs] == told
    assert {job.task_id for job in jobs} == {task.task_id}
    if task.state == "cancelled":
        assert not any(job.status in JOB_RUNNING for job in jobs)
