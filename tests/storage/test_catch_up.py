"""A store from before the index: opened at once, indexed by the reaper, nothing lost."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import apsw
import pytest
from lite.workshop import furnish, put, won

import tessera
from tessera.limits import NOUNS_PER_CATCH_UP
from tessera.storage import migrate
from tessera.testing import World

MIGRATION = next(text for _, name, text in migrate.migrations() if name == "recall")
NEW = ("nouns", "reflexes", "nouns_words", "reflexes_words", "reflexes_parts")


def upgraded(path: Path) -> None:
    """Take from a store what the migration gave it, and migrate it again: now nothing in it is indexed."""
    with closing(apsw.Connection(str(path))) as file:
        for table in NEW:
            file.execute(f"drop table {table}")
        file.execute(MIGRATION)


@pytest.fixture
def old(tmp_path: Path, world: World) -> Path:
    """The file of a store that was just upgraded, with records, objects, a reflex and a tombstone in it."""
    path = tmp_path / "old.db"
    with tessera.open(str(path), runtime=world.runtime()) as store:
        for n in range(2 * NOUNS_PER_CATCH_UP + 7):
            store.put_record("notes", f"n-{n}", {"title": f"note {n}", "all": "everything"})
            store.put_object("kits", f"k-{n}", f"kit {n}, everything".encode())
        store.put_record("tessera.reflexes", "r", {"trigger": "rotate keys", "step": 1})
        store.define_queue("q", max_attempts=1)
        store.enqueue(queue="q", kind="compile", brief={"what": "parser"})
        lease = store.claim("q", "w")
        assert lease is not None
        store.submit(lease.task_id, 1, None, "i", ok=False, error="no memory")
    upgraded(path)
    return path


def test_an_older_store_is_indexed_by_the_reaper(old: Path, world: World) -> None:
    """Opening it indexes nothing; a reap indexes all of it, in pages; it verifies before and after."""
    with tessera.open(str(old), runtime=world.runtime()) as store:
        assert store.search_nouns("everything") == []
        assert store.verify().ok
        assert store.reap() == 0
        assert store.search_nouns("note 106")[0].ref == "notes/n-106"
        assert store.search_nouns("kit 106")[0].ref == "kits/k-106"
        recalled = store.match_reflex("rotate keys")
        assert recalled.matches[0].exact
        assert store.match_reflex("parser").warnings[0].kind == "compile"
        assert store.verify().ok
    with closing(apsw.Connection(str(old))) as file:
        assert file.execute("select count(*) from nouns").get == 2 * (2 * NOUNS_PER_CATCH_UP + 7) + 2
        assert file.execute("select count(*) from meta where name = 'catch_up'").get == 0


def test_writes_before_it_is_done(old: Path, world: World) -> None:
    """What is written meanwhile is found at once, and stays as it was written."""
    with tessera.open(str(old), runtime=world.runtime()) as store:
        store.put_record("notes", "n-3", {"title": "rewritten"}, 1)
        store.put_record("notes", "fresh", {"title": "rewritten too"})
        assert {noun.ref for noun in store.search_nouns("rewritten")} == {"notes/n-3", "notes/fresh"}
        store.reap()
        assert {noun.ref for noun in store.search_nouns("rewritten")} == {"notes/n-3", "notes/fresh"}
        assert store.noun("notes/n-3").version == 2
        assert store.verify().ok


def test_a_workspaces_work_is_not_indexed(tmp_path: Path, world: World) -> None:
    """What a workspace's dead task was about is as unknown to the index after an upgrade as before."""
    path = tmp_path / "old.db"
    with tessera.open(str(path), runtime=world.runtime()) as store:
        furnish(store)
        store.define_queue("drafts", max_attempts=1)
        put(store, brief="polish the brass lanterns")
        lease = won(store)
        store.submit(lease.task_id, lease.fencing_token, None, "i", ok=False)
    upgraded(path)
    with tessera.open(str(path), runtime=world.runtime()) as store:
        store.reap()
        assert store.match_reflex("polish the brass lanterns").warnings == []
        assert [one.ref for one in store.search_nouns("lite")] == [f"negative.knowledge/{lease.task_id}"]


def test_damage_does_not_hold_it_up(old: Path, world: World) -> None:
    """What cannot be read is indexed by its key alone, and the rest is indexed whole."""
    with closing(apsw.Connection(str(old))) as file:
        file.execute("update records set value = cast(x'fffe00' as text) where key in ('n-5', 'r')")
        file.execute("update briefs set brief = cast(x'ff' as text)")
        file.execute("delete from blobs where sha256 = (select sha256 from objects where key = 'k-5')")
    with tessera.open(str(old), runtime=world.runtime()) as store:
        assert store.reap() == 0
        assert store.search_nouns("n-5", store="notes")[0].ref == "notes/n-5"
        assert store.search_nouns("k-5", bucket="kits")[0].ref == "kits/k-5"
        assert store.search_nouns("note 106")[0].ref == "notes/n-106"
        assert store.match_reflex("compile").warnings[0].kind == "compile"
