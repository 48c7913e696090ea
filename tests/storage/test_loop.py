"""The event loop's engine: one commit for many verbs, answers after the disk, nobody held up."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import apsw
import pytest
from storage.playing import SPEC, commits, play

import tessera
from tessera.errors import TesseraError, Unavailable
from tessera.limits import CLAIMS_PER_TURN_MAX
from tessera.models import AskCounts, Claim, DefineQueue, Raw, TaskSpec
from tessera.rules.grants import OWNER
from tessera.runtime import real_runtime
from tessera.storage import wal
from tessera.storage.loop import SPLIT_VERBS_MIN, LoopEngine
from tessera.storage.port import News
from tessera.surface import SURFACE
from tessera.testing import World
from tessera.verbs import looks
from tessera.verbs.claim import claim
from tessera.verbs.define_queue import define_queue
from tessera.verbs.enqueue import enqueue


def test_verbs_of_a_turn_share_a_commit(tmp_path: Path, world: World) -> None:
    """A hundred callers of one turn get a hundred answers out of two commits, the second made of what ran
    while the first was synced; a few get them out of one.
    """

    async def scene(engine: LoopEngine) -> None:
        before, syncs = commits(world), world.reached.count("commit.synced")
        answers = await asyncio.gather(*(engine.submit(enqueue, OWNER, SPEC) for _ in range(100)))
        assert len({answer.task_id for answer in answers}) == 100
        assert commits(world) == before + 2
        assert world.reached.count("commit.synced") == syncs + 2
        await asyncio.gather(*(engine.submit(enqueue, OWNER, SPEC) for _ in range(SPLIT_VERBS_MIN - 1)))
        assert commits(world) == before + 3
        assert world.reached.count("commit.synced") == syncs + 3

    play(tmp_path, world.runtime(), scene)


def test_claims_go_last(tmp_path: Path, world: World) -> None:
    """Of one turn, whatever is no claim runs before the claims and is answered before them, though it came
    after; and no turn runs more than a few claims, so that what comes meanwhile goes before the rest.
    """
    run = SURFACE["claim"].run()

    async def scene(engine: LoopEngine) -> list[str]:
        await asyncio.gather(*(engine.submit(enqueue, OWNER, SPEC) for _ in range(100)))
        order: list[str] = []

        def ask(name: str, *verb: Any) -> asyncio.Future[Any]:
            future = engine.submit(*verb)
            future.add_done_callback(lambda _: order.append(name))
            return future

        asks = [ask("claim", run, OWNER, Claim(queue="q", worker="w")) for _ in range(100)]
        asks.append(ask("early", enqueue, OWNER, SPEC))
        await asyncio.sleep(0)  # one turn
        asks.append(ask("late", enqueue, OWNER, SPEC))
        leases = await asyncio.gather(*asks)
        assert len({lease.task_id for lease in leases[:100]}) == 100
        return order

    order = play(tmp_path, world.runtime(), scene)

    assert order[0] == "early"
    assert order.index("late") < 1 + 3 * CLAIMS_PER_TURN_MAX


def test_no_answer_before_the_sync(tmp_path: Path, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """While the disk is syncing nothing is answered, more verbs run, and a look that saw them waits too."""
    disk, real = threading.Event(), wal.fdatasync
    entered = threading.Event()

    def slow(fd: int) -> None:
        entered.set()
        disk.wait(10)
        real(fd)

    async def scene(engine: LoopEngine) -> None:
        monkeypatch.setattr(wal, "fdatasync", slow)
        first = [engine.submit(enqueue, OWNER, SPEC) for _ in range(2)]
        await asyncio.to_thread(entered.wait, 10)
        second = engine.submit(enqueue, OWNER, SPEC)
        look = engine.read(looks.counts, OWNER, AskCounts())
        done, _ = await asyncio.wait([*first, second, look], timeout=0.2)
        assert not done
        disk.set()
        await asyncio.gather(*first, second)
        assert (await look).queues["q"].ready in (2, 3)

    play(tmp_path, world.runtime(), scene)


def test_a_failed_sync_ends_the_process(tmp_path: Path) -> None:
    """After a sync that failed nobody can tell what is on disk: the process ends, with nothing answered."""
    code = f"""
