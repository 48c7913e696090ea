"""Operations: clocks, processes that stand still, counts, stores of the first version."""

from __future__ import annotations

import json
import os
import random
import re
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import apsw
import pytest
from cases.crews import DRAIN, started
from cases.races import attempt, rounds
from verbs.bench import Bench

import tessera
from tessera.errors import StaleLease
from tessera.limits import NESTING_LEVELS_MAX
from tessera.storage.migrate import migrate, migrations
from tessera.testing import World

HOLD = """
import sys, tessera
with tessera.open(sys.argv[1]) as store:
    lease = store.claim("q", "stopped")
    print(lease.task_id, lease.fencing_token, flush=True)
    sys.stdin.readline()
    for act in (
        lambda: store.heartbeat(lease.task_id, lease.fencing_token),
        lambda: store.submit(lease.task_id, lease.fencing_token, 1, "late"),
    ):
        try:
            act()
        except tessera.TesseraError as refusal:
            print(refusal.code, flush=True)
"""
CLOCK = """
import json, sys, tessera
from tessera.testing import World
world = World(now_us=int(sys.argv[2]))
with tessera.open(sys.argv[1], runtime=world.runtime()) as store:
    store.define_queue("q", heartbeat_seconds=10, miss_limit=1, lease_seconds=10, backoff_base_seconds=0)
    store.enqueue(queue="q", kind="k", brief={}, task_id="t", delay_seconds=3_600)
    world.pass_seconds(3_600)
    first = store.claim("q", "w")
    world.pass_seconds(10)
    second = store.claim("q", "w")
    store.park("t", second.fencing_token, "r", 7_200)
    world.pass_seconds(7_200.000001)
    third = store.claim("q", "w")
    leases = [first.claimed_at, first.expires_at, second.claimed_at, third.claimed_at]
    leases.append(third.inputs[0].resumed_at)
    print(json.dumps([leases, [(event.at, event.type) for event in store.events()]]))
"""


