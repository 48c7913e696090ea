"""Two that would end the same thing differently: one of them does, and the other one is told."""

from __future__ import annotations

import time
from collections import Counter
from pathlib import Path

from crash.wholeness import assert_whole

import tessera
from race.crew import at_once, fill, log, processes, rounds, together
from tessera.limits import SECOND_US
from tessera.testing import World


def test_cancel_or_submit(handles: list[tessera.Tessera]) -> None:
    """A task that is cancelled while it is handed in is either done or cancelled, and one side hears it."""
    ends = Counter()

    def race(number: int) -> None:
        task_id = handles[0].enqueue(queue="q", kind="k", brief={})
        handles[0].claim("q", "w")
        one, other = _hands(handles, number)
        cancelled, submitted = together(
            [
                lambda: one.cancel(task_id, "no more").state,
                lambda: other.submit(task_id, 1, {}, task_id).state,
            ]
        )
        state = handles[1].task(task_id).state
        assert (cancelled, submitted, state) in {
            ("cancelled", "stale_lease", "cancelled"),
            ("invalid_state", "done", "done"),
        }
        assert len(handles[1].results(task_id)) == (state == "done")
        ends[state] += 1

    for number in rounds(60):
        race(number)
    assert len(log(handles[0], "cancelled")) == ends["cancelled"]
    assert len(log(handles[0], "submitted")) == ends["done"]


def test_cancel_or_split(handles: list[tessera.Tessera]) -> None:
    """A task that is cancelled while it splits leaves no child behind."""

    def race(number: int) -> None:
        task_id = handles[0].enqueue(queue="q", kind="k", brief={})
        handles[0].claim("q", "w")
        one, other = _hands(handles, number)
        children = [{"brief": {}}, {"brief": {}, "after": [0]}]
        cancelled, split = together(
            [lambda: one.cancel(task_id, "no more").state, lambda: len(other.split(task_id, 1, children))]
        )
        assert (cancelled, split) in {("cancelled", 2), ("cancelled", "stale_lease")}
        counts = handles[1].counts().queues["q"]
        assert (counts.ready, counts.leased, counts.waiting) == (0, 0, 0)

    for number in rounds(40):
        race(number)


def test_siblings_that_end_at_once_wake_their_parent_once(handles: list[tessera.Tessera]) -> None:
    """Children that end in the same instant, each in its way, make their parent ready exactly once."""

    def race(number: int) -> None:
        parent = handles[0].enqueue(queue="q", kind="k", brief={})
        handles[0].claim("q", "w")
        children = handles[0].split(parent, 1, [{"brief": {}} for _ in range(8)])
        for _ in children[:6]:
            handles[0].claim("q", "w")

        def end(n: int) -> str:
            task_id, store = children[n], handles[n % 2]
            if n < 4:
                return store.submit(task_id, 1, {"from": task_id}, task_id).state
            return store.cancel(task_id, "no more").state

        states = ["done"] * 4 + ["cancelled"] * 4
        assert at_once(8, end) == states
        assert len(log(handles[1], "parent_ready")) == number + 1
        merge = handles[1].claim("q", "w")
        assert merge.task_id == parent
        assert [child.state for child in merge.children] == states
        handles[1].submit(parent, merge.fencing_token, {}, parent)

    for number in rounds(15):
        race(number)


def test_one_of_many_resumes(handles: list[tessera.Tessera]) -> None:
    """16 people answer one park: one answer counts, the others are told that it came too late."""

    def race(number: int) -> None:
        task_id = handles[0].enqueue(queue="q", kind="k", brief={})
        handles[0].claim("q", "w")
        handles[0].park(task_id, 1, "which?")
        answers = at_once(16, lambda n: (n, handles[n % 2].resume(task_id, n).state))
        (winner,) = [answer[0] for answer in answers if answer != "invalid_state"]
        assert len(log(handles[1], "resumed")) == number + 1
        lease = handles[1].claim("q", "w")
        assert [(one.park, one.input) for one in lease.inputs] == [(1, winner)]
        handles[1].submit(task_id, lease.fencing_token, {}, task_id)

    for number in rounds(20):
        race(number)


