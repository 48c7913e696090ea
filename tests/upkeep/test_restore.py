"""restore: the backup's state in a new epoch, in which nothing counts that was handed out since."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import apsw
import pytest

import tessera
from tessera.errors import InvalidRequest, NotFound, StaleLease, Unauthorized, Unavailable, VersionConflict
from tessera.storage.migrate import migrations
from upkeep.conftest import Town
from upkeep.town import contents, sql


def test_a_backup_comes_back(here: Town) -> None:
    """A restored store has the backup's tasks, results and keys, verifies, and its log says what was done."""
    file = here.backup()
    with here.open() as store:
        before = store.tasks(limit=1_000).tasks
        store.enqueue(queue="q", kind="k", brief={}, task_id="later")
    restored = here.restore(file, force=True)
    with here.open() as store:
        after = store.tasks(limit=1_000).tasks
        told = store.events(after=restored.epoch.epoch - 1)
        assert store.verify().findings == []
        store.as_key(here.given["key"].key).queues()

    assert [(t.task_id, t.brief, t.attempts, t.failures, t.parks) for t in after] == [
        (t.task_id, t.brief, t.attempts, t.failures, t.parks) for t in before
    ]
    assert [(t.task_id, t.state) for t in after] == [
        (t.task_id, "ready" if t.state == "leased" else t.state) for t in before
    ]
    assert (restored.replaced, restored.epoch.leases_ended) == (True, 1)
    assert [(one.type, one.task_id) for one in told] == [
        ("store_restored", None), ("released", "held"), ("jobs_cancel_requested", "held"),
    ]  # fmt: skip
    assert told[0].data == {"epoch": told[0].seq, "last_seq": told[0].data["last_seq"], "leases_ended": 1}
    assert told[1].data == {"restored": True}


def test_no_token_is_handed_out_again(here: Town) -> None:
    """Tokens from before the backup and from after it are refused in the restored store, on the tasks of the
    backup and on those that were made since and are made again, and every new token is higher.
    """
    file = here.backup()
    with here.open() as store:
        since = [store.claim("q", "w"), store.claim("q", "w")]
        store.enqueue(queue="q", kind="k", brief={}, task_id="nightly", priority=9)
        since.append(store.claim("q", "w"))
        assert since[-1].task_id == "nightly"
        store.release("held", here.given["held"].fencing_token)
        since += [store.claim("q", "w") for _ in range(2)]
    here.restore(file, force=True)
    with here.open() as store:
        store.enqueue(queue="q", kind="k", brief={}, task_id="nightly", priority=9)
        new = {}
        while lease := store.claim("q", "w"):
            new[lease.task_id] = lease.fencing_token
        for old in [here.given["held"], *(one for one in since if one)]:
            assert new[old.task_id] > old.fencing_token
            for act in (
                lambda old=old: store.heartbeat(old.task_id, old.fencing_token),
                lambda old=old: store.submit(old.task_id, old.fencing_token, 1, f"late-{old.task_id}"),
                lambda old=old: store.split(old.task_id, old.fencing_token, [{"brief": {}}]),
                lambda old=old: store.park(old.task_id, old.fencing_token, "r"),
                lambda old=old: store.release(old.task_id, old.fencing_token),
                lambda old=old: store.register_job(old.task_id, old.fencing_token, "j2", "m"),
            ):
                with pytest.raises(StaleLease):
                    act()
        assert store.verify().findings == []


def test_the_same_backup_restored_twice(here: Town) -> None:
    """A second restore of one backup begins above all that was handed out after the first, even when the
    store is gone and the clock has hardly moved.
    """
    file, tokens = here.backup(), []
    for _ in range(3):
        here.world.now_us += 1_000
        here.restore(file, force=Path(here.path).exists())
        with here.open() as store:
            for _ in range(20):
                lease = store.claim("q", "w", kinds=["k"])
                tokens.append((lease.task_id, lease.fencing_token))
                store.release(lease.task_id, lease.fencing_token)
        for end in ("", "-wal", "-shm"):
            Path(here.path + end).unlink(missing_ok=True)

    assert len(tokens) == len(set(tokens))


