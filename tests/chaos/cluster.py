"""A PostgreSQL server of a test's own, to be killed, started again, followed by a standby and promoted.

The server of the session is shared by every test; this one may die. It syncs like any other: what it has
answered must survive.
"""

from __future__ import annotations

import shutil
import signal
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import Any

import psutil
import psycopg

from tessera.testing_postgres import SETTINGS as USUAL
from tessera.testing_postgres import Server, on_database

DATABASE = "tessera"
ENDS_SECONDS = 30
SETTINGS = {**USUAL, "max_wal_senders": "4", "wal_keep_size": "256MB", "log_min_messages": "warning"}


class Cluster(Server):
    """One cluster on a socket of its own, which stays where it is from life to life."""

    def kill(self) -> None:
        """End it and all its backends at one blow, as the kernel does when memory is short."""
        assert self.process is not None
        postmaster = psutil.Process(self.process.pid)
        family = [postmaster, *postmaster.children()]
        for one in family:
            with suppress(psutil.NoSuchProcess):
                one.kill()
        self.end(signal.SIGKILL)
        psutil.wait_procs(family[1:], ENDS_SECONDS)

    def follow(self, primary: Cluster) -> None:
        """Begin anew as a copy of a running server, and stream from it as `standby`."""
        shutil.rmtree(self.data, ignore_errors=True)
        if self.user is not None:
            shutil.chown(self.folder, self.user)
        source = f"host={primary.folder} user=postgres application_name=standby"
        self.run("pg_basebackup", "-R", "-c", "fast", "--no-sync", "-d", source, "-D", str(self.data))
        self.settings = SETTINGS
        self.start()

    def promote(self) -> None:
        """Make a standby the primary."""
        assert self.ask("select pg_promote(true, 60)") == [(True,)]

    def ask(self, statement: str) -> list[tuple[Any, ...]]:
        """Run a statement on a connection of its own; its rows, if it has any."""
        with psycopg.connect(self.dsn, autocommit=True) as connection:
            cursor = connection.execute(statement)
            return cursor.fetchall() if cursor.description else []


@contextmanager
def cluster() -> Iterator[tuple[Cluster, str]]:
    """A running server, and the DSN of an empty database on it."""
    with Cluster(settings=SETTINGS) as server:
        server.ask(f"create database {DATABASE}")
        yield server, on_database(server.dsn, DATABASE)


@contextmanager
def pair() -> Iterator[tuple[Cluster, Cluster, str]]:
    """A primary, a synchronous standby, and the DSN of an empty database on whichever is the primary."""
    with ExitStack() as stack:
        primary, standby = Cluster(settings=SETTINGS), Cluster(settings=SETTINGS)
        stack.callback(standby.throw_away)
        stack.enter_context(primary)
        primary.ask(f"create database {DATABASE}")
        stand_by(standby, primary)
        hosts = f"{primary.folder},{standby.folder}"
        yield (
            primary,
            standby,
            f"postgresql://?host={hosts}&user=postgres&dbname={DATABASE}&target_session_attrs=read-write",
        )


def stand_by(standby: Cluster, primary: Cluster) -> None:
    """Let a server follow another, which from then on answers only what both have on disk."""
    standby.follow(primary)
    primary.ask("alter system set synchronous_standby_names = 'standby'")
    primary.ask("select pg_reload_conf()")
    while primary.ask("select sync_state from pg_stat_replication") != [("sync",)]:
        assert primary.process is not None
        assert primary.process.poll() is None