def test_resume_or_time_out(scripted: list[tessera.Tessera], world: World) -> None:
    """An answer that comes as its park's time runs out is the park's only answer, or none."""

    def race(number: int) -> None:
        task_id = scripted[0].enqueue(queue="q", kind="k", brief={})
        scripted[0].claim("q", "w")
        scripted[0].park(task_id, 1, "which?", 5)
        world.pass_seconds(4.999)
        one, other = _hands(scripted, number)
        acts = {
            "clock": lambda: world.pass_seconds(0.001),
            "resume": lambda: one.resume(task_id, "an answer").state,
            "reap": other.reap,
            "claim": lambda: other.claim("q", "w"),
        }
        order = list(acts)[number % 4 :] + list(acts)[: number % 4]
        answers = dict(zip(order, together([acts[name] for name in order]), strict=True))
        if answers["claim"] is None:
            scripted[1].claim("q", "w")
        held = scripted[0].task(task_id)
        assert (held.state, held.fencing_token) == ("leased", 2)
        scripted[0].release(task_id, 2)
        lease = scripted[0].claim("q", "w")
        expected = {"timed_out": True} if answers["resume"] == "invalid_state" else "an answer"
        assert [(one.park, one.input) for one in lease.inputs] == [(1, expected)]
        scripted[0].submit(task_id, 3, {}, task_id)

    for number in rounds(60):
        race(number)
    woken = [event.task_id for event in log(scripted[0], "resumed", "park_expired")]
    assert len(woken) == len(set(woken)) == len(rounds(60))


def test_two_reapers(scripted: list[tessera.Tessera], world: World) -> None:
    """Reapers at work together settle each lapse and each park once; none is counted twice."""
    for number in rounds(2):
        fill(scripted[0], "q", 250)
        for n in range(250):
            lease = scripted[0].claim("q", "w")
            if n % 3 == 0:
                scripted[0].park(lease.task_id, lease.fencing_token, "which?", 5)
        world.pass_seconds(30)
        assert sum(at_once(4, lambda n: scripted[n % 2].reap())) == 250
        assert len(log(scripted[0], "lease_lapsed")) == (number + 1) * 166
        assert len(log(scripted[0], "park_expired")) == (number + 1) * 84
        assert scripted[0].counts().queues["q"].ready == 250
        while lease := scripted[1].claim("q", "w"):
            scripted[1].submit(lease.task_id, lease.fencing_token, {}, f"{lease.task_id}-{number}")


def test_two_reaping_processes(tmp_path: Path) -> None:
    """Two processes that reap one file at once settle each lapse once."""
    path = str(tmp_path / "store.db")
    an_hour_ago = World(now_us=time.time_ns() // 1_000 - 3_600 * SECOND_US)
    with tessera.open(path, runtime=an_hour_ago.runtime()) as store:
        store.define_queue("q", backoff_base_seconds=0)
        fill(store, "q", 400)
        while store.claim("q", "w"):
            pass
    with processes(2, path, tmp_path) as crew:
        for process in crew:
            process.tell("reap")
        reaped = [answer for process in crew for answer in process.done()]

    assert sum(reaped) == 400
    with tessera.open(path) as store:
        lapsed = [event.task_id for event in log(store, "lease_lapsed")]
        assert len(lapsed) == len(set(lapsed)) == 400
        assert store.counts().queues["q"].ready == 400
    assert_whole(path)


def _hands(handles: list[tessera.Tessera], number: int) -> list[tessera.Tessera]:
    """Two hands: in turn each with a handle of its own, and both with the same one."""
    return [handles, handles[::-1], handles[:1] * 2][number % 3]
