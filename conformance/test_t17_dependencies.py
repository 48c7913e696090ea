"""T17: a task waits for every task it depends on, then sees what became of each."""

from __future__ import annotations

from conformance.audit import audit
from conformance.bench import PAST_SHORT, SHORT, Bench, together
from conformance.receipts import receipt
from tessera.models import Lease


def test_a_dependent_waits_for_every_dependency_and_carries_their_results(bench: Bench) -> None:
    """It is claimable only when the last dependency has ended, and lists them all, oldest first."""
    queue = bench.queue()
    first, second = bench.enqueue(queue, priority=-1), bench.enqueue(queue, priority=-1)
    dependent = bench.enqueue(queue, depends_on=[second, first], priority=1_000)
    view = bench.task(dependent)
    assert (view.state, view.wait_reason, view.pending_deps) == ("waiting", "dependencies", 2)
    assert view.depends_on == [first, second]
    bench.ok(bench.claim(queue), {"from": "first"})
    assert (bench.state(dependent), bench.task(dependent).pending_deps) == ("waiting", 1)
    lease = bench.claim(queue)
    assert lease.task_id == second
    bench.ok(lease, {"from": "second"})
    assert (bench.state(dependent), bench.task(dependent).pending_deps) == ("ready", 0)
    lease = bench.claim(queue)
    assert [(one.task_id, one.state, one.output) for one in lease.dependencies] == [
        (first, "done", {"from": "first"}), (second, "done", {"from": "second"}),
    ]  # fmt: skip
    for one in lease.dependencies:
        assert one.output_sha256 == receipt(one.task_id, 1, True, one.output, None)
    bench.ok(lease)
    assert bench.story(dependent) == ["enqueued", "dependencies_met", "claimed", "submitted"]
    audit(bench)


def test_dead_and_cancelled_dependencies_release_their_dependent(bench: Bench) -> None:
    """Failure does not hold work back: the dependent starts, sees what happened, and decides."""
    queue, fragile = bench.queue(), bench.queue(max_attempts=1, **SHORT)
    dead, lapsed = bench.enqueue(fragile), bench.enqueue(fragile)
    cancelled = bench.enqueue(queue, delay_seconds=3_600)
    dependent = bench.enqueue(queue, depends_on=[dead, lapsed, cancelled])
    bench.fail(bench.claim(fragile), output={"not": "shown"})
    bench.client.cancel(cancelled, "superfluous")
    assert bench.task(dependent).pending_deps == 1
    bench.claim(fragile)
    bench.pass_seconds(PAST_SHORT)
    bench.client.reap()
    lease = bench.claim(queue)
    assert lease.task_id == dependent
    assert [(one.state, one.output, one.output_sha256) for one in lease.dependencies] == [
        ("dead", None, None), ("dead", None, None), ("cancelled", None, None),
    ]  # fmt: skip
    assert bench.story(dependent).count("dependencies_met") == 1
    audit(bench)


def test_a_dependency_that_is_tried_again_still_holds(bench: Bench) -> None:
    """A failure that is not the last one resolves nothing; neither does a park."""
    queue = bench.queue()
    dependency = bench.enqueue(queue)
    dependent = bench.enqueue(queue, depends_on=[dependency])
    bench.fail(bench.claim(queue))
    assert bench.task(dependent).pending_deps == 1
    lease = bench.claim(queue)
    bench.client.park(dependency, lease.fencing_token, "a question")
    assert bench.task(dependent).pending_deps == 1
    bench.idle(queue)
    bench.client.resume(dependency, {"an": "answer"})
    bench.ok(bench.claim(queue))
    assert bench.claim(queue).task_id == dependent
    audit(bench)


def test_unknown_dependencies_are_refused(bench: Bench) -> None:
    """One unknown id among known ones refuses the whole task; nothing is created."""
    queue = bench.queue()
    known, fresh = bench.enqueue(queue), bench.name("task")
    for depends_on in ([bench.name("nobody")], [known, bench.name("nobody")], [fresh]):
        with bench.refused("not_found", known):
            bench.enqueue(queue, task_id=fresh, depends_on=depends_on)
    with bench.refused("not_found"):
        bench.client.task(fresh)
    assert bench.counts(queue) == {"ready": 1}
    audit(bench)


