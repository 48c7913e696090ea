"""Files made whole or not at all: a name of one's own while it is being written, then the name it is for."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tessera.errors import InvalidRequest, Unavailable
from tessera.runtime import Runtime

fsync = os.fsync  # by this name, so that a test can stand in for the disk
SIDECARS = ("-wal", "-shm", "-journal")  # what SQLite keeps beside a database


@contextmanager
def told() -> Iterator[None]:
    """What the machine refuses is told as `unavailable`; it changed nothing under a name that counts."""
    try:
        yield
    except OSError as error:
        name = f"{error.filename}: " if error.filename else ""
        raise Unavailable(f"{name}{error.strerror or error}", definite=True) from error


@contextmanager
def partial(file: str, runtime: Runtime, mode: int) -> Iterator[str]:
    """A new empty file beside the one it is to become; gone at the end unless it was put in place. A process
    that dies leaves it behind: its name ends in `.partial`.
    """
    name = f"{file}.{runtime.new_id('')}.partial"
    os.close(os.open(name, os.O_CREAT | os.O_EXCL | os.O_RDWR, mode))
    try:
        yield name
    finally:
        for end in ("", *SIDECARS):
            with suppress(FileNotFoundError):
                os.unlink(name + end)


class StoreFiles:
    """The files that a store's names lead to: its own, and those that SQLite keeps beside it while it is
    open. SQLite goes on with a file that has lost its name; but what is stored there nobody will find, and a
    process that opens the new one does not meet our locks.
    """

    def __init__(self, path: str) -> None:
        """The store is open, so all are there."""
        self._names = [path, f"{path}-wal", f"{path}-shm"]
        self._held = [identity(name) for name in self._names]

    def are_lost(self) -> bool:
        """Whether one of them was removed or replaced since."""
        return [identity(name) for name in self._names] != self._held


def identity(name: str) -> tuple[int, int] | None:
    """Which file has a name now, by device and inode; None if none has."""
    try:
        status = os.stat(name)
    except (FileNotFoundError, NotADirectoryError):
        return None
    return status.st_dev, status.st_ino


def sync(file: str) -> None:
    """Return once the bytes of a file that nobody has open are on disk."""
    number = os.open(file, os.O_RDONLY)
    try:
        fsync(number)
    finally:
        os.close(number)


def sync_folder_of(file: str) -> None:
    """Return once the names in a file's folder are on disk."""
    sync(str(folder_of(file)))


def folder_of(file: str) -> Path:
    """The folder that a file is in."""
    return Path(file).resolve().parent


def put_in_place(name: str, file: str, *, replace: bool) -> None:
    """Give a synced file the name it is for, durably. Without `replace` it takes the place of nothing, not
    even of what has come since it was looked.
    """
    if replace:
        os.replace(name, file)
    else:
        _link(name, file)
    sync_folder_of(file)


def refuse_taken(file: str) -> None:
    """Refuse a name that something has."""
    if os.path.lexists(file):
        raise InvalidRequest(f"{file} exists: name another, or use --force")


def _link(name: str, file: str) -> None:
    try:
        os.link(name, file)
    except FileExistsError:
        refuse_taken(file)
        raise
    except OSError as error:
        if error.errno not in (errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EMLINK):
            raise
        refuse_taken(file)
        os.rename(name, file)  # a file system without links


def same(one: str, other: str) -> bool:
    """Whether two names lead to one file."""
    try:
        return os.path.samefile(one, other)
    except FileNotFoundError:
        return os.path.realpath(one) == os.path.realpath(other)
