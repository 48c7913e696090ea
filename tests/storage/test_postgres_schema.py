"""How a PostgreSQL database becomes a store: from nothing, from an older one, by many at once, or not at
all.
"""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import apsw
import psycopg
import pytest

import tessera
from tessera.errors import Unavailable
from tessera.storage import migrate as sqlite
from tessera.storage.postgres import migrate as schema
from tessera.testing import World
from tessera.testing_postgres import database

SHAPES = (
    "select c.relname, c.relkind, a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull, "
    "a.attidentity, a.attstorage, pg_get_expr(d.adbin, d.adrelid), o.collname, c.reloptions from pg_class c "
    "join pg_attribute a on a.attrelid = c.oid "
    "left join pg_attrdef d on d.adrelid = c.oid and d.adnum = a.attnum "
    "left join pg_collation o on o.oid = a.attcollation "
    "where c.relnamespace = current_schema()::regnamespace and a.attnum > 0 order by 1, 3",
    "select indexname, indexdef from pg_indexes where schemaname = current_schema() order by 1",
    "select viewname, definition from pg_views where schemaname = current_schema() order by 1",
    "select proname, prosrc from pg_proc where pronamespace = current_schema()::regnamespace order by 1",
    "select version, name from migrations order by 1",
    "select name, description from buckets order by 1",
)


def shape(dsn: str) -> list[Any]:
    """All that makes up a store's schema, as the server tells it."""
    with psycopg.connect(dsn) as connection:
        return [connection.execute(question.encode()).fetchall() for question in SHAPES]


def migrated(dsn: str, folder: Path = schema.MIGRATIONS) -> None:
    """Make the database a store."""
    with psycopg.connect(dsn, autocommit=True) as connection:
        schema.migrate(connection, World().runtime(), folder)


def test_migrations_and_schema_agree(postgres: str, dsn: str, tmp_path: Path) -> None:
    """The first store there was, brought up step by step, has the schema of a new one."""
    first, *_ = sorted(schema.MIGRATIONS.glob("*.sql"))
    (tmp_path / first.name).write_bytes(first.read_bytes())
    whole = schema.SCHEMA
    with database(postgres) as old, pytest.MonkeyPatch.context() as patch:
        patch.setattr(schema, "SCHEMA", first)
        migrated(old, tmp_path)
        patch.setattr(schema, "SCHEMA", whole)
        migrated(old)
        migrated(dsn)

        assert shape(old) == shape(dsn)


def test_both_engines_have_the_same_versions_and_columns(dsn: str) -> None:
    """Every migration of SQLite has one of the same number and name here, and every table has the same
    columns in the same order: what a dialect adds stands apart.
    """
    migrated(dsn)
    with psycopg.connect(dsn) as connection:
        applied = connection.execute("select version, name from migrations order by version").fetchall()
        columns = connection.execute(
            "select table_name::text, array_agg(column_name::text order by ordinal_position) "
            "from information_schema.columns where table_schema = current_schema() group by 1"
        ).fetchall()
    file = apsw.Connection(":memory:")
    file.execute(sqlite.SCHEMA.read_text())
    theirs = {
        name: [row[1] for row in file.execute(f"pragma table_info({name})")]
        for _, name, kind, *_ in list(file.execute("pragma table_list"))
        if kind == "table" and not name.startswith("sqlite_")
    }

    assert applied == [(version, name) for version, name, _ in sqlite.migrations()]
    ours = dict(columns)
    assert ours.pop("count_slots") == ["queue", "slot", *theirs["counts"][1:]]
    assert ours.pop("meta") == [*theirs.pop("meta"), "words"]
    how_nodes_agree = {"generation", "marks"}
    searched_by = {"nouns_words", "reflexes_words", "reflexes_parts"}
    assert ours.keys() - theirs.keys() == how_nodes_agree | searched_by
    assert {table: ours[table] for table in theirs} == theirs


def test_nodes_that_start_at_once_make_one_store(dsn: str) -> None:
    """Eight nodes start on an empty database in one instant: one makes the store, the others find it."""
    failures: list[BaseException] = []
    start = threading.Barrier(8)

    def node() -> None:
        try:
            start.wait()
            migrated(dsn)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=node) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert failures == []
    with psycopg.connect(dsn) as connection:
        assert connection.execute("select count(*) from meta where name = 'store_id'").fetchone() == (1,)
        assert connection.execute("select count(*) from buckets").fetchone() == (6,)


def test_a_newer_store_is_refused(dsn: str) -> None:
    """A store that a newer version has written is left alone."""
    migrated(dsn)
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute("insert into migrations values (999, 'later', 0)")

        with pytest.raises(Unavailable, match="newer Tessera"):
            schema.migrate(connection, World().runtime())


def test_a_store_upgraded_under_a_node_says_so(dsn: str) -> None:
    """When a newer version has brought a store up that this node has open, and its rows have grown, verbs and
    looks that meet them are refused in words, whether they had asked before or not, and change nothing.
    """
    with tessera.open(dsn) as store:
        store.define_queue("q")
        task_id = store.enqueue(queue="q", kind="k", brief={})
        store.task(task_id)
        with psycopg.connect(dsn, autocommit=True) as newer:
            newer.execute("alter table tasks add column more bigint not null default 0")
            newer.execute("insert into migrations select max(version) + 1, 'more', 1 from migrations")
        for call in (lambda: store.task(task_id), lambda: store.claim("q", "w"), store.tasks):
            with pytest.raises(Unavailable, match="a newer Tessera has upgraded the store") as refusal:
                call()
            assert refusal.value.definite
        assert store.counts(recount=True).queues["q"].ready == 1


def test_another_programs_database_is_refused(dsn: str) -> None:
    """A database with tables of another program in it becomes no store, and keeps what it has."""
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute("create table theirs (a integer)")

        with pytest.raises(Unavailable, match="make a database for the store alone"):
            schema.migrate(connection, World().runtime())
        assert connection.execute("select count(*) from theirs").fetchone() == (0,)


def test_a_migration_that_dies_leaves_the_old_store(dsn: str, tmp_path: Path) -> None:
    """A migration that fails half way changes nothing; the next start applies it whole."""
    migrated(dsn)
    before = shape(dsn)
    for path in schema.MIGRATIONS.glob("*.sql"):
        (tmp_path / path.name).write_bytes(path.read_bytes())
    number = len(list(tmp_path.glob("*.sql"))) + 4
    later = tmp_path / f"{number:04}_later.sql"
    later.write_text("create table later (a integer);\nselect 1 / 0;\n")
    with pytest.raises(psycopg.errors.DivisionByZero):
        migrated(dsn, tmp_path)
    assert shape(dsn) == before

    later.write_text("create table later (a integer);\n")
    migrated(dsn, tmp_path)

    assert (number, "later") in shape(dsn)[4]
