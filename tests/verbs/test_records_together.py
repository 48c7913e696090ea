"""put_records, and writers that meet."""

from __future__ import annotations

import multiprocessing
import threading
from typing import Any

import pytest
from msgspec.json import encode
from verbs.bench import Bench
from verbs.refusals import refused

import tessera
from tessera.errors import TesseraError, VersionConflict
from tessera.library import Tessera
from tessera.models import decode
from tessera.rules.grants import OWNER
from tessera.storage.sqlite import Job
from tessera.surface import SURFACE

VERBS = ("put_records",)


def write(store: str, key: str, value: Any, expected_version: int | None = None) -> dict[str, Any]:
    """One write of a batch."""
    return dict(store=store, key=key, value=value, expected_version=expected_version)


def test_all_of_a_batch(bench: Bench) -> None:
    """A batch writes across stores, in order, and is one line of the log."""
    bench.store.put_record("a", "old", 0)
    before = len(bench.log())
    written = bench.store.put_records([write("a", "old", 1, 1), write("b", "new", 2)])

    assert [(one.store, one.key, one.version, one.value) for one in written] == [
        ("a", "old", 2, 1), ("b", "new", 1, 2)
    ]  # fmt: skip
    assert [bench.store.get_record(one.store, one.key) for one in written] == written
    (line,) = bench.log()[before:]
    assert line.data["records"][1] == {"store": "b", "key": "new", "version": 1}


def test_the_same_key_twice(bench: Bench) -> None:
    """A later write of a batch sees the earlier ones: two versions, or a conflict with the first of them."""
    written = bench.store.put_records([write("s", "k", 1), write("s", "k", 2, 1), write("s", "k", 3, 2)])
    assert [one.version for one in written] == [1, 2, 3]
    assert [one.value for one in bench.store.record_history("s", "k").versions] == [1, 2, 3]
    twice = [write("s", "l", 1), write("s", "l", 2)]
    refusal = refused(bench, "version_conflict", bench.store.put_records, twice)
    assert (refusal.extra, refusal.detail[:9]) == ({"current_version": 1}, "writes[1]")


@pytest.mark.parametrize("place", [0, 1, 49, 99])
def test_none_of_a_batch(bench: Bench, place: int) -> None:
    """One conflict among a hundred writes nothing, and says which write lost to which version."""
    bench.store.put_record("s", "taken", 0)
    writes = [write("s", f"k{n}", n) for n in range(100)]
    writes[place] = write("s", "taken", 1)
    refusal = refused(bench, "version_conflict", bench.store.put_records, writes)
    assert refusal.extra == {"current_version": 1}
    assert refusal.detail.startswith(f"writes[{place}]: ")


def test_the_form_of_a_batch(bench: Bench) -> None:
    """One to a hundred writes, each with all its fields; reserved stores and foreign keys refuse it whole."""
    store = bench.store
    good = write("s", "k", 1)
    for writes in ([], [good] * 101, [good, {"store": "s"}], [good, 1], [good, good | {"version": 1}]):
        refused(bench, "invalid_request", store.put_records, writes)
    said = refused(bench, "invalid_request", store.put_records, [good, write("s", "l", 2**53)])
    assert said.detail.startswith("writes[1]: value")
    refused(bench, "forbidden", store.put_records, [good, write("negative.knowledge", "k", 1)])
    refused(bench, "forbidden", bench.key(scopes=["admin"]).put_records, [good])
    assert len(store.put_records([write("s", f"k{n}", n) for n in range(100)])) == 100


def test_callers_of_one_turn(bench: Bench) -> None:
    """Writes that meet in one turn are answered as if one after the other: the first of each key wins, the
    others are told the version that won, and those of other keys are not touched by it.
    """
    run, ask = SURFACE["put_record"].run(), SURFACE["put_record"].ask
    batch = SURFACE["put_records"].ask
    engine = bench.store._door._engine
    documents = [b'{"store": "s", "key": "k%d", "value": %d}' % (n % 3, n) for n in range(9)]
    jobs = [Job(run, (OWNER, decode(document, ask))) for document in documents]
    losing = (
        b'{"writes": [{"store": "s", "key": "new", "value": 1}, {"store": "s", "key": "k0", "value": 1}]}'
    )
    jobs.append(Job(SURFACE["put_records"].run(), (OWNER, decode(losing, batch))))
    writer = engine._writer
    writer.begin()
    writer.attempt(jobs)
    writer.commit()
    assert [getattr(job.outcome, "version", None) for job in jobs[:4]] == [1, 1, 1, None]
    assert all(job.outcome.extra == {"current_version": 1} for job in jobs[3:])
    assert [one.value for one in bench.store.list_records("s").records] == [0, 1, 2]