def test_a_clock_that_went_back(here: Town) -> None:
    """Over a store that can be read, a restore goes on above its numbers and its time, whatever the clock
    says.
    """
    file = here.backup()
    here.world.pass_seconds(1_000)
    here.restore(file, force=True)
    with here.open() as store:
        first, at = store.claim("q", "w"), store.events(limit=10_000)[-1].at
    here.world.pass_seconds(-5_000)
    second = here.restore(file, force=True)
    with here.open() as store:
        new = store.claim("q", "w")
        assert store.verify().findings == []

    assert new.task_id == first.task_id
    assert new.fencing_token > first.fencing_token
    assert new.claimed_at >= second.epoch.restored_at >= at


def test_numbers_of_the_log_and_of_results_never_come_again(here: Town) -> None:
    """Whoever read the log or a result by its number before the restore never meets the number again with
    something else behind it, and a follower of the log is told of the restore.
    """
    file = here.backup()
    seen: dict[int, str] = {}
    with here.open() as store:
        lease = store.claim("q", "w")
        store.submit(lease.task_id, lease.fencing_token, 1, "since")
        (lost,) = (one.result_id for one in store.results(lease.task_id) if one.idempotency_key == "since")
        seen = {event.seq: event.type for event in store.events(limit=10_000)}
    here.restore(file, force=True)
    with here.open() as store:
        after = store.events(after=max(seen), limit=10_000)
        lease = store.claim("q", "w")
        store.submit(lease.task_id, lease.fencing_token, 2, "anew")
        (new,) = (one.result_id for one in store.results(lease.task_id) if one.idempotency_key == "anew")
        assert store.verify().findings == []
        again = {event.seq: event.type for event in store.events(limit=10_000)}

    assert after[0].type == "store_restored"
    assert new != lost
    assert int(new.removeprefix("r_"), 16) > after[0].seq
    assert {seq: again[seq] for seq in seen.keys() & again.keys()}.items() <= seen.items()


def test_rights_taken_back_stay_taken_back(here: Town) -> None:
    """A key revoked in the store that is replaced is revoked in the restored one, and an approval that may
    have been used since serves nobody.
    """
    file = here.backup()
    with here.open() as store:
        store.revoke_key(here.given["key"].grant.key_id)
        approval = here.given["approval"].approval
        store.issue_key(effect_classes=["public"], approval=approval)
    restored = here.restore(file, force=True)
    with here.open() as store:
        with pytest.raises(Unauthorized):
            store.as_key(here.given["key"].key).queues()
        with pytest.raises(tessera.TesseraError, match="approval"):
            store.issue_key(effect_classes=["public"], approval=approval)

    assert (restored.epoch.keys_revoked, restored.epoch.approvals_ended) == (1, 1)


def test_a_new_place(here: Town) -> None:
    """A backup becomes a store where none was, beside the one that goes on, and stale logs of a store that
    is gone do not get into it.
    """
    file, place = here.backup(), here.folder / "new.db"
    with here.open() as store:
        store.define_queue("only-here")
        shutil.copy(here.path + "-wal", f"{place}-wal")
        shutil.copy(here.path + "-shm", f"{place}-shm")
        restored = here.restore(file, str(place))
        assert store.heartbeat("held", here.given["held"].fencing_token)

    assert (restored.replaced, restored.moved_aside) == (False, None)
    with here.open(str(place)) as store:
        assert store.verify().findings == []
        assert [queue.name for queue in store.queues()] == ["other", "q"]


def test_an_existing_store_is_kept(here: Town) -> None:
    """A store that exists is replaced only with `force`."""
    file, before = here.backup(), contents(here.path)
    with pytest.raises(InvalidRequest, match="exists"):
        here.restore(file)
    assert contents(here.path) == before


def test_a_store_in_use_is_kept(here: Town) -> None:
    """A store that this process or another one has open is not replaced, not even with `force`; once they let
    go it is.
    """
    file = here.backup()
    with here.open() as store:
        with pytest.raises(Unavailable, match="in use"):
            here.restore(file, force=True)
        assert store.heartbeat("held", here.given["held"].fencing_token)
    code = f"import tessera; s = tessera.open({here.path!r}); s.counts(); print('open', flush=True); input()"
    other = subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert other.stdout.readline() == "open\n"
    with pytest.raises(Unavailable, match=rf"in use.*{other.pid}") as refusal:
        here.restore(file, force=True)
    other.communicate("\n")

    assert refusal.value.definite
    assert here.restore(file, force=True).replaced