def test_a_task_may_have_a_hundred_dependencies_and_no_more(bench: Bench) -> None:
    """A dependency named twice counts once; the hundred-and-first name is refused."""
    queue = bench.queue()
    tasks = [bench.enqueue(queue) for _ in range(100)]
    with bench.refused("invalid_request"):
        bench.enqueue(queue, depends_on=[*tasks, tasks[0]])
    twice = bench.enqueue(queue, depends_on=[tasks[0], tasks[0]])
    assert (bench.task(twice).pending_deps, bench.task(twice).depends_on) == (1, [tasks[0]])
    all_of_them = bench.enqueue(queue, depends_on=tasks)
    for _ in range(100):
        bench.client.cancel(tasks.pop(), "superfluous")
    assert (bench.state(twice), bench.state(all_of_them)) == ("ready", "ready")
    audit(bench)


def test_dependencies_that_have_ended_already_do_not_hold(bench: Bench) -> None:
    """Only open dependencies are pending; with none open the task is ready at once and carries them all."""
    queue = bench.queue(max_attempts=1)
    done, dead, cancelled = (bench.enqueue(queue) for _ in range(3))
    bench.ok(bench.claim(queue), "there")
    bench.fail(bench.claim(queue))
    bench.client.cancel(cancelled, "superfluous")
    still_open = bench.enqueue(queue, delay_seconds=3_600)
    mixed = bench.enqueue(queue, depends_on=[done, dead, cancelled, still_open])
    assert bench.task(mixed).pending_deps == 1
    free = bench.enqueue(queue, depends_on=[done, dead, cancelled])
    assert (bench.state(free), bench.task(free).pending_deps) == ("ready", 0)
    lease = bench.claim(queue)
    assert [(one.state, one.output) for one in lease.dependencies] == [
        ("done", "there"), ("dead", None), ("cancelled", None),
    ]  # fmt: skip
    audit(bench)


def test_a_delay_and_a_dependency_both_hold(bench: Bench) -> None:
    """A delayed dependent is not claimable when its dependency ends before its time."""
    queue = bench.queue()
    dependency = bench.enqueue(queue)
    dependent = bench.enqueue(queue, depends_on=[dependency], delay_seconds=2)
    not_before = bench.task(dependent).not_before
    assert not_before is not None
    bench.ok(bench.claim(queue))
    assert bench.state(dependent) == "ready"
    bench.idle(queue)
    bench.pass_until(not_before)
    assert bench.claim(queue).task_id == dependent
    audit(bench)


def test_dependencies_that_end_at_once_release_once(bench: Bench) -> None:
    """5 dependencies end at the same moment while the dependent is being enqueued: it starts exactly once."""
    queue = bench.queue()
    for _ in range(10):
        for _ in range(5):
            bench.enqueue(queue, kind="first")
        leases = [bench.claim(queue, kinds=["first"]) for _ in range(5)]
        view = bench.task(_enqueued_while_they_end(bench, leases))
        assert (view.state, view.pending_deps) == ("ready", 0)
        assert bench.story(view.task_id).count("dependencies_met") <= 1
        bench.ok(bench.claim(queue, kinds=["then"]))
    audit(bench)


def _enqueued_while_they_end(bench: Bench, leases: list[Lease]) -> str:
    """The id of a task that depends on all these, enqueued while threads of their own hand them in."""
    names = [lease.task_id for lease in leases]

    def act(number: int) -> str:
        if number < len(leases):
            return bench.ok(leases[number]).state
        return bench.enqueue(leases[0].queue, kind="then", depends_on=names)

    *states, task_id = together(len(leases) + 1, act)
    assert states == ["done"] * len(leases)
    return task_id


def test_a_key_needs_the_queue_of_every_dependency(bench: Bench) -> None:
    """Depending on a task of a queue outside the grant is forbidden, whatever else the key may do."""
    queue, other = bench.queue(), bench.queue()
    theirs = bench.enqueue(other)
    narrow = bench.backend.keyed(queues=[queue])
    with bench.refused("forbidden", theirs):
        narrow.enqueue(queue=queue, kind="work", brief={}, depends_on=[theirs])
    assert bench.counts(queue) == {}
    wide = bench.backend.keyed(queues=[queue, other])
    task_id = wide.enqueue(queue=queue, kind="work", brief={}, depends_on=[theirs])
    assert bench.task(task_id).pending_deps == 1
    audit(bench)