def test_a_batch_that_lost_leaves_its_keys(bench: Bench) -> None:
    """Of batches that meet in one turn, one that is refused after its first write has written nothing: the
    next one makes that record's first version.
    """
    bench.store.put_record("s", "taken", 0)
    run, ask = SURFACE["put_records"].run(), SURFACE["put_records"].ask
    batches = [
        [write("s", "new", "lost"), write("s", "taken", "lost")],
        [write("s", "new", "won")],
        [write("s", "new", "late"), write("s", "other", "late")],
    ]
    jobs = [Job(run, (OWNER, decode(encode({"writes": batch}), ask))) for batch in batches]
    writer = bench.store._door._engine._writer
    writer.begin()
    writer.attempt(jobs)
    writer.commit()
    assert [getattr(job.outcome, "code", "written") for job in jobs] == [
        "version_conflict", "written", "version_conflict"
    ]  # fmt: skip
    assert [one.value for one in bench.store.record_history("s", "new").versions] == ["won"]
    assert [one.key for one in bench.store.list_records("s").records] == ["new", "taken"]


def increments(store: Tessera, number: int) -> list[int]:
    """Count one record up by reading and comparing, so often."""
    made = []
    while len(made) < number:
        try:
            head = store.get_record("s", "count")
            made.append(store.put_record("s", "count", head.value + 1, head.version).version)
        except VersionConflict:
            continue
    return made


def test_threads_that_race(bench: Bench) -> None:
    """Of 12 threads that write the same version one wins each time: nothing is lost, no version twice; and of
    12 that make the same key, one does.
    """
    store = bench.store
    store.put_record("s", "count", 0)
    made: list[int] = []
    firsts: list[object] = []

    def work() -> None:
        try:
            firsts.append(store.put_record("s", "first", 1).version)
        except TesseraError as refusal:
            firsts.append(refusal.extra)
        made.extend(increments(store, 10))

    crew = [threading.Thread(target=work) for _ in range(12)]
    for thread in crew:
        thread.start()
    for thread in crew:
        thread.join()
    assert sorted(made) == list(range(2, 122))
    assert store.get_record("s", "count").value == 120
    assert (firsts.count(1), firsts.count({"current_version": 1})) == (1, 11)


def raced(path: str, number: int, made: Any) -> None:
    with tessera.open(path) as store:
        made.put(increments(store, number))


def test_processes_that_race(tmp_path: Any) -> None:
    """The same with 4 processes on one file."""
    path = str(tmp_path / "store.db")
    with tessera.open(path) as store:
        store.put_record("s", "count", 0)
        spawn = multiprocessing.get_context("spawn")
        made = spawn.Queue()
        crew = [spawn.Process(target=raced, args=(path, 20, made)) for _ in range(4)]
        for process in crew:
            process.start()
        versions = sorted(version for _ in crew for version in made.get(timeout=60))
        for process in crew:
            process.join()
        assert versions == list(range(2, 82))
        assert [one.value for one in store.record_history("s", "count", limit=1_000).versions] == list(
            range(81)
        )


def test_batches_that_overlap(bench: Bench) -> None:
    """Batches over the same keys in opposite order neither hang nor mix: each is whole or absent."""
    keys = [f"k{n}" for n in range(20)]
    for key in keys:
        bench.store.put_record("s", key, "start")
    won: list[str] = []

    def work(name: str, order: list[str]) -> None:
        for version in range(1, 11):
            try:
                bench.store.put_records([write("s", key, f"{name}{version}", version) for key in order])
                won.append(f"{name}{version}")
            except VersionConflict:
                pass

    crew = [
        threading.Thread(target=work, args=(name, order))
        for name, order in (("a", keys), ("b", keys[::-1]), ("c", keys))
    ]
    for thread in crew:
        thread.start()
    for thread in crew:
        thread.join()
    for version in range(2, len(won) + 2):
        (value,) = {bench.store.get_record("s", key, version).value for key in keys}
        assert value in won
