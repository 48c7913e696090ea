"""A store whose files lose their names while a library has it open."""

from __future__ import annotations

from pathlib import Path

import pytest

import tessera
from tessera.errors import Unavailable
from tessera.testing import World


@pytest.mark.parametrize("end", ["", "-wal", "-shm"])
def test_a_store_that_is_taken_away_is_refused(tmp_path: Path, world: World, end: str) -> None:
    """A library whose store's file is removed or replaced, or what is beside it, refuses within a second to
    store or to look at what nobody would find, and goes on once the file has its name again.
    """
    file, aside = tmp_path / f"s.db{end}", tmp_path / "aside"
    with tessera.open(str(tmp_path / "s.db"), runtime=world.runtime()) as store:
        store.define_queue("q")
        store.enqueue(queue="q", kind="k", brief={})
        file.rename(aside)
        file.write_bytes(aside.read_bytes() if end else b"")
        world.pass_seconds(1)
        for act in (lambda: store.enqueue(queue="q", kind="k", brief={}), store.counts):
            with pytest.raises(Unavailable, match="removed or replaced") as refusal:
                act()
            assert refusal.value.definite
        aside.rename(file)
        store.enqueue(queue="q", kind="k", brief={})

        assert store.counts(recount=True).queues["q"].ready == 2


def test_a_store_whose_folder_is_taken_away_is_refused(tmp_path: Path, world: World) -> None:
    """A file in the place of the store's folder is a store taken away; what the machine does not tell of the
    names is told as `unavailable`.
    """
    folder, aside = tmp_path / "folder", tmp_path / "aside"
    folder.mkdir()
    with tessera.open(str(folder / "s.db"), runtime=world.runtime()) as store:
        store.define_queue("q")
        folder.rename(aside)
        folder.write_text("")
        world.pass_seconds(1)
        with pytest.raises(Unavailable, match="removed or replaced"):
            store.enqueue(queue="q", kind="k", brief={})
        folder.unlink()
        folder.symlink_to(folder)
        with pytest.raises(Unavailable, match="symbolic links"):
            store.counts()
        folder.unlink()
        aside.rename(folder)

        assert store.counts(recount=True).agree
