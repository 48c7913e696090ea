"""A database that cannot be used, reached, or had a connection of: what is said, to whom, and how soon."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import psycopg
import pytest
from chaos.nodes import Node
from psycopg.conninfo import conninfo_to_dict
from service.running import Reply, Running
from storage.pooler import Pooler
from storage.sound import until_one_waits

import tessera
from tessera.errors import InvalidRequest, TesseraError, Unavailable
from tessera.limits import CONNECT_SECONDS_MAX, PATIENCE_SECONDS_MAX, SECOND_US
from tessera.runtime import real_runtime
from tessera.storage.postgres.connection import Dsn, refusal_of
from tessera.testing_postgres import on_database

LOOK_SECONDS = 0.05
CLAIM = ("/v1/tasks/claim", {"queue": "q", "worker": "w"})
ENQUEUE = ("/v1/tasks", {"queue": "q", "kind": "k", "brief": {}})


@pytest.mark.parametrize("encoding", ["LATIN1", "SQL_ASCII"])
def test_a_database_of_another_encoding_is_refused(postgres: str, encoding: str) -> None:
    """A database that is not UTF-8 holds no store, and whoever tries is told how to make one that can."""
    name = f"tessera_test_{encoding.lower()}"
    with psycopg.connect(postgres, autocommit=True) as server:
        server.execute(f"create database {name} template template0 encoding '{encoding}'".encode())
        try:
            with pytest.raises(Unavailable, match=f"is {encoding}.*createdb -E UTF8 -T template0"):
                tessera.open(on_database(postgres, name))
            assert not tessera.doctor(on_database(postgres, name)).ok
        finally:
            server.execute(f"drop database {name} with (force)".encode())


@pytest.mark.parametrize(
    ("statement", "is_nul"),
    [
        (r"""select '{"a": "\u0000"}'::jsonb ->> 'a'""", True),
        (r"""select convert_from('\x00', 'UTF8')""", True),
        (r"""select convert_from('\x80', 'UTF8')""", False),
        ("select convert(convert_to('\u20ac', 'UTF8'), 'UTF8', 'LATIN1')", False),
    ],
)
def test_only_the_character_that_is_meant_is_named(postgres: str, statement: str, is_nul: bool) -> None:
    """U+0000 is named when the server has refused it, and not when it was something else."""
    with psycopg.connect(postgres) as connection, pytest.raises(psycopg.DataError) as refused:
        connection.execute(statement.encode())
    said = refusal_of(refused.value)

    assert isinstance(said, InvalidRequest)
    assert ("U+0000" in said.detail) == is_nul


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ("postgresql:///db", "postgresql:///db"),
        ("postgresql://me:sesame@a:1,b/db?sslmode=require", "postgresql://me@a:1,b/db?sslmode=require"),
        ("postgresql://me@a/db?pass%77ord=sesame&sslpassword=sesame", "postgresql://me@a/db"),
        ("postgresql://:ses%40me@a/db", "postgresql://a/db"),
    ],
)
def test_a_url_is_shown_as_given_but_for_its_password(given: str, told: str) -> None:
    """Where a database is is said in the words in which it was named, without what nobody may read."""
    assert Dsn(given).shown == told


def test_who_gets_no_connection_leaves_the_line(dsn: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a pooler that has none left, what stands in line is done by those that have a connection; what
    has none at all is refused in time, and says what it has waited for.
    """
    with Pooler(dsn, by_the_transaction=False) as pooler, tessera.open(pooler.dsn) as store:
        store.define_queue("q")
        monkeypatch.setattr("tessera.storage.postgres.connection.CONNECT_SECONDS_MAX", 0.3)
        monkeypatch.setattr("tessera.storage.postgres.crews.PATIENCE_SECONDS_MAX", 0.5)
        monkeypatch.setattr("tessera.storage.postgres.readers.PATIENCE_SECONDS_MAX", 0.5)
        pooler.is_full = True
        refusals: list[TesseraError] = []
        with ThreadPoolExecutor(8) as threads:
            with psycopg.connect(dsn) as other:
                other.execute("select pg_advisory_xact_lock(1413829459, 2)")  # nobody appends to the log
                ask = {"queue": "q", "kind": "k", "brief": {}}
                tasks = [threads.submit(store.enqueue, **ask)]
                until_one_waits(dsn)  # with the connection that there is, and with no other task
                tasks += [threads.submit(store.enqueue, **ask) for _ in range(7)]
                assert pooler.kept_waiting.wait(10)
                real_runtime().sleep(1)  # longer than anybody without a connection is patient here
            assert len({task.result() for task in tasks}) == 8
        for ask in (lambda: store.claim("q", "w"), store.counts):
            with pytest.raises(Unavailable, match=r"cannot be reached.*silent for 0\.3 s") as refused:
                ask()
            refusals.append(refused.value)

    assert all(one.definite and "silent" not in one.detail for one in refusals)


