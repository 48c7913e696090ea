"""Stand-ins for the `os` module as the room's disk sees it: one that fails on cue, one that remembers every
step, so that the power can be cut afterwards between any two.
"""

from __future__ import annotations

import os
import random
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

CHANGES = ("open", "write", "fsync", "link", "rename", "unlink", "mkdir")


class Death(BaseException):
    """The end of a process, told without one."""


class Failing:
    """`os`, but the nth call that would change the disk fails, and with it, if told so, all later ones."""

    def __init__(self, nth: int, errno: int, *, lasting: bool, spared: tuple[str, ...] = ()) -> None:
        self._left = nth
        self._errno = errno
        self._lasting = lasting
        self._spared = spared
        self.failed: list[str] = []

    def __getattr__(self, name: str) -> Any:
        real = getattr(os, name)
        if name not in CHANGES:
            return real

        def call(*args: Any, **options: Any) -> Any:
            changes = name != "open" or args[1] & os.O_CREAT
            if changes and name not in self._spared:
                self._left -= 1
                if self._left == 0 or (self._left < 0 and self._lasting):
                    self.failed.append(name)
                    raise OSError(self._errno, os.strerror(self._errno))
            if name == "fsync":  # the real disk is not what fails here
                return None
            return real(*args, **options)

        return call


class Noted:
    """`os`, with a note of every change: what, at which path, with which bytes. A sync is a note. It may
    end the process that it serves instead of the nth change.
    """

    def __init__(self, dies_at: int = 0) -> None:
        self.notes: list[tuple[Any, ...]] = []
        self.left = dies_at
        self._paths: dict[int, str] = {}

    def _live(self) -> None:
        self.left -= 1
        if self.left == 0:
            raise Death

    def __getattr__(self, name: str) -> Any:
        return getattr(os, name)

    def _at(self, name: str, dir_fd: int | None) -> str:
        return name if dir_fd is None else f"{self._paths[dir_fd]}/{name}"

    def open(self, name: str, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        if flags & os.O_CREAT:
            self._live()
        fd = os.open(name, flags, mode, dir_fd=dir_fd)
        self._paths[fd] = self._at(name, dir_fd)
        if flags & os.O_CREAT:
            self.notes.append(("create", self._paths[fd]))
        return fd

    def write(self, fd: int, content: bytes) -> int:
        self._live()
        size = os.write(fd, content)
        self.notes.append(("write", self._paths[fd], bytes(content[:size])))
        return size

    def fsync(self, fd: int) -> None:
        self._live()
        self.notes.append(("fsync", self._paths[fd]))

    def link(self, src: str, dst: str, *, src_dir_fd: int, dst_dir_fd: int, follow_symlinks: bool) -> None:
        self._live()
        os.link(src, dst, src_dir_fd=src_dir_fd, dst_dir_fd=dst_dir_fd, follow_symlinks=follow_symlinks)
        self.notes.append(("link", self._at(src, src_dir_fd), self._at(dst, dst_dir_fd)))

    def rename(self, src: str, dst: str, *, src_dir_fd: int, dst_dir_fd: int) -> None:
        self._live()
        os.rename(src, dst, src_dir_fd=src_dir_fd, dst_dir_fd=dst_dir_fd)
        self.notes.append(("rename", self._at(src, src_dir_fd), self._at(dst, dst_dir_fd)))

    def unlink(self, name: str, *, dir_fd: int) -> None:
        self._live()
        os.unlink(name, dir_fd=dir_fd)
        self.notes.append(("unlink", self._at(name, dir_fd)))

    def mkdir(self, name: str, mode: int = 0o777, *, dir_fd: int | None = None) -> None:
        self._live()
        os.mkdir(name, mode, dir_fd=dir_fd)
        self.notes.append(("mkdir", self._at(name, dir_fd)))


@dataclass
class Directory:
    """Its names now, its names on the disk, and the changes of names between the two, in order."""

    now: dict[str, int] = field(default_factory=dict)
    kept: dict[str, int] = field(default_factory=dict)
    loose: list[dict[str, int | None]] = field(default_factory=list)

    def change(self, **names: int | None) -> None:
        self.loose.append(names)
        apply(self.now, names)


def apply(names: dict[str, int], change: dict[str, int | None]) -> None:
    for name, file in change.items():
        if file is None:
            names.pop(name, None)
        else:
            names[name] = file


class Disk:
    """What a story of notes leaves of a folder, when the power goes after any of them: of each file what was
    synced, or part of what was written since; of each directory the names that were synced, and any of the
    changes since.
    """

    FOLDER = 0

    def __init__(self, root: Path) -> None:
        self.root = root
        self.directories: dict[str, Directory] = defaultdict(Directory)
        self.written: dict[int, bytes] = {}
        self.synced: dict[int, bytes] = {}
        for path in sorted(root.rglob("*")):
            file = self.FOLDER if path.is_dir() else len(self.written) + 1
            if path.is_file():
                self.written[file] = self.synced[file] = path.read_bytes()
            for names in (self.directories[str(path.parent)].now, self.directories[str(path.parent)].kept):
                names[path.name] = file

    def play(self, note: tuple[Any, ...]) -> None:
        """Do what a note tells."""
        act, path, *more = note
        folder, name = os.path.split(path)
        directory = self.directories[folder]
        if act == "create":
            file = len(self.written) + 1
            self.written[file], self.synced[file] = b"", b""
            directory.change(**{name: file})
        elif act == "write":
            self.written[directory.now[name]] += more[0]
        elif act == "fsync" and directory.now.get(name, self.FOLDER) == self.FOLDER:
            self.directories[path].kept = dict(self.directories[path].now)
            self.directories[path].loose.clear()
        elif act == "fsync":
            self.synced[directory.now[name]] = self.written[directory.now[name]]
        elif act == "mkdir":
            directory.change(**{name: self.FOLDER})
        elif act == "unlink":
            directory.change(**{name: None})
        elif act in ("link", "rename"):
            self._link(directory, name, more[0], moved=act == "rename")

    def _link(self, directory: Directory, name: str, target: str, *, moved: bool) -> None:
        folder, new = os.path.split(target)
        file = directory.now[name]
        other = self.directories[folder]
        if other is directory:
            other.change(**{new: file, **({name: None} if moved else {})})
            return
        other.change(**{new: file})
        if moved:
            directory.change(**{name: None})

    def leave(self, target: Path, chance: random.Random) -> None:
        """Write into a folder what is left, if the power goes now."""
        self._leave(str(self.root), target, chance)

    def _leave(self, source: str, target: Path, chance: random.Random) -> None:
        target.mkdir(exist_ok=True)
        directory = self.directories[source]
        names = dict(directory.kept)
        mood = chance.choice((0.0, 0.5, 1.0))
        for change in directory.loose:
            if chance.random() < mood:
                apply(names, change)
        for name, file in names.items():
            if file == self.FOLDER:
                self._leave(f"{source}/{name}", target / name, chance)
            else:
                (target / name).write_bytes(self._content(file, chance))

    def _content(self, file: int, chance: random.Random) -> bytes:
        if self.synced[file] == self.written[file]:
            return self.synced[file]
        return chance.choice((self.synced[file], self.written[file], self.written[file][:7]))
