"""verify: a sound store is sound, and each kind of damage is found and named."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import apsw
import pytest
from lite.workshop import furnish, put, won

import tessera
from tessera.errors import InvalidRequest, ScopeDenied
from tessera.limits import FINDINGS_PER_CHECK_MAX
from tessera.testing import LoopThread, open_on_loop, temporary_store
from upkeep.conftest import Town
from upkeep.damage import DAMAGE, SERIAL
from upkeep.town import sql

CHECKS = ["pages", "references", "briefs", "receipts", "leases", "waits", "counts", "events", "tasks"]
CHECKS += ["records", "tombstones", "documents", "blobs", "objects", "buckets", "nouns", "feeds", "topics"]


def test_a_sound_store_is_sound(here: Town) -> None:
    """A store in which everything has happened verifies, and every check has looked at something."""
    with here.open() as store:
        furnish(store)
        put(store)
        won(store)
        verified = store.verify()

    assert (verified.ok, verified.findings) == (True, [])
    assert [check.name for check in verified.checks if check.looked_at > 0] == CHECKS


@pytest.mark.parametrize(("damage", "check", "thing", "words"), DAMAGE)
def test_damage_is_found(here: Town, damage: str, check: str, thing: str, words: str) -> None:
    """What was changed behind the store's back is found by its check and named."""
    sql(here.path, damage)
    with here.open() as store:
        verified = store.verify()

    assert not verified.ok
    said = [f"{one.thing} {one.says}" for one in verified.findings if one.check == check]
    assert any(one.startswith(thing) or thing in one for one in said), verified.findings
    assert any(words in one for one in said), said
    assert next(one.wrong for one in verified.checks if one.name == check) >= len(said)


def test_damaged_pages_are_found(here: Town) -> None:
    """An index that has lost its rows is found in the pages, and the other checks go on."""
    sql(
        here.path,
        "pragma writable_schema = on; update sqlite_schema set sql = replace(sql, 'claim_key is not null', "
        "'claim_key is null') where name = 'leases_claimed_under'",
    )
    with here.open() as store:
        verified = store.verify()

    assert [one.thing for one in verified.findings if one.check == "pages"] == ["file"]
    assert {one.check for one in verified.findings} == {"pages"}
    assert next(one.looked_at for one in verified.checks if one.name == "tasks") > 5


def test_a_destroyed_table_does_not_hide_the_rest(here: Town) -> None:
    """Pages so damaged that a statement stops are findings, not an error without a report."""
    connection = apsw.Connection(here.path)
    connection.execute("pragma wal_checkpoint(truncate)").fetchall()
    root = connection.execute("select rootpage from sqlite_schema where name = 'briefs'").get
    connection.close()
    with Path(here.path).open("r+b") as file:
        file.seek((root - 1) * 4096)
        file.write(b"\x5a" * 4096)
    with here.open() as store:
        verified = store.verify()

    assert not verified.ok
    assert {one.check for one in verified.findings} == {"pages"}
    assert any("could not be made" in one.says for one in verified.findings)


def test_a_flood_of_findings_is_cut(here: Town) -> None:
    """Of thousands of wrong things the first are told, and all are counted."""
    with here.open() as store:
        store.enqueue_batch([{"queue": "q", "kind": "k", "brief": {}} for _ in range(100)])
        sql(here.path, "update briefs set sha256 = 'x'")
        verified = store.verify()

    briefs = next(one for one in verified.checks if one.name == "briefs")
    assert briefs.wrong == briefs.looked_at >= 100
    assert len(verified.findings) == FINDINGS_PER_CHECK_MAX


def test_many_rows_take_many_pages(here: Town) -> None:
    """Rows beyond the first page are looked at too, and whoever listens hears how far it is."""
    heard = []
    with here.open() as store:
        store.enqueue_batch([{"queue": "q", "kind": "k", "brief": {}, "task_id": f"n{n}"} for n in range(99)])
        sql(here.path, "update briefs set sha256 = 'x' where serial = " + SERIAL.format("n98"))
        verified = store.verify(tell=lambda *news: heard.append(news))

    assert [one.thing for one in verified.findings] == ["task n98"]
    assert [done for what, done, _ in heard if what == "briefs"] == [0, 32, 64, 96, 109, 109]
    assert heard[0] == ("pages", 0, 1)


def test_verify_beside_writers(here: Town) -> None:
    """A store verifies at any moment while another process claims and submits."""
    code = (
        "import sys, tessera\n"
        f"with tessera.open({here.path!r}) as store:\n"
        "    print('go', flush=True)\n"
        "    for n in range(150):\n"
        "        store.enqueue(queue='q', kind='fast', brief={})\n"
        "        lease = store.claim('q', 'w', kinds=['fast'])\n"
        "        store.submit(lease.task_id, lease.fencing_token, n, f'n-{n}')\n"
    )
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "go\n"
    looks = 0
    with tessera.open(here.path) as store:
        while process.poll() is None or looks == 0:
            assert store.verify().findings == []
            looks += 1
    process.stdout.close()

    assert process.returncode == 0
    assert looks > 1


def test_verify_on_the_loop(here: Town) -> None:
    """The engine of event loops verifies like the other."""
    with open_on_loop(here.path, runtime=here.world.runtime()) as store:
        assert store.verify().ok


def test_only_the_owner_may(here: Town) -> None:
    """A key, even an admin's, neither verifies nor backs up."""
    with here.open() as store:
        holder = store.as_key(here.given["key"].key)
        for act in (holder.verify, lambda: holder.backup(str(here.folder / "b.db"))):
            with pytest.raises(ScopeDenied, match="owner"):
                act()


def test_a_door_without_a_file_says_so(here: Town) -> None:
    """A store that was opened without its file, or is elsewhere, is looked after where its file is."""
    engine = LoopThread(here.path, here.world.runtime())
    with (
        tessera.library.Tessera(tessera.app.DirectDoor(engine, here.world.runtime())) as store,
        pytest.raises(InvalidRequest),
    ):
        store.verify()


def test_an_empty_store_is_sound() -> None:
    """A store in which nothing has happened yet verifies."""
    with temporary_store() as store:
        assert store.verify().ok


def test_an_index_of_words_that_has_been_merged_since_is_sound() -> None:
    """A connection that has looked at the indexes of words finds them sound however often others have changed
    them since.
    """
    with temporary_store() as store:
        version = 0
        for _ in range(12):
            for _ in range(8):
                reflex = {"trigger": f"what to do {version}", "steps": [f"step {version}"]}
                version = store.put_record("tessera.reflexes", "k", reflex, version or None).version
            assert store.verify().findings == []
