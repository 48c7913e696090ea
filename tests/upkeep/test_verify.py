"""verify: a sound store is sound, and each kind of damage is found and named."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import apsw
import pytest

import tessera
from tessera.errors import InvalidRequest, ScopeDenied
from tessera.limits import FINDINGS_PER_CHECK_MAX
from tessera.testing import LoopThread, open_on_loop, temporary_store
from upkeep.conftest import Town
from upkeep.town import sql

SERIAL = "(select serial from tasks where task_id = '{}')"
OFF = "pragma foreign_keys = off; "

CHECKS = ["pages", "references", "briefs", "receipts", "leases", "waits", "counts", "events", "tasks"]
CHECKS += ["records", "tombstones", "documents", "blobs", "objects", "buckets"]

# what is done to a file, the check that must find it, what must be named, words of what is said
DAMAGE = [
    (
        "update briefs set brief = '{}' where serial = " + SERIAL.format("done"),
        "briefs",
        "task done",
        "brief",
    ),
    ("delete from briefs where serial = " + SERIAL.format("held"), "briefs", "task held", "no brief"),
    ("update briefs set brief = cast(x'ff00' as text)", "briefs", "task done", "brief"),
    (
        "update results set output = '{\"sum\":2}' where idempotency_key = 'done-key'",
        "receipts",
        "task done",
        "receipt",
    ),
    (
        "update results set error = 'fine' where idempotency_key = 'dead-0'",
        "receipts",
        "task dead",
        "receipt",
    ),
    ("update results set ok = 0 where idempotency_key = 'done-key'", "receipts", "task done", "receipt"),
    (
        "update results set fencing_token = 9 where idempotency_key = 'done-key'",
        "receipts",
        "task done",
        "rec",
    ),
    (
        "update results set sha256 = 'x' where idempotency_key = 'child-key'",
        "receipts",
        "result r_",
        "receipt x",
    ),
    (OFF + "update results set serial = 999 where idempotency_key = 'dead-1'", "receipts", "result r_", "no"),
    (
        OFF + "update results set serial = 999 where idempotency_key = 'dead-1'",
        "references",
        "results row",
        "tasks",
    ),
    (
        "update results set fencing_token = 1 where idempotency_key = 'dead-1'",
        "receipts",
        "task dead",
        "2 results under token 1",
    ),
    ("delete from results where idempotency_key = 'done-key'", "tasks", "task done", "0 results"),
    ("delete from leases", "leases", "task held", "no lease"),
    ("update leases set fencing_token = 7", "leases", "task held", "its lease has 7"),
    ("update leases set queue = 2", "leases", "task held", "another queue"),
    (
        "insert into leases select serial, 1, 1, 'w', null, null, 0, 0, 0 from tasks where serial = 1",
        "leases",
        "task done",
        "not leased",
    ),
    ("update counts set ready = ready + 1 where queue = 1", "counts", "queue q", "ready"),
    ("delete from counts where queue = 2", "counts", "queue other", "no counts"),
    ("update tasks set state = 4 where task_id = 'done'", "counts", "queue q", "dead"),
    ("update tasks set state = 5 where task_id = 'done'", "tasks", "task done", "leaves it done"),
    ("update tasks set pending_children = 2 where task_id = 'parent'", "waits", "task parent", "counted 1"),
    (
        "update tasks set pending_deps = 0 where task_id = 'dependent'",
        "waits",
        "task dependent",
        "none is open",
    ),
    ("update tasks set wait_reason = null where task_id = 'parked'", "waits", "task parked", "reason"),
    ("delete from task_inputs", "waits", "task parked", "inputs"),
    ("delete from task_deps", "waits", "task dependent", "counted 0 and 0"),
    ("delete from events where seq = 5", "events", "event 6", "missing"),
    ("update events set at = at + 9000000000 where seq = 5", "events", "event 6", "earlier"),
    ("update events set type = 99 where seq = 5", "events", "event 5", "type"),
    ("update events set task_id = 'nobody' where seq = 4", "events", "event 4", "does not exist"),
    (
        "update events set type = 2 where task_id = 'cancelled'",
        "events",
        "event",
        "claimed of task cancelled",
    ),
    (
        "update events set fencing_token = 1 where task_id = 'dead' and type = 2",
        "events",
        "event",
        "after token 1",
    ),
    ("update tasks set attempts = 5 where task_id = 'held'", "tasks", "task held", "5 attempts"),
    (
        "update tasks set fencing_token = 0 where task_id = 'parked'",
        "tasks",
        "task parked",
        "2 was handed out",
    ),
    ("update tasks set parks = 1 where task_id = 'parked'", "tasks", "task parked", "1 parks"),
    ("update record_heads set version = 2", "records", "record negative.knowledge/dead", "head at version 2"),
    ("delete from record_heads", "records", "record negative.knowledge/dead", "no head"),
    ("delete from records", "records", "record negative.knowledge/dead", "no versions"),
    (
        "update records set version = 2; update record_heads set version = 2",
        "records",
        "record",
        "from 2 to 2",
    ),
    ("delete from records; delete from record_heads", "tombstones", "task dead", "no tombstone"),
    (
        "update records set key = 'done'; update record_heads set key = 'done'",
        "tombstones",
        "tombstone done",
        "no task that is dead",
    ),
    ("update records set value = '{'", "documents", "record negative.knowledge/dead version 1", "not JSON"),
    ("update events set data = '{' where seq = 1", "documents", "event 1", "not JSON"),
    ("update task_inputs set input = '{'", "documents", "input 1 of task parked", "not JSON"),
    ("update keys set grant_json = ''", "documents", "key", "not JSON"),
    ("update jobs set usage = ''", "documents", "job job", "not JSON"),
    ("update chunks set bytes = cast('a blot' as blob) where chunk = 1", "blobs", "blob", "hash"),
    ("delete from chunks where chunk = 1", "blobs", "blob", "hash"),
    ("update blobs set size = size + 1", "blobs", "blob", "bytes"),
    ("insert into chunks values ('u', 0, x'00')", "blobs", "upload u", "no blob and no put"),
    ("insert into uploads select upload, 1, 1, 0 from blobs where size = 3", "blobs", "blob", "swept"),
    ("update object_heads set version = 1 where key = 'note'", "objects", "object nouns/note", "version 1"),
    ("delete from object_heads where key = 'log'", "objects", "object traces/log", "no head"),
    ("delete from objects where key = 'log'", "objects", "object traces/log", "no versions"),
    ("delete from objects where version = 1 and key = 'note'", "objects", "object nouns/note", "from 2 to 2"),
    ("update objects set size = 9 where version = 1", "objects", "nouns/note version 1", "its blob has 3"),
    ("delete from blobs where size = 3", "objects", "nouns/note version 1", "not there"),
    ("update buckets set bytes = 1 where name = 'kits'", "buckets", "bucket kits", "0 objects of 0 bytes"),
    ("update buckets set objects = 2 where name = 'nouns'", "buckets", "bucket nouns", "1 objects of 7"),
    ("update tasks set parent = 999 where task_id = 'child-0'", "references", "tasks row", "tasks"),
]


def test_a_sound_store_is_sound(here: Town) -> None:
    """A store in which everything has happened verifies, and every check has looked at something."""
    with here.open() as store:
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
    with tessera.library.Tessera(tessera.app.DirectDoor(engine)) as store, pytest.raises(InvalidRequest):
        store.verify()


def test_an_empty_store_is_sound() -> None:
    """A store in which nothing has happened yet verifies."""
    with temporary_store() as store:
        assert store.verify().ok
