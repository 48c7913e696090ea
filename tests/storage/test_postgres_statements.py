"""Every statement as PostgreSQL takes it: understood, of the right columns, and planned through indexes."""

from __future__ import annotations

import re
import types
import typing
from collections.abc import Iterator
from typing import Any

import msgspec
import psycopg
import pytest

from tessera.storage import catalogue
from tessera.storage.catalogue import POSTGRES, Statement
from tessera.storage.postgres.migrate import PLANS, migrate
from tessera.testing import World
from tessera.testing_postgres import database

STATEMENTS = catalogue.load(dialect=POSTGRES)
GROWING = ("tasks", "leases", "results", "jobs", "task_deps", "events", "briefs", "records", "record_heads",
           "feed_items", "objects", "object_heads", "blobs", "chunks", "topic_messages", "nouns", "reflexes",
           "nouns_words", "reflexes_words", "reflexes_parts", "claims", "claim_requests",
           "usage_events")  # fmt: skip
# Indexes of what is under way, which is little however much has been: walking one walks no table.
OPEN = ("claims_reserved", "claims_pending")
# Those that look a whole store over, or bring one back, walk everything.
UPKEEP = {
    name
    for file in ("verify", "verify_blobs", "restore", "doctor")
    for name in re.findall(r"-- name: (\w+)", (catalogue.SQL / f"{file}.sql").read_text())
}
# What asks for words needs an index that only a bitmap can read.
LOOKS = {name for name in STATEMENTS if name.startswith("find_")} | {"reflex_words_known"}
OF_TYPE = {
    int: {"int2", "int4", "int8"},
    str: {"text"},
    bytes: {"bytea"},
    float: {"float8"},
}


@pytest.fixture(scope="module")
def session(postgres: str) -> Iterator[psycopg.Connection[Any]]:
    """A connection set for verbs, on a new store that has no statistics."""
    with database(postgres) as dsn, psycopg.connect(dsn, autocommit=True) as connection:
        migrate(connection, World().runtime())
        for name, value in PLANS.items():
            connection.execute(f"set {name} = {value}".encode())
        yield connection


def _described(session: psycopg.Connection[Any], statement: Statement) -> list[tuple[str, str]]:
    """What the server says that a statement answers with: each column's name and type."""
    made = session.pgconn.prepare(b"", statement.text.encode())
    assert made.status == psycopg.pq.ExecStatus.COMMAND_OK, made.error_message.decode()
    made = session.pgconn.describe_prepared(b"")
    types_ = session.adapters.types
    return [
        (made.fname(place).decode(), kind.name if (kind := types_.get(made.ftype(place))) else "?")
        for place in range(made.nfields)
    ]


@pytest.mark.parametrize("name", sorted(STATEMENTS))
def test_every_statement_is_prepared(session: psycopg.Connection[Any], name: str) -> None:
    """The server understands the statement without being told a parameter's type, and answers with the
    columns of its row, each of a type that becomes the field's.
    """
    statement = STATEMENTS[name]
    found = _described(session, statement)
    if statement.as_rows and found:
        assert [column for column, _ in found] == ["all_of_them"]  # whether each row was changed
        return

    columns = ("all_of_them",) if statement.as_rows and statement.name != "append_event" else ()
    assert tuple(column for column, _ in found) == (
        statement.row.__struct_fields__ if statement.row else columns
    )
    fields = (
        {field.name: field.type for field in msgspec.structs.fields(statement.row)} if statement.row else {}
    )
    wrong = [
        (column, kind)
        for column, kind in found
        if statement.row
        and f"null as {column}" not in statement.text
        and kind not in OF_TYPE[_bare(fields[column])]
    ]
    assert wrong == []


def _bare(hint: Any) -> type:
    """A field's type without its None."""
    if isinstance(hint, types.UnionType):
        (hint,) = (one for one in typing.get_args(hint) if one is not type(None))
    is_called_bytes = isinstance(hint, types.MemberDescriptorType)  # a field of that name hides the type
    return bytes if is_called_bytes else hint


@pytest.mark.parametrize("name", sorted(name for name, one in STATEMENTS.items() if one.locks))
def test_every_lock_is_prepared(session: psycopg.Connection[Any], name: str) -> None:
    """The server understands what is run before a statement, and each lock names the order of its rows."""
    lock = STATEMENTS[name].locks
    assert lock is not None
    made = session.pgconn.prepare(b"", lock.text.encode())

    assert made.status == psycopg.pq.ExecStatus.COMMAND_OK, made.error_message.decode()
    assert "for no key update" in lock.text or "pg_advisory_xact_lock" in lock.text


def test_only_a_recount_walks_a_table_that_grows(session: psycopg.Connection[Any]) -> None:
    """No statement of a verb but the recount reads a table of tasks, results or documents from end to end,
    nor does what it locks first; also on a new store, of which the server knows nothing yet.
    """
    walkers = {
        name: walked
        for name in sorted(STATEMENTS.keys() - UPKEEP)
        for one in (STATEMENTS[name], STATEMENTS[name].locks)
        if one and (walked := sorted(_walked(_plan(session, one))))
    }

    assert walkers == {"recount": ["tasks by no index"]}


def _plan(session: psycopg.Connection[Any], statement: Statement) -> dict[str, Any]:
    """How the server would run a statement, whatever its parameters."""
    asked = statement.text
    if statement.params:
        session.execute(f"prepare planned as {statement.text}".encode())
        asked = f"execute planned ({', '.join(['null'] * len(statement.params))})"
    with session.transaction():
        if statement.name in LOOKS:  # which a connection runs that is set for looks
            session.execute(b"set local enable_bitmapscan = on")
        row = session.execute(f"explain (format json) {asked}".encode()).fetchone()
    if statement.params:
        session.execute(b"deallocate planned")
    assert row is not None
    return row[0][0]["Plan"]


def _walked(plan: dict[str, Any], stops: bool = False) -> Iterator[str]:
    """The tables that grow, of which a plan reads every row: or every row of an index. A limit right
    above stops at the first.
    """
    reads = plan.get("Relation Name") in GROWING and plan["Node Type"].endswith("Scan")
    walks = reads and not {"Index Cond", "Recheck Cond"} & plan.keys() and not stops
    if walks and plan.get("Index Name") not in OPEN:
        yield f"{plan['Relation Name']} by {plan.get('Index Name', 'no index')}"
    for below in plan.get("Plans", ()):
        yield from _walked(below, plan["Node Type"] == "Limit")
