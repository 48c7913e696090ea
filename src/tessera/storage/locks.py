"""Which processes have a store open, and which one writes: read from the kernel's table of locks.

The table is Linux's; elsewhere nothing is known. The store's own files are not opened for it: a process that
closes any descriptor of a file loses all its locks on that file.
"""

from __future__ import annotations

import os
import re
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

TABLE = Path("/proc/locks")
_LINE = re.compile(
    r"^\d+: (?:POSIX|OFDLCK) +\S+ +(READ|WRITE) (-?\d+) [0-9a-f]+:[0-9a-f]+:(\d+) (\d+) (\d+|EOF)$"
)
_WRITER_BYTE = 120  # of the wal-index, locked by whoever writes (SQLite's file format, "WAL locks")
_READER_BYTES = range(123, 128)  # locked by whoever reads an old state


@dataclass(frozen=True, slots=True)
class Holders:
    """Processes by id; empty where nothing is known."""

    known: bool = False
    present: frozenset[int] = frozenset()
    reading: frozenset[int] = frozenset()
    writing: frozenset[int] = frozenset()


def holders(path: str) -> Holders:
    """Who has the store at this path open, this process included."""
    try:
        lines = TABLE.read_text(encoding="ascii").splitlines()
    except OSError:
        return Holders()
    inodes = {name: _inode(name) for name in (path, f"{path}-shm")}
    present, reading, writing = set(), set(), set()
    for line in lines:
        found = _LINE.match(line.strip())
        if not found:
            continue
        kind, pid, inode, first = found[1], int(found[2]), int(found[3]), int(found[4])
        if inode == inodes[path]:
            present.add(pid)
        elif inode == inodes[f"{path}-shm"]:
            last = first if found[5] == "EOF" else int(found[5])
            held = range(first, last + 1)
            present.add(pid)
            if _WRITER_BYTE in held and kind == "WRITE":
                writing.add(pid)
            if any(byte in held for byte in _READER_BYTES):
                reading.add(pid)
    return Holders(True, frozenset(present), frozenset(reading), frozenset(writing))


def held_by_others(path: str) -> bool:
    """Whether another process has the file locked, as far as that can be known."""
    return bool(holders(path).present - {os.getpid()})


def told_of(path: str) -> str:
    """The other processes that have the store open, for the end of a sentence; empty if none is known."""
    pids = sorted(holders(path).present - {os.getpid()})
    return f" (open in process {', '.join(map(str, pids))})" if pids else ""


def _inode(name: str) -> int | None:
    with suppress(OSError):
        return os.stat(name).st_ino
    return None
