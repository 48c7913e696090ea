"""Files: new, old, newer, foreign; two processes on one; the clock that survives them."""

from __future__ import annotations

import subprocess
import sys
from contextlib import closing
from pathlib import Path

import apsw
import pytest

import tessera
from tessera.errors import Unavailable
from tessera.storage import migrate
from tessera.testing import World

SCHEMA_OF = "select type, name, tbl_name, sql from sqlite_schema where name not like 'sqlite_%' order by name"


def shape(connection: apsw.Connection) -> list[object]:
    """A schema by what it means: tables with their columns, indexes with theirs."""
    tables = [row[0] for row in connection.execute("select name from sqlite_schema where type = 'table'")]
    columns = {table: list(connection.execute(f"pragma table_xinfo({table})")) for table in sorted(tables)}
    flags = sorted(connection.execute("select name, ncol, wr, strict from pragma_table_list"))
    indexes = sorted(
        connection.execute("select sql from sqlite_schema where type = 'index' and sql not null")
    )
    return [columns, flags, indexes]


def test_a_migrated_store_ends_like_a_new_one() -> None:
    """All migrations in order give the schema that a new store starts with."""
    new, migrated = apsw.Connection(":memory:"), apsw.Connection(":memory:")
    new.execute(migrate.SCHEMA.read_text())
    for _, _, text in migrate.migrations():
        migrated.execute(text)

    assert shape(new) == shape(migrated)


def test_migrations_only_add() -> None:
    """No migration takes anything away or rewrites what is there."""
    for version, _, text in migrate.migrations():
        verbs = {line.split()[0].lower() for line in text.splitlines() if line and line[0].isalpha()}
        assert verbs <= {"create", "alter", "insert"}, version
        assert "drop" not in text.lower().split(), version


def test_an_older_store_is_migrated_when_opened(tmp_path: Path, world: World) -> None:
    """Opening a store of an earlier version applies what it lacks, each step with its own record, and keeps
    what is in it.
    """
    path = str(tmp_path / "s.db")
    with tessera.open(path, runtime=world.runtime()) as store:
        store.define_queue("kept")
    folder = tmp_path / "migrations"
    folder.mkdir()
    known = migrate.migrations()
    for version, name, text in known:
        (folder / f"{version:04d}_{name}.sql").write_text(text)
    (folder / f"{len(known) + 1:04d}_more.sql").write_text("create table more (a integer) strict;")
    (folder / f"{len(known) + 2:04d}_column.sql").write_text("alter table more add column b text;")
    connection = apsw.Connection(path)
    migrate.migrate(connection, world.runtime(), folder)
    migrate.migrate(connection, world.runtime(), folder)

    assert [row[1] for row in connection.execute("pragma table_info(more)")] == ["a", "b"]
    assert [row[0] for row in connection.execute("select version from migrations order by 1")] == list(
        range(1, len(known) + 3)
    )
    assert connection.execute("select name from queues").get == "kept"


def test_a_migration_that_fails_leaves_no_trace(tmp_path: Path, world: World) -> None:
    """A step that breaks is undone whole, with its record; the steps before it stay."""
    path = str(tmp_path / "s.db")
    tessera.open(path, runtime=world.runtime()).close()
    folder = tmp_path / "migrations"
    folder.mkdir()
    known = migrate.migrations()
    for version, name, text in known:
        (folder / f"{version:04d}_{name}.sql").write_text(text)
    (folder / f"{len(known) + 1:04d}_good.sql").write_text("create table good (a integer) strict;")
    (folder / f"{len(known) + 2:04d}_bad.sql").write_text("create table bad (a integer); create tab;")
    connection = apsw.Connection(path)
    with pytest.raises(apsw.SQLError):
        migrate.migrate(connection, world.runtime(), folder)

    assert connection.execute("select max(version) from migrations").get == len(known) + 1
    assert connection.execute("select count(*) from sqlite_schema where name = 'bad'").get == 0


