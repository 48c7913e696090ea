"""The service's write-ahead log: however much is written, and whoever reads, its file stays short."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import apsw
import pytest
from storage.playing import SPEC, play

from tessera.models import AskCounts
from tessera.rules.grants import OWNER
from tessera.runtime import real_runtime
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
        for _ in range(500):
            await engine.submit(enqueue, OWNER, SPEC)
            await engine.read(looks.counts, OWNER, AskCounts())
            if log.stat().st_size < 2 << 20:
                break
        assert log.stat().st_size < 2 << 20

    play(tmp_path, real_runtime(), scene)


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