import asyncio, tessera
from tessera.storage import wal
from tessera.storage.loop import SPLIT_VERBS_MIN, LoopEngine
from tessera.runtime import real_runtime
from tessera.models import DefineQueue
from tessera.rules.grants import OWNER
from tessera.verbs.define_queue import define_queue
def fails(fd): raise OSError(5, "input/output error")
async def main():
    engine = LoopEngine({str(tmp_path / "s.db")!r}, real_runtime(), asyncio.get_running_loop())
    wal.fdatasync = fails
    await engine.submit(define_queue, OWNER, DefineQueue(name="q"))
    print("answered")
asyncio.run(main())
"""
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)

    assert (ended.returncode, ended.stdout) == (wal.SYNC_FAILED, "")
    assert "could not be synced" in ended.stderr


@pytest.mark.parametrize(
    ("end", "how"),
    [
        ("", "replace(path + '-wal', file)"),
        ("-wal", "unlink(file)"),
        ("-shm", "unlink(file)"),
        ("", "rename(folder, folder + '-aside'); open(folder, 'w').close()"),
    ],
)
def test_a_store_that_is_taken_away_ends_the_process(tmp_path: Path, end: str, how: str) -> None:
    """A service whose file is removed or replaced under it, or what is beside that, ends: nobody would find
    what it stores.
    """
    code = f"""
import asyncio, os
from tessera.storage.loop import LoopEngine
from tessera.runtime import real_runtime
async def main():
    folder = {str(tmp_path / "folder")!r}
    os.mkdir(folder)
    path = folder + "/s.db"
    engine = LoopEngine(path, real_runtime(), asyncio.get_running_loop())
    file = path + {end!r}
    os.{how}
    await asyncio.sleep(20)