def test_a_store_cannot_be_opened_while_it_is_replaced(here: Town) -> None:
    """Whoever opens the store while its restore runs waits or is refused; nobody meets half of it."""
    file, met = here.backup(), []

    def tell(what: str, done: int, of: int) -> None:
        connection = apsw.Connection(here.path)
        try:
            connection.execute("select count(*) from tasks").fetchall()
            met.append("read")
        except apsw.BusyError:
            met.append("busy")
        connection.close()

    here.restore(file, force=True, tell=tell)
    assert set(met) == {"busy"}


def refused(here: Town, kind: type[tessera.TesseraError], words: str, file: str) -> None:
    """A restore that must be refused and must leave the store as it was, and nothing beside it."""
    before, beside = contents(here.path), sorted(one.name for one in here.folder.iterdir())
    with pytest.raises(kind, match=words):
        here.restore(file, force=True)
    assert contents(here.path) == before
    assert sorted(one.name for one in here.folder.iterdir()) == beside


def test_what_is_no_backup_is_refused(here: Town) -> None:
    """Nothing, a folder, text, another program's database, an empty file, the store itself, and a backup by a
    newer version are refused before the store is touched.
    """
    folder = here.folder
    (folder / "text").write_text("a shopping list " * 1_000)
    (folder / "empty").write_bytes(b"")
    apsw.Connection(str(folder / "foreign")).execute("create table theirs (a)")
    newer = here.backup("newer")
    sql(newer, f"insert into migrations values ({len(migrations()) + 1}, 'later', 0)")
    refused(here, NotFound, "no backup", str(folder / "missing"))
    refused(here, InvalidRequest, "folder", str(folder))
    refused(here, Unavailable, "not a SQLite file", str(folder / "text"))
    refused(here, Unavailable, "no Tessera store", str(folder / "foreign"))
    refused(here, Unavailable, "no Tessera store", str(folder / "empty"))
    refused(here, InvalidRequest, "itself", here.path)
    refused(here, Unavailable, "newer Tessera", newer)


def test_a_bad_backup_is_refused(here: Town) -> None:
    """A backup cut short, or with something wrong in it, is refused before the store is touched."""
    short, wrong = here.backup("short"), here.backup("wrong")
    Path(short).write_bytes(Path(short).read_bytes()[: 20 * 4096])
    sql(wrong, "update results set output = '2' where idempotency_key = 'done-key'")
    refused(here, Unavailable, "damaged|not sound", short)
    refused(here, Unavailable, "not sound.*receipt", wrong)

    assert here.restore(wrong, force=True, unsound=True).replaced


def test_a_damaged_store_is_put_aside(here: Town) -> None:
    """Over a store that cannot be read, a restore puts it aside with its log, and says where."""
    file = here.backup()
    Path(here.path).write_bytes(b"\x5a" * 50_000)
    Path(here.path + "-wal").write_bytes(b"\x5a" * 500)
    restored = here.restore(file, force=True)

    assert restored.moved_aside == f"{here.path}.damaged-1"
    assert Path(restored.moved_aside).read_bytes() == b"\x5a" * 50_000
    assert Path(f"{restored.moved_aside}-wal").read_bytes() == b"\x5a" * 500
    with here.open() as store:
        assert store.verify().ok


def test_another_programs_database_is_kept(here: Town) -> None:
    """A database that is no store is never replaced."""
    file, foreign = here.backup(), str(here.folder / "foreign.db")
    connection = apsw.Connection(foreign)
    connection.execute("create table theirs (a)")
    connection.close()
    with pytest.raises(Unavailable, match="no Tessera store"):
        here.restore(file, foreign, force=True)


def test_old_conflicts_stay_conflicts(here: Town) -> None:
    """A retried submit whose result was lost with the store is refused, not stored twice."""
    file = here.backup()
    with here.open() as store:
        lease = store.claim("q", "w")
        store.submit(lease.task_id, lease.fencing_token, 1, "retried")
    here.restore(file, force=True)
    with here.open() as store, pytest.raises((StaleLease, VersionConflict)):
        store.submit(lease.task_id, lease.fencing_token, 1, "retried")
