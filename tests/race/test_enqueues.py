"""Many that put the same thing on a queue, and what waits for things that are just ending."""

from __future__ import annotations

from typing import Any

import tessera
from race.crew import at_once, log, rounds


def test_one_id_is_one_task(handles: list[tessera.Tessera]) -> None:
    """20 threads that enqueue one id make one task, and all are answered with it."""

    def race(number: int) -> None:
        spec = dict(queue="q", kind="k", task_id=f"t{number}")
        answers = at_once(20, lambda n: handles[n % 2].enqueue(spec, brief={"n": n}))
        assert answers == [f"t{number}"] * 20
        assert len(log(handles[1], "enqueued")) == number + 1
        assert handles[0].counts().queues["q"].ready == number + 1

    for number in rounds(25):
        race(number)


def test_one_id_belongs_to_one_queue(handles: list[tessera.Tessera]) -> None:
    """Threads that want one id in two queues: one queue has it, and those who want the other are refused."""
    queues = ["q", "other"] * 5
    handles[0].define_queue("other")

    def race(number: int) -> None:
        spec = dict(kind="k", brief={}, task_id=f"t{number}")
        answers = at_once(10, lambda n: handles[n // 5].enqueue(spec, queue=queues[n]))
        owner = handles[0].task(f"t{number}").queue
        assert answers == [f"t{number}" if queue == owner else "idempotency_conflict" for queue in queues]
        assert len(log(handles[1], "enqueued")) == number + 1

    for number in rounds(25):
        race(number)


def test_dependents_of_what_is_just_ending(handles: list[tessera.Tessera]) -> None:
    """A task enqueued while what it depends on ends becomes claimable once, and not before all have ended."""

    def race(number: int) -> None:
        names = [f"{number}.{n}" for n in range(4)]
        for name in names:
            handles[0].enqueue(queue="q", kind="k", brief={}, task_id=name)
            handles[0].claim("q", "w")

        def act(n: int) -> Any:
            store, which = handles[n % 2], n // 3
            if n % 3 == 0:  # a dependency ends
                ok = which < 3
                return (
                    store.submit(names[which], 1, which, names[which]) if ok else store.cancel(names[3], "")
                )
            if n % 3 == 1:  # a dependent comes
                spec = dict(queue="q", kind="k", brief={}, task_id=f"{number}.after.{which}")
                return store.enqueue(spec, depends_on=names)
            return store.claim("q", "early")

        leases = [lease for lease in at_once(12, act)[2::3] if lease is not None]
        leases += [handles[1].claim("q", "w") for _ in range(4 - len(leases))]
        assert sorted(lease.task_id for lease in leases) == [f"{number}.after.{n}" for n in range(4)]
        assert handles[0].claim("q", "w") is None
        for lease in leases:
            ends = [(one.state, one.output) for one in lease.dependencies]
            assert ends == [("done", 0), ("done", 1), ("done", 2), ("cancelled", None)]
            handles[0].submit(lease.task_id, 1, {}, lease.task_id)

    for number in rounds(25):
        race(number)
    ended = {event.task_id: event.seq for event in log(handles[0], "submitted", "cancelled")}
    for event in log(handles[0], "claimed"):
        if ".after." in event.task_id:
            number = event.task_id.split(".")[0]
            assert event.seq > max(ended[f"{number}.{n}"] for n in range(4))
