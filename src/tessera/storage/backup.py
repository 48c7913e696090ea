"""Copies of a SQLite store's file: out of one that is in use, and into one that nobody uses."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

import apsw

from tessera.errors import Unavailable
from tessera.limits import BACKUP_PAGES_PER_STEP
from tessera.rows import Numbers
from tessera.storage import catalogue, files, locks
from tessera.storage.connection import connect_to_look, refusal_of
from tessera.storage.migrate import APPLICATION_ID

Tell = Callable[[str, int, int], None]
_FOREIGN = "this file is no Tessera store: name another file"
_USED = "the store is in use: end every process that has it open, then restore{}"


@contextmanager
def refusals() -> Iterator[None]:
    """What SQLite or the machine refuses here is told as `unavailable`: nothing under a name that counts was
    changed by half.
    """
    try:
        with files.told():
            yield
    except apsw.Error as error:
        refusal = refusal_of(error)
        if not isinstance(refusal, Unavailable):
            refusal = Unavailable(f"the copy could not be read or written: {error}", definite=True)
        raise refusal from error


def copy(source: str, target: str, tell: Tell) -> None:
    """Copy a store into an existing empty file, as of one instant, while others read and write. What is left
    is one file without sidecars, which needs a sync.
    """
    ours, copied = connect_to_look(source), apsw.Connection(target)
    try:
        copied.execute("pragma synchronous = off")
        with ours:  # one state of the store for all steps
            if not _is_store(ours):
                raise Unavailable(_FOREIGN, definite=True)
            with copied.backup("main", ours, "main") as backup:
                while not backup.done:
                    backup.step(BACKUP_PAGES_PER_STEP)
                    tell("copy", backup.page_count - backup.remaining, backup.page_count)
    finally:
        ours.close(True)
        copied.close(True)
    settled = apsw.Connection(target)
    try:
        settled.execute("pragma synchronous = off")  # whoever gives it a name syncs it whole
        settled.execute("pragma journal_mode = delete").fetchall()  # else whoever looks at it would write
    finally:
        settled.close(True)


@dataclass(frozen=True, slots=True)
class Outlived:
    """What a store that is about to be replaced has handed out, as far as it can be read."""

    highest: int = 0
    last_instant: int = 0
    revoked: str = "[]"


class Target:
    """Where a store is to stand, and nothing does."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.outlived = Outlived()
        self.moved_aside: str | None = None

    def put(self, made: str, reach: Callable[[str], None]) -> None:
        """Give a synced file the store's name."""
        files.refuse_taken(self.path)
        for end in files.SIDECARS:  # of a store that is gone: SQLite would take them for the new one's
            with suppress(FileNotFoundError):
                os.unlink(self.path + end)
        reach("restore.placing")
        files.put_in_place(made, self.path, replace=False)


class Held(Target):
    """A store under a lock that no other process or connection can share, until this is over."""

    def __init__(self, path: str, connection: apsw.Connection) -> None:
        super().__init__(path)
        self._connection = connection
        with suppress(apsw.SQLError, apsw.CorruptError):  # of an older version, or damaged
            self.outlived = _outlived(connection)

    def put(self, made: str, reach: Callable[[str], None]) -> None:
        """Replace what the store holds in one transaction: whatever happens, it is the old or the new."""
        fresh = connect_to_look(made)
        try:
            self._connection.execute("pragma synchronous = full")
            with self._connection.backup("main", fresh, "main") as backup:
                reach("restore.placing")
                backup.step(-1)
        finally:
            fresh.close(True)
        reach("restore.placed")
        self._connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 0)


class Damaged(Target):
    """A file that SQLite cannot read. It is put aside, with what SQLite kept beside it."""

    def put(self, made: str, reach: Callable[[str], None]) -> None:
        """Keep the damaged file under another name, then give its name to the new one."""
        number = 1
        while os.path.lexists(aside := f"{self.path}.damaged-{number}"):
            number += 1
        os.link(self.path, aside)
        for end in files.SIDECARS:
            with suppress(FileNotFoundError):
                os.rename(self.path + end, aside + end)
        files.sync_folder_of(self.path)
        reach("restore.placing")
        files.put_in_place(made, self.path, replace=True)
        self.moved_aside = aside


@contextmanager
def target(path: str) -> Iterator[Target]:
    """Where a store is that is to be made or replaced, for as long as that takes. Refuses one that is in
    use, and another program's database.
    """
    if not os.path.lexists(path):
        yield Target(path)
        return
    connection = apsw.Connection(path, flags=apsw.SQLITE_OPEN_READWRITE)
    connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)  # what is damaged stays as it is
    try:
        readable = _lock(connection, path)
        if readable:
            yield Held(path, connection)
    finally:
        connection.close(True)
    if not readable:
        yield Damaged(path)


def _lock(connection: apsw.Connection, path: str) -> bool:
    """Lock the file against everybody else; False if SQLite cannot read it."""
    try:
        connection.execute("pragma locking_mode = exclusive")
        connection.execute("begin exclusive")
        ours = _is_store(connection) or not connection.execute("pragma schema_version").get
        connection.execute("commit")
    except apsw.BusyError as error:
        raise Unavailable(_USED.format(locks.told_of(path)), definite=True) from error
    except (apsw.NotADBError, apsw.CorruptError) as error:
        if locks.held_by_others(path):
            raise Unavailable(_USED.format(locks.told_of(path)), definite=True) from error
        return False
    if not ours:
        raise Unavailable(_FOREIGN, definite=True)
    return True


def _is_store(connection: apsw.Connection) -> bool:
    """Whether the file holds a store; an empty one does not."""
    found = connection.execute("pragma application_id").get
    return bool(connection.execute("pragma schema_version").get) and found == APPLICATION_ID


def _outlived(connection: apsw.Connection) -> Outlived:
    statements = catalogue.load()
    row: Any = connection.execute(statements["numbers"].text).fetchall()[0]
    numbers = Numbers(*row)
    revoked = connection.execute(statements["revoked_keys"].text).get
    return Outlived(numbers.highest, numbers.last_instant, str(revoked))
