"""What must hold of any store's file, whatever has happened to its processes."""

from __future__ import annotations

import hashlib
import json
from collections import Counter, defaultdict
from typing import Any

import raw_sql
from model.checks import BESIDE, STORY
from model.things import receipt_hash
from raw_sql import Raw
from raw_sql import dicts as rows

import tessera
from crash.files import assert_files_whole
from tessera.names import EVENT_TYPES
from tessera.states import CHILDREN, DEAD, DEPENDENCIES, DONE, ENDED, INPUT, LEASED, STATES, WAITING
from tessera.storage.readers import look_at_file
from tessera.testing import World
from tessera.verbs.verify import verify

Row = dict[str, Any]


def assert_whole(path: str, *, damaged: tuple[str, ...] = ()) -> None:
    """The file is sound, its tables agree with each other, and its log tells how they came to be so. The
    store's own check says the same.
    """
    if path.startswith("postgresql://"):
        with tessera.open(path, runtime=World().runtime()) as store:
            verified = store.verify()
    else:
        verified = look_at_file(path, World().runtime(), verify, lambda *news: None)
    assert {one.thing for one in verified.findings} <= {f"task {task_id}" for task_id in damaged}, (
        verified.findings
    )
    connection = raw_sql.connect(path)
    try:
        with connection:
            tasks = _tasks(connection)
            _counts(connection, tasks)
            _leases(connection, tasks)
            _waits(connection, tasks)
            _briefs(connection, tasks, damaged)
            log = _log(connection, tasks)
            _results(connection, tasks, log)
            _parks(connection, tasks, log)
            _dead(connection, tasks)
            _documents(connection)
            assert_files_whole(connection)
    finally:
        connection.close()


def _tasks(connection: Raw) -> dict[int, Row]:
    return {row["serial"]: row for row in rows(connection, "select * from tasks")}


def _counts(connection: Raw, tasks: dict[int, Row]) -> None:
    """The kept counts are a tally of the tasks."""
    tally = Counter((task["queue"], STATES[task["state"]]) for task in tasks.values())
    for row in rows(connection, "select * from counts"):
        assert {state: row[state] for state in STATES} == {
            state: tally[row["queue"], state] for state in STATES
        }


def _leases(connection: Raw, tasks: dict[int, Row]) -> None:
    """A lease for each leased task, with its current token, and for nothing else."""
    leases = rows(connection, "select * from leases")
    assert sorted((one["serial"], one["queue"], one["fencing_token"]) for one in leases) == sorted(
        (task["serial"], task["queue"], task["fencing_token"])
        for task in tasks.values()
        if task["state"] == LEASED
    )


def _waits(connection: Raw, tasks: dict[int, Row]) -> None:
    """What a waiting task still waits for has not ended; a task that could start does not wait."""
    children = Counter(task["parent"] for task in tasks.values() if task["state"] not in ENDED)
    dependencies = Counter(
        row["dependent"]
        for row in rows(connection, "select * from task_deps")
        if tasks[row["dependency"]]["state"] not in ENDED
    )
    for serial, task in tasks.items():
        if task["state"] in ENDED:
            continue
        waits = {CHILDREN: children[serial], DEPENDENCIES: dependencies[serial]}
        assert (task["pending_children"], task["pending_deps"]) == tuple(waits.values())
        if task["state"] != WAITING:
            assert task["wait_reason"] is None
            assert not any(waits.values())
        elif task["wait_reason"] != INPUT:
            assert waits[task["wait_reason"]] > 0


def _briefs(connection: Raw, tasks: dict[int, Row], damaged: tuple[str, ...]) -> None:
    """Every task has its brief, whole unless it is known to be damaged."""
    briefs = {row["serial"]: row for row in rows(connection, "select * from briefs")}
    assert briefs.keys() == tasks.keys()
    for serial, row in briefs.items():
        whole = hashlib.sha256(row["brief"].encode()).hexdigest() == row["sha256"]
        assert whole or tasks[serial]["task_id"] in damaged


