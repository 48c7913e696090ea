"""Leases under races and sudden deaths: one holder, one end, one event each."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from functools import partial
from pathlib import Path

from cases.mortal import remains
from cases.races import attempt, rounds, together
from verbs.bench import Bench
from verbs.refusals import dump

import tessera
from tessera.models import Lease

HERE = Path(__file__).parent
STATEMENTS_MAX = 30  # more than a claim has, with a lapse settled on the way


def test_q09_one_of_many_claims(bench: Bench) -> None:
    """Q09: of sixteen threads and two processes that claim one task at the same time, one gets it."""
    bench.store.close()
    with tessera.open(str(bench.path)) as store:  # on the real clock, which the processes share
        store.define_queue("q", lease_seconds=3_600, heartbeat_seconds=600)
        processes = [
            subprocess.Popen(
                [sys.executable, str(HERE / "contender.py"), str(bench.path), str(number)],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1,
            )
            for number in range(2)
        ]  # fmt: skip

        def ask(process: subprocess.Popen[str]) -> str | None:
            assert process.stdin is not None
            assert process.stdout is not None
            process.stdin.write("claim\n")
            process.stdin.flush()
            answer = process.stdout.readline().strip()
            return None if answer == "nothing" else answer

        for _ in rounds(20, 200):
            task_id = store.enqueue(queue="q", kind="k", brief={})
            threads = [partial(store.claim, "q", f"thread {number}") for number in range(16)]
            answers = together([*threads, *(partial(ask, process) for process in processes)])
            won = [one for one in answers if one is not None]
            assert len(won) == 1, answers
            assert won[0] == f"{task_id} 1" or won[0].task_id == task_id
            task = store.task(task_id)
            assert (task.state, task.attempts, task.fencing_token) == ("leased", 1, 1)
        for process in processes:
            process.communicate()
            assert process.returncode == 0
        claimed = Counter(line.task_id for line in store.events(limit=10_000) if line.type == "claimed")
        assert set(claimed.values()) == {1}
        assert store.counts(recount=True).agree
    bench.reopened()


def test_q10_a_claim_is_whole_or_not_at_all(bench: Bench) -> None:
    """Q10: a process killed before any statement of a claim leaves the task as it was, or leased with its
    event and its count; a lapse on the way likewise.
    """
    for lapse in (False, True):
        task_id = bench.leased().task_id if lapse else bench.enqueue()
        bench.world.pass_seconds(10 * lapse)
        token = bench.store.task(task_id).fencing_token
        copies = [remains(bench.path) for _ in range(STATEMENTS_MAX)]
        ask = ["claim", '{"queue":"q","worker":"w"}', str(bench.world.now_us), *map(str, copies)]
        ran = subprocess.run(
            [sys.executable, str(HERE / "killed.py"), *ask], stdout=subprocess.PIPE, check=True, text=True
        )
        ends = [int(line) for line in ran.stdout.split()]
        died = ends.index(0)
        assert died > 5, "a claim has more statements than this"
        assert ends == [-9] * died + [0] * (STATEMENTS_MAX - died)
        found = [after_death(bench, copy, task_id, token) for copy in copies]
        assert found[died:] == ["leased"] * (STATEMENTS_MAX - died)
        assert set(found[:died]) <= {"untouched", "settled"}
        assert found[:died] == sorted(found[:died], key=["untouched", "settled"].index)
        bench.store.cancel(task_id, "for the next")


def after_death(bench: Bench, copy: Path, task_id: str, token: int) -> str:
    """What a death has left of a claim, which must be one of the whole states."""
    with tessera.open(str(copy), runtime=bench.world.runtime()) as store:
        task = store.task(task_id)
        events = [line.type for line in store.events(limit=10_000) if line.task_id == task_id]
        assert store.counts(recount=True).agree
    leases = dump(copy)["leases"]
    if task.state == "leased" and task.fencing_token > token:
        assert (task.fencing_token, task.worker, len(leases)) == (token + 1, "w", 1)
        assert events[-1] == "claimed"
        return "leased"
    assert task.fencing_token == token
    if task.failures:
        assert (task.state, leases, events[-2:]) == ("ready", [], ["lease_lapsed", "retry_scheduled"])
        return "settled"
    assert len(leases) == (task.state == "leased")
    assert events[-1] == ("claimed" if token else "enqueued")
    return "untouched"


def test_q15_one_death_of_many_lapses(bench: Bench) -> None:
    """Q15: eight claims and a reap that meet one last lapse bury the task once and serve the other once."""
    bench.queue("q", max_attempts=1)
    for _ in rounds(10, 200):
        lapsed = bench.leased(kind="lapsed").task_id
        bench.world.pass_seconds(10)
        other = bench.enqueue(kind="other")
        claims = [partial(bench.store.claim, "q", f"w{number}") for number in range(8)]
        answers = together([*claims, bench.store.reap])
        leases = [one for one in answers[:8] if one is not None]
        assert [lease.task_id for lease in leases] == [other]
        assert bench.story(lapsed).count("dead_lettered") == 1
        versions = [row for row in dump(bench.path)["records"] if row[1] == lapsed]
        assert [row[:3] for row in versions] == [("negative.knowledge", lapsed, 1)]
        bench.ok(leases[0])


def test_q16_an_id_enqueued_by_twenty_at_once(bench: Bench) -> None:
    """Q16: however many enqueue one id at once, while it is worked on and when it has ended, there is one
    task; every caller gets its id, and nothing starts it again.
    """
    bench.queue("other")
    bench.queue("q", max_attempts=1)
    for number in rounds(4, 50):
        for end in ("done", "dead", "cancelled"):
            task_id = f"k{number}-{end}"
            act = partial(bench.enqueue, task_id=task_id)

            def work(task_id: str = task_id, end: str = end) -> str:
                if end == "cancelled":
                    bench.enqueue(task_id=task_id)
                    bench.store.cancel(task_id, "r")
                    return task_id
                bench.enqueue(task_id=task_id)
                lease = bench.claim()
                bench.ok(lease) if end == "done" else bench.fail(lease)
                return task_id

            assert together([*[act] * 19, work]) == [task_id] * 20
            assert together([act] * 20) == [task_id] * 20
            assert bench.state(task_id) == end
            assert bench.story(task_id).count("enqueued") == 1
            assert attempt(partial(bench.enqueue, "other", task_id=task_id)) == "idempotency_conflict"


def test_q25_a_heartbeat_beside_the_end(bench: Bench) -> None:
    """Q25: a heartbeat that meets the end of its lease extends nothing, and the end does not depend on it."""
    for number in rounds(30, 1_000):
        end = ("submit", "park", "cancel")[number % 3]
        lease = bench.leased(kind=end)
        at = lease.task_id, lease.fencing_token
        acts = {
            "submit": partial(bench.store.submit, *at, number, f"i{number}"),
            "park": partial(bench.store.park, *at, "r"),
            "cancel": partial(bench.store.cancel, lease.task_id, "r"),
        }
        beat, ended = together([partial(bench.store.heartbeat, *at), acts[end]])
        assert beat == "stale_lease" or isinstance(beat, Lease)
        assert ended.state == {"submit": "done", "park": "waiting", "cancel": "cancelled"}[end]
        story = bench.story(lease.task_id)
        assert story.count("heartbeat") == isinstance(beat, Lease)
        assert story[-1] == {"submit": "submitted", "park": "parked", "cancel": "cancelled"}[end]
        assert attempt(partial(bench.store.heartbeat, *at)) == "stale_lease"
        assert dump(bench.path)["leases"] == []
