"""Every crash point of the house, walked with a real death: what was answered is there, nothing is by half,
and the story goes on as if nothing had happened.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import tessera
from crash import points
from crash.script import BEGIN_US
from crash.story import Story
from crash.wholeness import assert_whole
from tessera.errors import Unauthorized
from tessera.limits import DAY_SECONDS, SECOND_US
from tessera.testing import World, die_at

LONG = os.environ.get("TESSERA_LONG") == "1"
MEMORY = Path("/dev/shm")
STORY = str(Path(__file__).parent / "story.py")
DAMAGED = ("f",)  # whose brief the story itself spoils


@cache
def rehearsed(engine: str = "direct") -> tuple[Counter[str], dict[str, Any]]:
    """The whole story without a death: how often it passes each point, and how it ends."""
    passed: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/store.db"
        story = Story(path, f"{folder}/answers", engine, reach=lambda point: passed.update([point]))
        story.tell()
        story.store.close()
        assert_whole(path, damaged=DAMAGED)
        return passed, ending(path)


def ending(path: str) -> dict[str, Any]:
    """What the story leads to, whatever was repeated on the way."""
    with tessera.open(path, runtime=World(now_us=BEGIN_US).runtime()) as store:
        tasks, keys = store.tasks(limit=1_000).tasks, store.keys()
        return {
            "queues": store.queues(),
            "counts": store.counts(recount=True).queues,
            "keys": sorted(key.name for key in keys if not key.revoked_at),
            "tasks": [
                (t.task_id if t.requeued_from is None else "again", t.state, t.attempts, t.failures, t.parks,
                 t.fencing_token, t.parent_id, t.depth, t.depends_on, t.last_error, t.cancel_reason,
                 t.requeued_from)
                for t in tasks
            ],
            "jobs": [(job.job_id, job.status, job.usage, job.cost_usd) for job in store.jobs().jobs],
            "records": [
                [(one.store, one.key, one.version, one.value)
                 for record in store.list_records(name).records
                 for one in store.record_history(name, record.key).versions]
                for name in store.stores() if name != "negative.knowledge"
            ],
            "nouns": [(one.ref, one.version) for one in store.search_nouns("k", limit=100)],
            "feeds": [(item.cursor, item.payload) for item in store.poll_feed("f").items],
            "buckets": store.buckets(),
            "objects": [
                [(one.bucket, one.key, one.version, one.sha256, one.size)
                 for one in store.object_history("b", meta.key).versions]
                for meta in store.list_objects("b").objects
            ],
            "results": [
                (one.idempotency_key, one.task_id, one.fencing_token, one.ok, one.output, one.error)
                for t in tasks for one in store.results(t.task_id)
            ],
        }  # fmt: skip


def walk() -> list[tuple[str, str]]:
    """Each point where it is first and last passed, some of them more often; all of them in the long form. On
    the loop's engine, what is different there: when it commits and syncs.
    """
    stops = []
    for engine in ("direct", "loop"):
        for point, times in sorted(rehearsed(engine)[0].items()):
            some = 4 if point.startswith("commit.") else 2 if engine == "direct" else 0
            chosen = {i * (times - 1) // (some - 1) for i in range(some)}
            stops += [(f"{point}:{nth + 1}", engine) for nth in (range(times) if LONG else sorted(chosen))]
    return stops


def test_every_point_is_walked() -> None:
    """A point that the source has and the story never passes is one that nobody has died at. Those of a
    backup, of a restore and of a move to another engine are walked beside it.
    """
    beside = {point for point in points.named_in() if point.startswith(("backup.", "restore.", "move."))}
    assert points.named_in() - beside == set(rehearsed()[0])


@pytest.fixture
def place() -> Iterator[Path]:
    """A folder; in memory where that goes, for only processes die here, no disks."""
    with tempfile.TemporaryDirectory(dir=MEMORY if MEMORY.is_dir() else None) as folder:
        yield Path(folder)


@pytest.mark.parametrize(("stop", "engine"), walk())
def test_crash(place: Path, stop: str, engine: str) -> None:
    """A death at this point loses nothing that was answered, leaves nothing by half and doubles nothing."""
    folder = place / "now"
    folder.mkdir()
    store, answers = str(folder / "store.db"), str(folder / "answers")
    die_at(stop, [sys.executable, STORY, store, answers, engine])
    later = shutil.copytree(folder, place / "later")

    with tessera.open(store, runtime=World(now_us=BEGIN_US).runtime()):
        assert_whole(store, damaged=DAMAGED)
    story = Story(store, answers)
    assert_nothing_answered_is_lost(story)
    story.tell()
    story.store.close()
    assert_whole(store, damaged=DAMAGED)
    assert ending(store) == rehearsed()[1]

    store, answers = str(later / "store.db"), str(later / "answers")
    others = Story(store, answers, later_us=DAY_SECONDS * SECOND_US)
    finish_as_strangers(others)
    assert_nothing_answered_is_lost(others)
    others.store.close()
    assert_whole(store, damaged=DAMAGED)


def assert_nothing_answered_is_lost(story: Story) -> None:
    """Every line that was read is still in the log, every receipt still holds, every secret still opens."""
    log = [_plain(event) for event in story.store.events(limit=10_000)]
    assert log[: len(story.log)] == story.log
    tasks = {task.task_id for task in story.store.tasks(limit=1_000).tasks}
    keys = {key.key_id: key for key in _keys(story)}
    for name, answer in story.answers.items():
        verb, _, rest = name.partition(" ")
        if verb in ("enqueue", "requeue"):
            assert tasks >= (set(answer) if isinstance(answer, list) else {answer})
        elif verb == "split" and answer:
            assert set(answer) <= tasks
        elif isinstance(answer, dict) and "content_type" in answer:
            meta = story.store.object_meta(answer["bucket"], answer["key"], answer["version"])
            assert _plain(meta) == answer
        elif isinstance(answer, dict) and "idempotency_key" in answer:
            kept = {one.idempotency_key: one.sha256 for one in story.store.results(answer["task_id"])}
            assert kept[answer["idempotency_key"]] == answer["sha256"]
        elif verb == "write" and answer:
            for one in answer if isinstance(answer, list) else [answer]:
                kept = story.store.get_record(one["store"], one["key"], one["version"])
                assert _plain(kept) == one
        elif verb == "publish":
            assert story.store.poll_feed("f", answer - 1).items[0].payload == {"item": answer}
        elif verb == "store":
            assert hashlib.sha256(story.store.get_blob(answer)).hexdigest() == answer
        elif verb == "issue":
            assert keys[answer["grant"]["key_id"]].name == rest
            assert_opens(story, answer["key"], not keys[answer["grant"]["key_id"]].revoked_at)
        elif verb == "revoke":
            assert keys[answer["key_id"]].revoked_at


def assert_opens(story: Story, secret: str, good: bool) -> None:
    """A secret that was given out opens the store, unless its key was revoked."""
    try:
        story.store.as_key(secret).queues()
    except Unauthorized:
        assert not good
    else:
        assert good


def finish_as_strangers(story: Story) -> None:
    """A day later a crew that knows nothing of the story reaps, resumes, claims and hands in until all has
    ended.
    """
    store = story.store
    store.reap()
    assert all(count.leased == 0 for count in store.counts().queues.values())
    for config in store.queues():
        store.resume_queue(config.name)
    for round_number in range(20):
        for task in store.tasks(state="waiting").tasks:
            if task.wait_reason == "input":
                store.resume(task.task_id, {"go": True})
        for config in store.queues():
            while lease := store.claim(config.name, "stranger"):
                store.submit(
                    lease.task_id, lease.fencing_token, {}, f"stranger-{round_number}-{lease.task_id}"
                )
        if all(count.ready == count.leased == count.waiting == 0 for count in store.counts().queues.values()):
            return
        story.now_us += 60 * SECOND_US
    raise AssertionError("some tasks never end")


def _keys(story: Story) -> list[Any]:
    return story.store.keys()


def _plain(event: Any) -> dict[str, Any]:
    return {name: getattr(event, name) for name in event.__struct_fields__}
