"""The power goes while bytes are stored: every object that was answered is there with its bytes, and nothing
else can be read.
"""

from __future__ import annotations

import hashlib
import io
import random
import threading
from pathlib import Path
from typing import Any

import apsw
from crash.files import assert_files_whole
from powercut.disk import Story
from powercut.test_power_cut import story

import tessera

__all__ = ["story"]
CUTS = 60


def check(path: str, answered: list[Any]) -> None:
    """Blobs, objects and totals are whole; what was answered can be read."""
    connection = apsw.Connection(path)
    assert connection.execute("pragma integrity_check").get == "ok"
    assert_files_whole(connection)
    connection.close()
    with tessera.open(path) as store:
        for meta in answered:
            assert store.object_meta(meta.bucket, meta.key, meta.version) == meta
            data = store.get_object(meta.bucket, meta.key, meta.version)
            assert hashlib.sha256(data).hexdigest() == meta.sha256


def test_a_power_cut_while_bytes_are_stored(story: Story, tmp_path: Path) -> None:
    """Chunks are answered before they are on disk, the object only after all of them are: wherever the power
    goes, an answered version has all its bytes.
    """
    live = tmp_path / "live"
    live.mkdir()
    with tessera.open(str(live / "s.db")) as store:

        def work(name: str) -> None:
            for number in range(3):
                body = io.BytesIO(hashlib.shake_256(f"{name} {number}".encode()).digest(1_200_000))
                story.answered(store.put_object("kits", name, body, number or None))

        workers = [threading.Thread(target=work, args=(name,)) for name in ("a", "b")]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
    apsw.set_default_vfs("unix")
    chance = random.Random(7)
    syncs = [place for at in story.syncs() for place in (at, at + 1)]
    places = set(chance.sample(syncs, min(len(syncs), CUTS // 2)))
    places |= {chance.randrange(1, len(story.entries)) for _ in range(CUTS // 2)}
    told = 0
    for number, cut in enumerate(sorted(places)):
        left = tmp_path / f"cut-{number}"
        left.mkdir()
        story.leave(cut, left, chance)
        if answered := story.answers(cut):
            check(str(left / "s.db"), answered)
            told += 1
        for file in left.iterdir():
            file.unlink()
    assert told > len(places) // 4, "the power was rarely cut after an answer"
