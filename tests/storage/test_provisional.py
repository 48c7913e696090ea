"""Verbs whose writing counts only through a later one: answered before the disk has them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tessera.rules.grants import OWNER
from tessera.runtime import real_runtime
from tessera.storage import wal
from tessera.storage.direct import DirectEngine
from tessera.verbs.guarded import Guarded


def note(tx: Any, runtime: Any, caller: Any, value: int) -> None:
    """Write something."""
    tx.write("set_meta", name="noted", value=value)


def test_a_provisional_verb_waits_for_no_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its commit is not synced by itself; the next verb's sync covers both."""
    syncs = []
    sync = wal.fdatasync
    monkeypatch.setattr(wal, "fdatasync", lambda handle: (syncs.append(handle), sync(handle)))
    engine = DirectEngine(str(tmp_path / "s.db"), real_runtime())
    try:
        provisional = Guarded(note, None, provisional=True)
        ordinary = Guarded(note, None)
        engine.submit(ordinary, OWNER, 1).result()
        before = len(syncs)
        for value in range(3):
            engine.submit(provisional, OWNER, value).result()
        assert len(syncs) == before
        assert engine._writer.wal.synced < engine._writer.wal.committed
        engine.submit(ordinary, OWNER, 9).result()
        assert len(syncs) == before + 1
        assert engine._writer.wal.synced == engine._writer.wal.committed
    finally:
        engine.close()


GROWTH = """
import os, sys, tessera
def status(field):
    with open("/proc/self/status") as lines:
        return next(int(line.split()[1]) for line in lines if line.startswith(field))
store = tessera.open(sys.argv[1])
store.get_blob(store.put_blob(b"warm"))
data = os.urandom(16 << 20) if sys.argv[2] == "put" else None
with open("/proc/self/clear_refs", "w") as clear:
    clear.write("5")
start = status("VmRSS")
answer = store.put_blob(data) if data else store.get_blob(sys.argv[3])
sys.stderr.write(str(status("VmHWM") - start))
print(answer if data else len(answer))
"""


def test_sixteen_mib_take_little_memory(tmp_path: Path) -> None:
    """Putting or getting 16 MiB grows a process by at most 40 MiB."""

    def run(*arguments: str) -> str:
        command = [sys.executable, "-c", GROWTH, str(tmp_path / "s.db"), *arguments]
        ran = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
        assert 0 < int(ran.stderr) <= 40 << 10
        return ran.stdout.strip()

    name = run("put")
    assert run("get", name) == str(16 << 20)