def test_an_outage_is_told_to_clients_without_its_place(
    dsn: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """While the database is away every request is refused in time, definitely, without a word of where the
    database is; the log says that, once; when it is back, so is the node; and SIGTERM ends it at any time.
    """
    runtime = real_runtime()
    with tessera.open(dsn) as store:
        store.define_queue("q")
        key = store.issue_key(scopes=["admin"], effect_classes=["read", "write-internal"]).key
    with Pooler(dsn, by_the_transaction=False) as pooler:
        node = Node("node", pooler.dsn, tmp_path)
        request.addfinalizer(lambda: node.kill() if node.is_up() else None)
        assert asked(node, key, *ENQUEUE).status == 201
    since = runtime.elapsed_us()
    with ThreadPoolExecutor(24) as threads:
        given: list[tuple[Any, ...]] = [CLAIM, ENQUEUE, ("/v1/counts",)]
        replies = [one.result() for one in [threads.submit(asked, node, key, *ask) for ask in given * 8]]
    took = (runtime.elapsed_us() - since) / SECOND_US
    with Pooler(dsn, by_the_transaction=False, port=pooler.port):
        until = runtime.elapsed_us() + 10 * SECOND_US
        while "listening again" not in node.log.read_text() and runtime.elapsed_us() < until:
            runtime.sleep(LOOK_SECONDS)
        back, log = asked(node, key, *CLAIM), node.log.read_text()
    since = runtime.elapsed_us()
    ended = node.end()

    assert {(reply.status, reply.json["definite"]) for reply in replies} == {(503, True)}
    assert took < PATIENCE_SECONDS_MAX + CONNECT_SECONDS_MAX
    told = b" ".join(reply.body for reply in replies).decode()
    assert not [word for word in ("127.0.0.1", str(pooler.port), "whoever", "refused:") if word in told]
    assert [log.count(said) for said in ("not listening", "listening again")] == [1, 1]
    assert str(pooler.port) in log
    assert back.status == 200
    assert ended == 0
    assert (runtime.elapsed_us() - since) / SECOND_US < PATIENCE_SECONDS_MAX


def test_a_role_without_rights_is_told(dsn: str) -> None:
    """Whoever opens a store as a role that may not read it is refused in words, as by any other verb."""
    tessera.open(dsn).close()
    with psycopg.connect(dsn, autocommit=True) as owner:
        role = f"{owner.info.dbname}_guest"
        owner.execute(f"create role {role} login".encode())
        try:
            with pytest.raises(Unavailable, match="it must own the store's tables") as refusal:
                tessera.open(as_user(dsn, role))
            assert refusal.value.definite
        finally:
            owner.execute(f"drop role {role}".encode())


def as_user(dsn: str, user: str) -> str:
    """The same database as somebody else."""
    given = conninfo_to_dict(dsn) | {"user": user}
    return "postgresql://?" + urlencode({name: str(value) for name, value in given.items()})


def asked(node: Node, key: str, path: str, body: Any = None) -> Reply:
    """What a node answers to a request."""
    port = int(node.url.rpartition(":")[2])
    running = Running(port, node.log, node.log, node.process, key)
    return running.call("GET" if body is None else "POST", path, body)