def test_migrations_are_numbered_without_gaps(tmp_path: Path) -> None:
    """A missing number or an odd name refuses to load."""
    (tmp_path / "0002_x.sql").write_text("")
    with pytest.raises(ValueError, match="numbered"):
        migrate.migrations(tmp_path)
    (tmp_path / "x.sql").write_text("")
    with pytest.raises(ValueError, match="not named like a migration"):
        migrate.migrations(tmp_path)


def test_a_newer_store_is_refused(tmp_path: Path, world: World) -> None:
    """A file that a newer version has written is refused in words, and left as it is."""
    path = str(tmp_path / "s.db")
    tessera.open(path, runtime=world.runtime()).close()
    apsw.Connection(path).execute("insert into migrations values (99, 'later', 0)")
    before = Path(path).read_bytes()

    with pytest.raises(Unavailable, match=r"written by a newer Tessera .schema 99.*upgrade"):
        tessera.open(path, runtime=world.runtime())
    assert Path(path).read_bytes() == before


def test_a_store_upgraded_under_a_process_says_so(tmp_path: Path) -> None:
    """When a newer version has brought a store up that this one has open, and its rows have grown, verbs and
    looks that meet them are refused in words, and change nothing.
    """
    path = str(tmp_path / "s.db")
    with tessera.open(path) as store:
        store.define_queue("q")
        task_id = store.enqueue(queue="q", kind="k", brief={})
        with closing(apsw.Connection(path)) as newer:
            newer.execute("alter table tasks add column more integer not null default 0")
            newer.execute("insert into migrations select max(version) + 1, 'more', 1 from migrations")
        for call in (lambda: store.claim("q", "w"), lambda: store.task(task_id), store.tasks):
            with pytest.raises(Unavailable, match="a newer Tessera has upgraded the store") as refusal:
                call()
            assert refusal.value.definite
        assert store.counts(recount=True).queues["q"].ready == 1


def test_foreign_files_are_refused(tmp_path: Path) -> None:
    """Another program's database, a file that is no database, and a folder are each refused in words."""
    foreign = tmp_path / "foreign.db"
    apsw.Connection(str(foreign)).execute("create table theirs (a)")
    (tmp_path / "text.db").write_text("this is not a database, it is a shopping list " * 50)
    for name, words in (
        ("foreign.db", "no Tessera store"),
        ("text.db", "not a SQLite file"),
        (".", "cannot be opened"),
        ("missing/s.db", "there is no folder"),
    ):
        with pytest.raises(Unavailable, match=words):
            tessera.open(str(tmp_path / name))
    assert apsw.Connection(str(foreign)).execute("select count(*) from sqlite_schema").get == 1


def test_unknown_urls_are_refused(tmp_path: Path) -> None:
    """A store URL of a kind that this version does not open is refused; a path and sqlite:/// are opened."""
    with pytest.raises(tessera.TesseraError, match="redis:// names no store"):
        tessera.open("redis://somewhere")
    tessera.open(f"sqlite:///{tmp_path}/s.db").close()

    assert (tmp_path / "s.db").exists()


@pytest.mark.parametrize("path", [":memory:", "sqlite:///:memory:", "a\0b"])
def test_what_is_no_file_is_refused(path: str) -> None:
    """A store that no file could hold is refused, rather than kept in memory or made under a strange name."""
    with pytest.raises(tessera.TesseraError, match="a store is a file on disk") as refusal:
        tessera.open(path)
    assert refusal.value.code == "invalid_request"


def test_a_link_to_a_store(tmp_path: Path) -> None:
    """A link is the store it leads to, for whoever opens it and whoever copies it, while both are in use."""
    (tmp_path / "disk").mkdir()
    link, file = tmp_path / "link.db", tmp_path / "disk" / "s.db"
    link.symlink_to(file)
    with tessera.open(str(link)) as ours, tessera.open(str(file)) as theirs:
        ours.define_queue("q")
        theirs.enqueue(queue="q", kind="k", brief={})
        assert ours.counts(recount=True).queues["q"].ready == 1
        ours.backup(str(tmp_path / "copy.db"))
    tessera.restore(str(link), str(tmp_path / "copy.db"), force=True)
    with tessera.open(str(file)) as store:
        assert store.counts().queues["q"].ready == 1
    assert link.is_symlink()


