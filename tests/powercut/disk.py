"""A disk that remembers: every write, every sync and every answer, in order, so that the power can be cut
afterwards at any point of the story.

SQLite runs on a VFS that lets everything through and notes it. What a cut leaves of a file is: all that was
written before the start of its last finished sync; of what came later, any part, sector by sector.
"""

from __future__ import annotations

import os
import random
import threading
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import apsw

SECTOR = 512


@dataclass
class Entry:
    """One thing that happened: a write or truncation of a file, a sync's start or end, an answer."""

    what: str
    file: str = ""
    offset: int = 0
    data: bytes = b""
    start: int = 0  # of a finished sync: where in the story it began
    answer: Any = None


@dataclass
class Story:
    """What happened, in order. Safe from any thread."""

    entries: list[Entry] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def note(self, entry: Entry) -> int:
        """Add an entry; returns its place."""
        with self.lock:
            self.entries.append(entry)
            return len(self.entries) - 1

    def answered(self, answer: Any) -> None:
        """Somebody was told something: from here on it must survive."""
        self.note(Entry("answer", answer=answer))

    def synced(self, file: str, start: int) -> None:
        """A sync that began at `start` has come back."""
        self.note(Entry("sync", file, start=start))

    def syncs(self) -> list[int]:
        """Where finished syncs are."""
        return [place for place, entry in enumerate(self.entries) if entry.what == "sync"]

    def answers(self, cut: int) -> list[Any]:
        """What had been answered before the power went."""
        return [entry.answer for entry in self.entries[:cut] if entry.what == "answer"]

    def leave(self, cut: int, folder: Path, chance: random.Random) -> None:
        """Write into a folder what a cut at this point leaves of each file."""
        safe: dict[str, int] = defaultdict(int)
        for entry in self.entries[:cut]:
            if entry.what == "sync":
                safe[entry.file] = max(safe[entry.file], entry.start)
        files: dict[str, bytearray] = defaultdict(bytearray)
        for place, entry in enumerate(self.entries[:cut]):
            if entry.what == "write":
                self._write(files[entry.file], entry, None if place < safe[entry.file] else chance)
            elif entry.what == "truncate" and (place < safe[entry.file] or chance.random() < 0.5):
                del files[entry.file][entry.offset :]
        for name, content in files.items():
            (folder / Path(name).name).write_bytes(bytes(content))

    def _write(self, content: bytearray, entry: Entry, chance: random.Random | None) -> None:
        """Apply a write: whole, or (with chance) any of its sectors."""
        end = entry.offset + len(entry.data)
        mood = 1.0 if chance is None else chance.choice((0.0, 0.5, 1.0))
        if mood and len(content) < end:
            content.extend(bytes(end - len(content)))
        for start in range(0, len(entry.data), SECTOR):
            if chance is None or chance.random() < mood:
                piece = entry.data[start : start + SECTOR]
                content[entry.offset + start : entry.offset + start + len(piece)] = piece


class NotedFile(apsw.VFSFile):
    """A file whose writes and syncs are noted."""

    def __init__(self, story: Story, name: Any, flags: list[int]) -> None:
        super().__init__("unix", name, flags)
        self.story = story
        self.name = str(name.filename() if isinstance(name, apsw.URIFilename) else name)

    def xWrite(self, data: bytes, offset: int) -> None:  # noqa: N802 - SQLite's name
        """Write, and note it."""
        super().xWrite(data, offset)
        self.story.note(Entry("write", self.name, offset, bytes(data)))

    def xTruncate(self, size: int) -> None:  # noqa: N802
        """Truncate, and note it."""
        super().xTruncate(size)
        self.story.note(Entry("truncate", self.name, size))

    def xSync(self, flags: int) -> None:  # noqa: N802
        """Sync, and note when it began."""
        start = len(self.story.entries)
        super().xSync(flags)
        self.story.synced(self.name, start)


class NotedDisk(apsw.VFS):
    """SQLite's way to the disk while this object lives: the usual one, with notes."""

    def __init__(self, story: Story) -> None:
        self.story = story
        super().__init__(f"noted-{id(story)}", "unix", makedefault=True)

    def xOpen(self, name: Any, flags: list[int]) -> apsw.VFSFile:  # noqa: N802
        """Open a file; the database and its log are noted."""
        kinds = apsw.SQLITE_OPEN_MAIN_DB | apsw.SQLITE_OPEN_WAL
        if name is not None and flags[0] & kinds:
            return NotedFile(self.story, name, flags)
        return apsw.VFSFile("unix", name, flags)

    def fdatasync(self, handle: int) -> None:
        """Our own sync of the log, noted like SQLite's."""
        start = len(self.story.entries)
        os.fdatasync(handle)
        self.story.synced(os.readlink(f"/proc/self/fd/{handle}"), start)
