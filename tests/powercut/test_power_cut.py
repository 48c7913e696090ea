"""The power goes: whatever was answered is there, everything else is whole or absent."""

from __future__ import annotations

import asyncio
import os
import random
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import apsw
import pytest
from powercut.disk import NotedDisk, Story

import tessera
from tessera.errors import TesseraError
from tessera.models import Claim, DefineQueue, Lease, Raw, Submit, TaskSpec
from tessera.rules.grants import OWNER
from tessera.runtime import real_runtime
from tessera.storage import wal
from tessera.storage.loop import LoopEngine
from tessera.surface import SURFACE

LONG = "TESSERA_LONG" in os.environ
CUTS = 2_000 if LONG else 60
VERBS = {name: row.run() for name, row in SURFACE.items()}


@pytest.fixture
def story(monkeypatch: pytest.MonkeyPatch) -> Iterator[Story]:
    """What happens on the disk, from now to the end of the test's first half."""
    story = Story()
    disk = NotedDisk(story)
    monkeypatch.setattr(wal, "fdatasync", disk.fdatasync)
    yield story
    disk.unregister()


def cut_everywhere(story: Story, folder: Path) -> None:
    """Cut the power before and after syncs and at random points; each time open what is left and look."""
    chance = random.Random(20261130)
    syncs = [place for at in story.syncs() for place in (at, at + 1)]
    places = {chance.randrange(1, len(story.entries)) for _ in range(CUTS // 2)}
    places |= set(chance.sample(syncs, min(len(syncs), CUTS // 2)))
    told = 0
    for number, cut in enumerate(sorted(places)):
        left = folder / f"cut-{number}"
        left.mkdir()
        story.leave(cut, left, chance)
        answered = story.answers(cut)
        if answered:
            check(str(left / "s.db"), answered)
            told += 1
    assert told > len(places) // 3, "the power was rarely cut after an answer"


def check(path: str, answered: list[tuple[str, Any]]) -> None:
    """The store opens, is whole, and holds all that was answered."""
    connection = apsw.Connection(path)
    assert connection.execute("pragma integrity_check").get == "ok"
    held = "select serial from leases except select serial from tasks where state = 1"
    free = "select serial from tasks where state = 1 except select serial from leases"
    assert connection.execute(f"{held} union all {free}").get is None
    events = dict(connection.execute("select type, count(*) from events group by type").fetchall())
    tasks, results = connection.execute(
        "select (select count(*) from tasks), (select count(*) from results)"
    ).get
    connection.close()
    assert (events.get(1, 0), events.get(4, 0)) == (tasks, results)
    with tessera.open(path) as store:
        assert store.counts(recount=True).agree
        for verb, answer in answered:
            if verb == "define_queue":
                assert answer.name in store.counts().queues
            elif verb == "enqueue":
                store.task(answer.task_id)
            elif verb == "claim":
                assert store.task(answer.task_id).fencing_token >= answer.fencing_token
            elif verb == "submit":
                stored = {one.idempotency_key: one.sha256 for one in store.results(answer.task_id)}
                assert stored[answer.idempotency_key] == answer.sha256


def test_threads(story: Story, tmp_path: Path) -> None:
    """Eight threads of the library are answered; the power goes; nothing answered is missing."""
    live = tmp_path / "live"
    live.mkdir()
    with tessera.open(str(live / "s.db")) as store:
        story.answered(("define_queue", store.define_queue("q")))

        def work(name: str) -> None:
            for number in range(6):
                task_id = store.enqueue(queue="q", kind="k", brief={"n": number, "x": "y" * 700})
                story.answered(("enqueue", store.task(task_id)))
                if (lease := store.claim("q", name)) is not None:
                    story.answered(("claim", lease))
                    key = f"{lease.task_id}:{lease.fencing_token}"
                    story.answered(("submit", store.submit(lease.task_id, lease.fencing_token, {}, key)))

        workers = [threading.Thread(target=work, args=(f"w{n}",)) for n in range(8)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
    apsw.set_default_vfs("unix")
    cut_everywhere(story, tmp_path)


async def swarm(path: str, story: Story) -> None:
    """Forty callers of the event loop, some of whose verbs are refused or break."""
    engine = LoopEngine(path, real_runtime(), asyncio.get_running_loop())

    async def ask(verb: str, model: Any) -> Any:
        answer = await engine.submit(VERBS[verb], OWNER, model)
        story.answered((verb, answer))
        return answer

    async def call(name: str) -> None:
        for number in range(5):
            brief = Raw(b'{"x":"' + b"y" * 700 + b'"}')
            await ask("enqueue", TaskSpec(queue="q", kind="k", brief=brief, priority=number))
            lease = await engine.submit(VERBS["claim"], OWNER, Claim(queue="q", worker=name))
            if isinstance(lease, Lease):
                story.answered(("claim", lease))
                key = f"{lease.task_id}:{lease.fencing_token}"
                done = Submit(
                    task_id=lease.task_id, fencing_token=lease.fencing_token, idempotency_key=key,
                    ok=number != 3,
                )  # fmt: skip
                await ask("submit", done)
            if number == 2:
                with pytest.raises(TesseraError):
                    await engine.submit(breaks)

    await ask("define_queue", DefineQueue(name="q", backoff_base_seconds=0))
    await asyncio.gather(*(call(f"w{n}") for n in range(40)))
    engine.close()


def breaks(tx: Any, runtime: Any) -> None:
    """A verb with a bug, in the middle of everybody's transaction."""
    tx.write("set_meta", name="broken", value=1)
    raise ZeroDivisionError


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
@pytest.mark.parametrize("pages", [40, 10_000], ids=["the log starts again", "the log is cut short"])
def test_the_loop(story: Story, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pages: int) -> None:
    """Callers of the event loop are answered in groups, checkpoints run beside them; the power goes; nothing
    answered is missing.
    """
    monkeypatch.setattr("tessera.storage.checkpoints.RESTART_PAGES", pages)
    monkeypatch.setattr("tessera.storage.checkpoints.CHECKPOINT_BYTES", 1 << 16)
    monkeypatch.setattr("tessera.storage.checkpoints.CHECKPOINT_SECONDS", 0.01)
    monkeypatch.setattr("tessera.storage.checkpoints.WAL_BYTES_LARGE", 1 << 18)
    live = tmp_path / "live"
    live.mkdir()
    asyncio.run(swarm(str(live / "s.db"), story))
    apsw.set_default_vfs("unix")
    cut_everywhere(story, tmp_path)


def test_the_check_can_fail(story: Story, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If the log were never synced, a cut would lose answers, and the check would say so."""
    monkeypatch.setattr(wal, "fdatasync", lambda handle: None)
    live = tmp_path / "live"
    live.mkdir()
    with tessera.open(str(live / "s.db")) as store:
        story.answered(("define_queue", store.define_queue("q")))
        for _ in range(20):
            story.answered(("enqueue", store.task(store.enqueue(queue="q", kind="k", brief={}))))
    apsw.set_default_vfs("unix")

    with pytest.raises((AssertionError, TesseraError, apsw.Error)):
        cut_everywhere(story, tmp_path)
