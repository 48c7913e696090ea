"""Ends of waits under races: each wait ends once, by exactly one of those who would end it."""

from __future__ import annotations

from functools import partial

from cases.races import rounds, together
from verbs.bench import Bench
from verbs.refusals import dump, refused

from tessera.models import Receipt, TaskView


def test_d06_a_dependent_enqueued_while_its_dependencies_end(bench: Bench) -> None:
    """D06: a task that is enqueued while five threads finish what it depends on is ready in the end, nothing
    pending, released at most once.
    """
    for number in rounds(15, 500):
        leases = [bench.leased(task_id=f"a{number}-{n}", kind="a") for n in range(5)]
        ids = [lease.task_id for lease in leases]
        acts = [partial(bench.ok, lease, lease.task_id) for lease in leases]
        *_, task_id = together([*acts, partial(bench.enqueue, depends_on=ids)])
        task = bench.store.task(task_id)
        assert (task.state, task.pending_deps, task.wait_reason) == ("ready", 0, None)
        assert bench.story(task_id).count("dependencies_met") <= 1
        lease = bench.claim()
        assert [(one.task_id, one.output) for one in lease.dependencies] == [(one, one) for one in ids]
        bench.ok(lease)


def test_d07_a_cancel_beside_the_submit_of_a_dependency(bench: Bench) -> None:
    """D07: of a cancel and a submit that meet one wins, and the dependent is released once with what came of
    it.
    """
    won = set()
    for number in rounds(30, 500):
        lease = bench.leased(kind="first")
        dependent = bench.enqueue(depends_on=[lease.task_id])
        submit = partial(bench.store.submit, lease.task_id, 1, "out", f"i{number}")
        cancel = partial(bench.store.cancel, lease.task_id, "r")
        acts = [submit, cancel] if number % 2 else [cancel, submit]
        submitted, cancelled = together(acts) if number % 2 else reversed(together(acts))
        state = bench.state(lease.task_id)
        won.add(state)
        if state == "done":
            assert isinstance(submitted, Receipt)
            assert cancelled == "invalid_state"
        else:
            assert isinstance(cancelled, TaskView)
            assert submitted == "stale_lease"
        assert bench.story(dependent) == ["enqueued", "dependencies_met"]
        (one,) = bench.claim(kinds=["k"]).dependencies
        assert (one.state, one.output) == (state, "out" if state == "done" else None)
    assert won <= {"done", "cancelled"}


def test_d16_sixteen_answers_to_one_park(bench: Bench) -> None:
    """D16: of sixteen resumes by two keys one is taken, and its input alone is kept."""
    keys = bench.key(), bench.key()
    for _ in rounds(8, 200):
        task_id = bench.parked().task_id
        answers = together([partial(keys[n % 2].resume, task_id, {"n": n}) for n in range(16)])
        (winner,) = [n for n, answer in enumerate(answers) if isinstance(answer, TaskView)]
        assert answers.count("invalid_state") == 15
        lease = bench.claim()
        assert [one.input for one in lease.inputs] == [{"n": winner}]
        assert bench.story(task_id).count("resumed") == 1
        bench.ok(lease)


def test_d16_an_answer_beside_the_end_of_a_park(bench: Bench) -> None:
    """D16: a resume that meets the reaper at the end of a park's time stores one input, never both."""
    with bench.beside() as reaper:
        for number in rounds(12, 200):
            task_id = bench.parked(resume_within=5).task_id
            bench.world.pass_seconds(5 if number % 3 else 4.999999)
            answers = together([partial(bench.store.resume, task_id, "human"), reaper.reap])
            inputs = [row[2] for row in dump(bench.path)["task_inputs"] if row[0] == number + 1]
            assert inputs == (['{"timed_out":true}'] if number % 3 else ['"human"'])
            assert (answers[0] == "invalid_state") is bool(number % 3)
            bench.store.cancel(task_id, "done with")


def test_d19_a_cancel_says_what_it_did(bench: Bench) -> None:
    """D19: a cancel answers with the task it cancelled or refuses; it is never half an answer, and what has
    ended is refused.
    """
    for number in rounds(30, 1_000):
        lease = bench.leased()
        ok = bool(number % 2)
        submitted, cancelled = together([
            partial(bench.store.submit, lease.task_id, 1, None, f"i{number}", ok=ok),
            partial(bench.store.cancel, lease.task_id, "r"),
        ])  # fmt: skip
        state = bench.state(lease.task_id)
        if isinstance(cancelled, TaskView):
            assert (cancelled.state, state) == ("cancelled", "cancelled")
            assert submitted == "stale_lease" or submitted.state == "ready"
        else:
            assert (cancelled, state, submitted.state) == ("invalid_state", "done", "done")
        refused(bench, "invalid_state", bench.store.cancel, lease.task_id, "again")
        assert bench.story(lease.task_id).count("cancelled") == (state == "cancelled")
    bench.queue("q", max_attempts=1)
    refused(bench, "invalid_state", bench.store.cancel, bench.dead(), "r")