asyncio.run(main())
"""
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)

    assert ended.returncode == wal.SYNC_FAILED
    assert "was removed or replaced" in ended.stderr


def broken(tx: Any, runtime: Any) -> None:
    """A verb with a bug: it writes, then fails."""
    tx.write("set_meta", name="reaper_last_run", value=1)
    raise ZeroDivisionError


def test_one_bad_verb_in_a_batch(tmp_path: Path, world: World, caplog: pytest.LogCaptureFixture) -> None:
    """A verb that breaks takes none of its batch with it, and leaves nothing behind."""

    async def scene(engine: LoopEngine) -> list[Any]:
        futures = [
            engine.submit(enqueue, OWNER, SPEC),
            engine.submit(broken),
            engine.submit(enqueue, OWNER, SPEC),
        ]
        outcomes = await asyncio.gather(*futures, return_exceptions=True)
        assert (await engine.read(looks.counts, OWNER, AskCounts())).queues["q"].ready == 2
        assert await engine.read(lambda tx, runtime: tx.one("reaper_last_run")) is None
        return outcomes

    first, bad, second = play(tmp_path, world.runtime(), scene)

    assert first.task_id != second.task_id
    assert type(bad) is TesseraError
    assert "verb broken failed" in caplog.text


def test_what_is_committed_is_told_whatever_its_neighbour_does(tmp_path: Path, world: World) -> None:
    """A verb that breaks beside its neighbour keeps no news of what that one did from those who wait."""

    def broken(tx: Any, runtime: Any) -> None:
        raise ZeroDivisionError

    async def scene(engine: LoopEngine) -> None:
        told: list[News] = []
        engine.watch(told.append)
        outcomes = await asyncio.gather(
            engine.submit(enqueue, OWNER, SPEC), engine.submit(broken), return_exceptions=True
        )
        assert [isinstance(one, TesseraError) for one in outcomes] == [False, True]
        assert [one.ready for one in told] == [{"q"}]

    play(tmp_path, world.runtime(), scene)


def test_much_falls_due_at_once(tmp_path: Path, world: World) -> None:
    """Two thousand tasks that fall due together are settled over several turns, while others are answered."""

    async def scene(engine: LoopEngine) -> None:
        delayed = TaskSpec(queue="q", kind="k", brief=Raw(b"{}"), delay_seconds=5)
        await asyncio.gather(*(engine.submit(enqueue, OWNER, delayed) for _ in range(2_000)))
        await engine.submit(define_queue, OWNER, DefineQueue(name="other"))
        world.pass_seconds(5)
        claimed = engine.submit(claim, OWNER, Claim(queue="q", worker="w"))
        await engine.submit(define_queue, OWNER, DefineQueue(name="third"))
        assert not claimed.done()
        assert (await claimed).fencing_token == 1

    play(tmp_path, world.runtime(), scene)


def test_another_process_holds_the_lock(tmp_path: Path, world: World) -> None:
    """While another process writes, verbs stand in line in their order, and the loop goes on."""

    async def scene(engine: LoopEngine) -> list[str]:
        holder = apsw.Connection(str(tmp_path / "s.db"))
        holder.execute("begin immediate")
        order: list[str] = []
        specs = [TaskSpec(queue="q", kind="k", brief=Raw(b"{}"), task_id=f"t{n}") for n in range(5)]
        asks = [engine.submit(enqueue, OWNER, spec) for spec in specs]
        for ask in asks:
            ask.add_done_callback(lambda done: order.append(done.result().task_id))
        turns = 0
        for _ in range(20):
            await asyncio.sleep(0.001)
            turns += 1
        assert order == []
        assert turns == 20
        holder.execute("rollback")
        await asyncio.gather(*asks)
        return order

    assert play(tmp_path, world.runtime(), scene) == [f"t{n}" for n in range(5)]


def test_a_lock_held_too_long_is_told(tmp_path: Path, world: World) -> None:
    """When another process keeps the lock, whoever stands in line gets `unavailable`, definitely undone."""

    async def scene(engine: LoopEngine) -> None:
        holder = apsw.Connection(str(tmp_path / "s.db"))
        holder.execute("begin immediate")
        ask = engine.submit(enqueue, OWNER, SPEC)
        await asyncio.sleep(0.01)  # long enough to find the lock taken
        world.pass_seconds(6)
        with pytest.raises(Unavailable) as refusal:
            await ask
        assert refusal.value.definite
        holder.execute("rollback")
        await engine.submit(enqueue, OWNER, SPEC)

    play(tmp_path, world.runtime(), scene)


def test_a_second_process_is_never_served_stale(tmp_path: Path) -> None:
    """What another opener writes between two verbs is seen by the second, whatever the first remembered."""

    async def scene(engine: LoopEngine) -> None:
        await engine.submit(enqueue, OWNER, SPEC)
        await engine.submit(enqueue, OWNER, SPEC)
        first = await engine.submit(claim, OWNER, Claim(queue="q", worker="w"))
        with tessera.open(str(tmp_path / "s.db")) as other:
            other.define_queue("q", heartbeat_seconds=7)
        second = await engine.submit(claim, OWNER, Claim(queue="q", worker="w"))
        assert (first.heartbeat_seconds, second.heartbeat_seconds) == (60, 7)

    play(tmp_path, real_runtime(), scene)


def test_closing_answers_what_is_open(tmp_path: Path, world: World) -> None:
    """Closing commits, syncs and answers what was asked before; what is asked after is refused."""

    async def main() -> tuple[Any, Any]:
        engine = LoopEngine(str(tmp_path / "s.db"), world.runtime(), asyncio.get_running_loop())
        asked = engine.submit(define_queue, OWNER, DefineQueue(name="q"))
        engine.close()
        engine.close()
        late = engine.submit(define_queue, OWNER, DefineQueue(name="r"))
        return await asyncio.gather(asked, late, return_exceptions=True)

    asked, late = asyncio.run(main())

    assert asked.name == "q"
    assert isinstance(late, Unavailable)
    with tessera.open(str(tmp_path / "s.db"), runtime=world.runtime()) as store:
        assert [queue.name for queue in store.queues()] == ["q"]
