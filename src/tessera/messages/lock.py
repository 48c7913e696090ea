"""The kernel's advisory lock on a file: one writer or many readers, gone with the process that held it."""

from __future__ import annotations

import fcntl
import os
import re
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from tessera.errors import Unavailable
from tessera.limits import LEDGER_LOCK_SECONDS_MAX, SECOND_US
from tessera.messages.disk import Folder
from tessera.messages.errors import LedgerDamaged
from tessera.runtime import Runtime

NAME: Final = ".lock"
_PAUSE_SECONDS: Final = (0.001, 0.02)  # between two tries; drawn, so that nobody is always too late,
_PATIENCE: Final = 0.05  # and at the end of the wait this part of it, so that who waits long comes first
_OPEN: Final = os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK


@contextmanager
def exclusive(folder: Folder, runtime: Runtime, seconds: float = LEDGER_LOCK_SECONDS_MAX) -> Iterator[None]:
    """Hold the lock of a folder alone. The lock's file is made if it is missing, and never removed.

    Raises `Unavailable` naming the holder after `seconds`, OSError, and `LedgerDamaged` if something else
    stands in the file's place.
    """
    fd = _held(folder, fcntl.LOCK_EX, os.O_RDWR | os.O_CREAT, runtime, seconds)
    try:
        yield
    finally:
        os.close(fd)


@contextmanager
def shared(folder: Folder, runtime: Runtime, seconds: float = LEDGER_LOCK_SECONDS_MAX) -> Iterator[bool]:
    """Hold the lock together with other readers. Yields False, holding nothing, if nobody ever made it:
    reading makes no file. Raises as `exclusive` does.
    """
    try:
        fd = _held(folder, fcntl.LOCK_SH, os.O_RDONLY, runtime, seconds)
    except FileNotFoundError:
        yield False
        return
    try:
        yield True
    finally:
        os.close(fd)


def _held(folder: Folder, mode: int, flags: int, runtime: Runtime, seconds: float) -> int:
    """A descriptor that holds the lock of the file which stands under its name now."""
    deadline_us = runtime.elapsed_us() + int(seconds * SECOND_US)
    while True:
        fd = os.open(NAME, flags | _OPEN, 0o666, dir_fd=folder.fd)
        try:
            about = os.fstat(fd)
            if not stat.S_ISREG(about.st_mode):
                raise LedgerDamaged(f"{folder.where(NAME)} is no regular file")
            _wait(fd, folder, mode, runtime, deadline_us)
            if _stands(folder, about.st_ino):
                return fd
        except BaseException:
            os.close(fd)
            raise
        os.close(fd)  # somebody put another file in its place: that one counts


def _wait(fd: int, folder: Folder, mode: int, runtime: Runtime, deadline_us: int) -> None:
    while True:
        try:
            fcntl.flock(fd, mode | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            left_us = deadline_us - runtime.elapsed_us()
            if left_us <= 0:
                detail = f"{_holder(fd)} holds the lock {folder.where(NAME)}; try again"
                raise Unavailable(detail, definite=True) from None
        share = min(1, left_us / (LEDGER_LOCK_SECONDS_MAX * SECOND_US))
        runtime.sleep(runtime.uniform(*_PAUSE_SECONDS) * max(_PATIENCE, share))


def _stands(folder: Folder, inode: int) -> bool:
    try:
        return os.stat(NAME, dir_fd=folder.fd, follow_symlinks=False).st_ino == inode
    except FileNotFoundError:
        return False


def _holder(fd: int) -> str:
    """Who holds it, as far as this system tells."""
    inode = os.fstat(fd).st_ino
    try:
        table = Path("/proc/locks").read_text(encoding="ascii")
    except OSError:
        return "another process"
    held = re.findall(rf"^\d+: FLOCK +ADVISORY +\w+ +([1-9]\d*) [0-9a-f]+:[0-9a-f]+:{inode} ", table, re.M)
    return f"process {held[0]}" if held else "another process"