def test_a_store_stays_where_it_was_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A store opened by a relative path is the same one after its process has gone to another folder."""
    monkeypatch.chdir(tmp_path)
    with tessera.open("s.db") as store:
        monkeypatch.chdir("/")
        store.define_queue("q")
        assert "q" in store.counts().queues
        store.backup(str(tmp_path / "copy.db"))


def test_what_another_process_writes_is_seen(tmp_path: Path, world: World) -> None:
    """A second opener's changes count at the next verb: nothing remembered outlives them."""
    path = str(tmp_path / "s.db")
    with (
        tessera.open(path, runtime=world.runtime()) as ours,
        tessera.open(path, runtime=world.runtime()) as theirs,
    ):
        ours.define_queue("q", lease_seconds=10)
        for _ in range(3):
            ours.enqueue(queue="q", kind="k", brief={})
        first = ours.claim("q", "w")
        theirs.define_queue("q", lease_seconds=20)
        second = ours.claim("q", "w")
        key = ours.issue_key(scopes=["admin"])
        holder = ours.as_key(key.key)
        holder.define_queue("q", lease_seconds=30)
        theirs.revoke_key(key.grant.key_id)

        assert first.hard_expires_at < second.hard_expires_at
        with pytest.raises(tessera.TesseraError) as refusal:
            holder.define_queue("q")
        assert refusal.value.code == "unauthorized"


def test_a_held_write_lock_is_told(tmp_path: Path, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """While another process holds the write lock, a verb waits a bounded time, then answers `unavailable`;
    looks go on.
    """
    monkeypatch.setattr("tessera.storage.connection.BUSY_SECONDS_MAX", 0.05)
    path = str(tmp_path / "s.db")
    with tessera.open(path, runtime=world.runtime()) as store:
        store.define_queue("q")
        holder = apsw.Connection(path)
        holder.execute("begin immediate")
        with pytest.raises(Unavailable) as refusal:
            store.enqueue(queue="q", kind="k", brief={})
        assert refusal.value.definite
        assert store.counts().queues["q"].ready == 0
        holder.execute("rollback")
        store.enqueue(queue="q", kind="k", brief={})

        assert store.counts().queues["q"].ready == 1


def test_time_never_runs_backwards(tmp_path: Path, world: World) -> None:
    """A clock that steps back, even between two openings, revives no lapsed lease."""
    path = str(tmp_path / "s.db")
    with tessera.open(path, runtime=world.runtime()) as store:
        store.define_queue("q", heartbeat_seconds=1, miss_limit=1)
        task = store.enqueue(queue="q", kind="k", brief={})
        lease = store.claim("q", "w")
        world.pass_seconds(3_600)
        store.define_queue("other")
        world.pass_seconds(-3_000)
        with pytest.raises(tessera.TesseraError, match="not live"):
            store.heartbeat(task, lease.fencing_token)
    world.pass_seconds(-500)
    with tessera.open(path, runtime=world.runtime()) as store:
        instants = [event.at for event in store.events()]
        store.define_queue("another")

        assert instants == sorted(instants)
        assert store.events()[-1].at >= instants[-1]


def test_two_processes_open_a_new_file_at_once(tmp_path: Path) -> None:
    """Eight processes that meet at a file that does not exist yet make one whole store of it."""
    path = str(tmp_path / "s.db")
    code = f"import tessera, sys; s = tessera.open({path!r}); s.define_queue(sys.argv[1]); s.close()"
    processes = [subprocess.Popen([sys.executable, "-c", code, f"q{n}"]) for n in range(8)]

    assert [process.wait(60) for process in processes] == [0] * 8
    with tessera.open(path) as store:
        assert [queue.name for queue in store.queues()] == [f"q{n}" for n in range(8)]
