"""doctor, for a store on PostgreSQL: what is wrong with it, in plain words, and what to do about it."""

from __future__ import annotations

from collections.abc import Iterator

from tessera import figures
from tessera.diagnosis import late, nouns
from tessera.limits import OLD_TRANSACTION_SECONDS
from tessera.models import Advice, Diagnosis
from tessera.runtime import Runtime
from tessera.storage.postgres.connection import LENT
from tessera.storage.postgres.migrate import MOVE_ON, PART
from tessera.storage.postgres.probe import Facts, probe
from tessera.storage.postgres.rows import Server


def doctor(url: str, runtime: Runtime) -> Diagnosis:
    """Look a store over from the outside in: its database, the server's settings, who is on it, its schema,
    what is late in it. Changes nothing.
    """
    return found(probe(url, runtime, figures.of_time, nouns))


def found(facts: Facts) -> Diagnosis:
    """What the facts come to."""
    advice = list(_database(facts))
    if facts.server is not None:
        advice += [*_safety(facts.server), *_crowd(facts.server), *_schema(facts)]
    if facts.times is not None:
        advice += [*late(facts.times), *facts.nouns]
    ok = all(one.level != "act" for one in advice)
    return Diagnosis(ok=ok, store=facts.shown, advice=advice, files=None, times=facts.times)


def _database(facts: Facts) -> Iterator[Advice]:
    if facts.refusal is not None:
        do = "start the server, look at the URL, or name another store with --store"
        if facts.refusal == LENT:
            do = "let the pooler lend by the session, or name the database itself with --store"
        yield Advice("database", "act", facts.refusal, do)
    else:
        assert facts.server is not None
        yield Advice("database", "fine", f"PostgreSQL {facts.server.version} answers")


def _safety(server: Server) -> Iterator[Advice]:
    if server.syncs:
        yield Advice("safety", "fine", "the server syncs what it commits")
    else:
        says = "the server has fsync off: what is answered may not survive a power cut"
        yield Advice("safety", "act", says, "set fsync = on in postgresql.conf and restart the server")


def _crowd(server: Server) -> Iterator[Advice]:
    says = f"{server.connections} of {server.connections_max} connections are in use"
    if server.connections > server.connections_max * 0.8:
        yield Advice("connections", "act", says, "raise max_connections, or run fewer nodes")
    else:
        yield Advice("connections", "fine", says)
    if server.oldest_seconds > OLD_TRANSACTION_SECONDS:
        says = f"a transaction has been open for {server.oldest_seconds} s: dead rows pile up behind it"
        yield Advice("transactions", "act", says, "find it in pg_stat_activity by xact_start, and end it")
    else:
        yield Advice("transactions", "fine", "no transaction has been open for long")


def _schema(facts: Facts) -> Iterator[Advice]:
    if facts.refusal is not None:
        return
    if facts.schema is None:
        do = "name another with --store, or make one: tessera queues define NAME"
        yield Advice("store", "act", "the database holds no store yet", do)
    elif facts.is_part:
        yield Advice("store", "act", PART, MOVE_ON)
    elif facts.schema < facts.schema_known:
        says = f"the store is of schema {facts.schema}, this version knows {facts.schema_known}"
        yield Advice(
            "store", "note", says, "it is brought up to date when it is next opened; back it up first"
        )
    elif facts.schema > facts.schema_known:
        says = f"the store was written by a newer Tessera (schema {facts.schema})"
        yield Advice("store", "act", says, "upgrade Tessera here")
    else:
        yield Advice("store", "fine", "it is a store of this version")