def _log(connection: Raw, tasks: dict[int, Row]) -> dict[str, Counter[str]]:
    """The log has no gap, time in it never falls, each task's story leads to its state, and no token was
    given twice. Returns how often each task met each event.
    """
    events = rows(connection, "select * from events order by seq")
    assert [one["seq"] for one in events] == list(range(1, len(events) + 1))
    instants = [one["at"] for one in events]
    assert instants == sorted(instants)
    may_be: dict[str, set[str]] = defaultdict(lambda: {"nothing"})
    met: dict[str, Counter[str]] = defaultdict(Counter)
    for one in events:
        task_id, event = one["task_id"], EVENT_TYPES[one["type"]]
        if task_id is None or event in BESIDE:
            continue
        before, after = STORY[event]
        assert before & may_be[task_id], f"{task_id}: {event} after {may_be[task_id]}"
        may_be[task_id] = after
        met[task_id][event] += 1
        if event == "claimed":
            assert one["fencing_token"] == met[task_id]["claimed"]
    assert met.keys() == {task["task_id"] for task in tasks.values()}
    for task in tasks.values():
        assert STATES[task["state"]] in may_be[task["task_id"]]
        assert task["fencing_token"] == task["attempts"] == met[task["task_id"]]["claimed"]
    return met


def _results(connection: Raw, tasks: dict[int, Row], log: dict[str, Counter[str]]) -> None:
    """A result for each submit in the log, its receipt right; exactly one good one for each task done."""
    results = rows(connection, "select * from results")
    stored, good = Counter(), Counter()
    for one in results:
        task = tasks[one["serial"]]
        stored[task["task_id"]] += 1
        good[task["task_id"]] += one["ok"]
        assert one["sha256"] == receipt_hash(
            task["task_id"], one["fencing_token"], bool(one["ok"]), json.loads(one["output"]), one["error"]
        )
    assert len({(one["serial"], one["fencing_token"]) for one in results}) == len(results)
    for task in tasks.values():
        assert stored[task["task_id"]] == log[task["task_id"]]["submitted"]
        assert good[task["task_id"]] == (task["state"] == DONE)


def _parks(connection: Raw, tasks: dict[int, Row], log: dict[str, Counter[str]]) -> None:
    """Each park was answered once, or is still open."""
    answered = Counter(row["serial"] for row in rows(connection, "select * from task_inputs"))
    for serial, task in tasks.items():
        met = log[task["task_id"]]
        assert met["parked"] == task["parks"]
        assert met["resumed"] + met["park_expired"] == answered[serial]
        parked = task["state"] == WAITING and task["wait_reason"] == INPUT
        if task["state"] not in ENDED:
            assert answered[serial] == task["parks"] - parked


def _dead(connection: Raw, tasks: dict[int, Row]) -> None:
    """A tombstone for each dead task, and for nothing else."""
    stones = rows(
        connection,
        "select key from record_heads join records using (store, key, version) "
        "where store = 'negative.knowledge'",
    )
    assert sorted(one["key"] for one in stones) == sorted(
        task["task_id"] for task in tasks.values() if task["state"] == DEAD
    )


def _documents(connection: Raw) -> None:
    """Each record has the versions 1 to its head, each feed the cursors 1 to its head."""
    versions = defaultdict(list)
    for row in rows(connection, "select store, key, version from records order by store, key, version"):
        versions[row["store"], row["key"]].append(row["version"])
    heads = {
        (row["store"], row["key"]): row["version"] for row in rows(connection, "select * from record_heads")
    }
    assert {name: list(range(1, head + 1)) for name, head in heads.items()} == versions
    cursors = defaultdict(list)
    for row in rows(connection, "select feed, cursor from feed_items order by feed, cursor"):
        cursors[row["feed"]].append(row["cursor"])
    feeds = {row["feed"]: row["head"] for row in rows(connection, "select * from feeds")}
    assert {feed: list(range(1, head + 1)) for feed, head in feeds.items()} == cursors
