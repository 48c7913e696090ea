"""The service's write-ahead log: however much is written, and whoever reads, its file stays short."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import apsw
import pytest
from storage.playing import SPEC, play

import tessera
from tessera.models import AskCounts
from tessera.rules.grants import OWNER
from tessera.runtime import real_runtime
from tessera.storage.checkpoints import Checkpointer
from tessera.storage.loop import LoopEngine
from tessera.verbs import looks
from tessera.verbs.enqueue import enqueue


def test_a_long_log_starts_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Under writers that never rest the log's file stays as long as it was when it started again."""
    monkeypatch.setattr("tessera.storage.checkpoints.RESTART_PAGES", 100)
    monkeypatch.setattr("tessera.storage.checkpoints.CHECKPOINT_BYTES", 1 << 16)
    monkeypatch.setattr("tessera.storage.checkpoints.CHECKPOINT_SECONDS", 0.01)
    log = tmp_path / "s.db-wal"

    async def scene(engine: LoopEngine) -> None:
        async def write() -> None:
            for _ in range(800):
                await engine.submit(enqueue, OWNER, SPEC)
                pages.append(log.stat().st_size >> 12)

        await asyncio.gather(*(write() for _ in range(4)))
        assert max(pages) < 1_500  # of 8,000 that were written
        assert pages == sorted(pages)

    pages: list[int] = []
    play(tmp_path, real_runtime(), scene)


def test_the_log_stays_short_under_readers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Readers that overlap without a gap do not let the write-ahead log grow without bound, and after a long
    reader has gone the log is cut short.
    """
    monkeypatch.setattr("tessera.storage.checkpoints.WAL_BYTES_LARGE", 1 << 20)
    monkeypatch.setattr("tessera.storage.checkpoints.CHECKPOINT_BYTES", 1 << 18)
    monkeypatch.setattr("tessera.storage.checkpoints.CHECKPOINT_SECONDS", 0.02)
    log = tmp_path / "s.db-wal"

    async def scene(engine: LoopEngine) -> None:
        reader = apsw.Connection(str(tmp_path / "s.db"))
        reader.execute("begin").fetchall()
        reader.execute("select count(*) from tasks").fetchall()
        while log.stat().st_size < 6 << 20:
            await asyncio.gather(*(engine.submit(enqueue, OWNER, SPEC) for _ in range(200)))
        reader.execute("rollback")
        for _ in range(3_000):
            await engine.submit(enqueue, OWNER, SPEC)
            await engine.read(looks.counts, OWNER, AskCounts())
            if log.stat().st_size < 2 << 20:
                break
        assert log.stat().st_size < 2 << 20

    play(tmp_path, real_runtime(), scene)


def test_a_reader_of_the_end_is_waited_for_less_and_less(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Somebody who looks at the log's end keeps it from starting again as well: after each try that was in
    vain more rounds are let go by.
    """
    monkeypatch.setattr("tessera.storage.checkpoints.CHECKPOINT_BYTES", 1)
    monkeypatch.setattr("tessera.storage.checkpoints.CHECKPOINT_SECONDS", 3_600)
    monkeypatch.setattr("tessera.storage.checkpoints.WAL_BYTES_LARGE", 1)
    tries, start_again = list[int](), Checkpointer._start_again

    def note(checkpointer: Checkpointer, mode: int, wait_ms: int) -> None:
        tries.append(mode)
        start_again(checkpointer, mode, 1)

    monkeypatch.setattr(Checkpointer, "_start_again", note)
    with tessera.open(str(tmp_path / "s.db")) as store:
        store.define_queue("q")
        reader = apsw.Connection(str(tmp_path / "s.db"))
        reader.execute("begin").fetchall()
        reader.execute("select count(*) from tasks").fetchall()
        checkpointer = Checkpointer(str(tmp_path / "s.db"))
        seen = []
        for _ in range(70):
            checkpointer._checkpoint(2)
            seen.append(len(tries))
        assert [seen.index(number) for number in range(1, 8)] == [0, 2, 5, 10, 19, 36, 53]
        reader.close()
        for _ in range(20):
            checkpointer._checkpoint(2)
        assert len(tries) == 7 + 20
        checkpointer.close()


def test_a_long_reader_is_not_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """While somebody looks at what is old, for as long as it takes, no writer waits for the log to start
    again: it could not.
    """
    monkeypatch.setattr("tessera.storage.checkpoints.LAG_PAGES_MAX", 50)
    monkeypatch.setattr("tessera.storage.checkpoints.RESTART_PAGES", 100)
    monkeypatch.setattr("tessera.storage.checkpoints.WAL_BYTES_LARGE", 1 << 20)
    monkeypatch.setattr("tessera.storage.checkpoints.CHECKPOINT_BYTES", 1 << 16)
    monkeypatch.setattr("tessera.storage.checkpoints.CHECKPOINT_SECONDS", 0.01)
    log, stood = tmp_path / "s.db-wal", list[object]()
    stand = LoopEngine._stand_in_line

    def note(engine: LoopEngine, *args: Any) -> None:
        stood.append(args)
        stand(engine, *args)

    async def scene(engine: LoopEngine) -> None:
        reader = apsw.Connection(str(tmp_path / "s.db"))
        reader.execute("begin").fetchall()
        reader.execute("select count(*) from tasks").fetchall()
        while log.stat().st_size < 1 << 20:
            await engine.submit(enqueue, OWNER, SPEC)
        monkeypatch.setattr(LoopEngine, "_stand_in_line", note)
        for _ in range(400):
            await engine.submit(enqueue, OWNER, SPEC)
        assert stood == []
        reader.close()

    play(tmp_path, real_runtime(), scene)