@pytest.mark.parametrize("instant", [1_793_512_800_000_000, 1_793_512_799_999_999, 1_793_512_800_120_000])
def test_o10_the_hosts_time_zone_means_nothing(tmp_path: Path, instant: int) -> None:
    """O10: in every time zone, over the hour in which one of them sets its clocks back, and whatever digits
    an instant ends in, the same story is told with the same times in one form.
    """
    told = set()
    for zone in ("UTC", "America/New_York", "Asia/Kolkata"):
        ran = subprocess.run(
            [sys.executable, "-c", CLOCK, str(tmp_path / f"{zone.replace('/', '-')}.db"), str(instant)],
            env={**os.environ, "TZ": zone}, capture_output=True, text=True, check=True,
        )  # fmt: skip
        told.add(ran.stdout)

    (story,) = told
    leases, events = json.loads(story)
    times = [*leases, *(at for at, _ in events)]
    assert all(re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z", at) for at in times)
    assert [at for at, _ in events] == sorted(at for at, _ in events)


def test_o12_a_holder_that_was_stopped_is_too_late(tmp_path: Path) -> None:
    """O12: a worker that the system stops for longer than its lease is refused when it goes on, heartbeat and
    submit alike, and the one that took over is not disturbed.
    """
    path = str(tmp_path / "s.db")
    with tessera.open(path) as store:
        store.define_queue("q", heartbeat_seconds=1, miss_limit=1, backoff_base_seconds=0)
        store.enqueue(queue="q", kind="k", brief={})
        worker = started(HOLD, path)
        task_id, token = worker.stdout.readline().split()
        worker.send_signal(signal.SIGSTOP)
        lease = None
        while lease is None:
            lease = store.claim("q", "other")
        receipt = store.submit(task_id, lease.fencing_token, 2, "other")
        worker.send_signal(signal.SIGCONT)
        said, _ = worker.communicate("go\n", timeout=60)
        results = store.results(task_id)

    assert lease.fencing_token > int(token)
    assert said.split() == ["stale_lease", "stale_lease"]
    assert [one.sha256 for one in results] == [receipt.sha256]


def test_o12_a_store_that_was_stopped_judges_by_now(bench: Bench) -> None:
    """O12: after ten minutes in which nothing ran, the heartbeats that come first are judged by the time it
    is now, the lapses are settled in the order in which they fell due, and each task is claimed once.
    """
    leases = []
    for _ in range(5):
        leases.append(bench.leased())
        bench.world.pass_seconds(1)
    bench.world.pass_seconds(600)
    with pytest.raises(StaleLease):
        bench.store.heartbeat(leases[3].task_id, leases[3].fencing_token)
    claimed = [bench.claim().task_id for _ in range(5)]

    assert bench.store.claim("q", "w") is None
    assert sorted(claimed) == sorted(lease.task_id for lease in leases)
    lapsed = [event.task_id for event in bench.store.events(limit=1_000) if event.type == "lease_lapsed"]
    order = [lease.task_id for lease in leases]
    assert lapsed == [order[3], *order[:3], order[4]]
    assert bench.store.verify().findings == []


ACTS = ("enqueue", "claim", "claim", "submit", "fail", "split", "park", "resume", "cancel", "queue", "time")


def test_o14_counts_never_drift(bench: Bench) -> None:
    """O14: after any run of verbs the counts are a recount's, also while others claim, and a new queue begins
    with six zeros.
    """
    chance, store = random.Random(20261130), bench.store
    store.define_queue("new")
    new = store.counts().queues["new"]
    assert {getattr(new, name) for name in new.__struct_fields__} == {0}
    held: list[Any] = []
    for number in rounds(400, 20_000):
        act = chance.choice(ACTS)
        lease = (
            held.pop(chance.randrange(len(held)))
            if held and act in {"submit", "fail", "split", "park"}
            else None
        )
        outcome = attempt(partial(step, bench, act, number, lease, held, chance))
        assert outcome in {None, "stale_lease", "invalid_state"}
        if number % 50 == 0:
            assert store.counts(recount=True).agree
    assert store.verify().findings == []


def step(
    bench: Bench, act: str, number: int, lease: Any, held: list[Any], chance: random.Random
) -> None:  # fmt: skip
    """One verb of a random story."""
    store = bench.store
    mine = (lease.task_id, lease.fencing_token) if lease else ("none", 1)
    if act == "enqueue":
        bench.enqueue()
    elif act == "claim" and (found := store.claim("q", "w")):
        held.append(found)
    elif lease and act in {"submit", "fail"}:
        store.submit(*mine, {}, f"key-{number}", ok=act == "submit", error=None if act == "submit" else "no")
    elif lease and act == "split" and lease.depth < NESTING_LEVELS_MAX:
        store.split(*mine, [{"brief": {}}, {"brief": {}, "after": [0]}])
    elif lease and act == "park":
        store.park(*mine, "r", 30)
    elif act in {"resume", "cancel"}:
        tasks = store.tasks(state="waiting" if act == "resume" else None, limit=1_000).tasks
        if tasks:
            task_id = chance.choice(tasks).task_id
            store.resume(task_id, 1) if act == "resume" else store.cancel(task_id, "r")
    elif act == "queue":
        bench.queue("q", max_attempts=chance.randrange(1, 4))
    elif act == "time":
        bench.world.pass_seconds(chance.randrange(12))


def test_o14_a_recount_is_of_one_instant(bench: Bench) -> None:
    """O14: while another process claims and hands in, no recount ever disagrees with the counts beside it."""
    for _ in range(60):
        bench.enqueue()
    process = started(DRAIN, str(bench.path), "p")
    process.stdin.write("go\n")
    process.stdin.flush()
    looks = 0
    while process.poll() is None or looks == 0:
        assert bench.store.counts(recount=True).agree
        looks += 1
    _, said = process.communicate()

    assert (process.returncode, said) == (0, "")
    assert looks > 1


def test_o15_a_store_of_the_first_version_counts_on(tmp_path: Path, world: World) -> None:
    """O15: a store that was made by the first version, with work in it, is opened by this one; its counts are
    a recount's at once, and parents and dependents behave.
    """
    path = str(tmp_path / "s.db")
    connection = apsw.Connection(path)
    connection.execute(f"pragma application_id = {tessera.storage.migrate.APPLICATION_ID}")
    folder = tmp_path / "migrations"
    folder.mkdir()
    first, name, text = migrations()[0]
    (folder / f"{first:04d}_{name}.sql").write_text(text, encoding="utf-8")
    connection.execute(text)
    connection.execute("insert into migrations values (1, 'queue', 0)")
    connection.execute("insert into meta (name, value) values ('store_id', 'st_1')")
    migrate(connection, world.runtime(), folder)
    for statement in FIRST:
        connection.execute(statement)
    connection.close()
    with tessera.open(path, runtime=world.runtime()) as store:
        assert store.counts(recount=True).agree
        lease = store.claim("q", "w")
        store.submit(lease.task_id, lease.fencing_token, 1, "key")
        dependent = store.claim("q", "w")

        assert (lease.task_id, dependent.task_id) == ("first", "second")
        assert dependent.dependencies[0].output == 1
        assert store.counts(recount=True).agree


# What the first version wrote for a queue, a task, and another one that waits for it.
FIRST = (
    "insert into queues values (1, 'q', 60, 3, 600, 3, 30, 3600, 1, 0)",
    "insert into counts (queue, ready, waiting) values (1, 1, 1)",
    "insert into lanes values (1, 1, 'k', 0)",
    "insert into tasks (serial, task_id, queue, lane, state, priority, created_at, updated_at, dependents) "
    "values (1, 'first', 1, 1, 0, 0, 1, 1, 1)",
    "insert into tasks (serial, task_id, queue, lane, state, priority, created_at, updated_at, dependencies, "
    "pending_deps, wait_reason) values (2, 'second', 1, 1, 2, 0, 1, 1, 1, 1, 1)",
    "insert into briefs values (1, '44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a', '{}')",
    "insert into briefs values (2, '44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a', '{}')",
    "insert into task_deps values (1, 2)",
)
