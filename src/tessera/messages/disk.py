"""Folders held open, so that no name is ever looked up through a link, and what a power cut leaves is known.

A file appears under its name whole and synced, or not at all: it is written under a temporary name of its
own, synced, then linked or renamed, and the folder is synced. Readers pass over temporary names.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from contextlib import suppress
from types import TracebackType
from typing import Final

from tessera.limits import MESSAGE_FILE_BYTES_MAX
from tessera.messages.errors import LedgerDamaged

TEMP_PREFIX: Final = ".message.tmp-"
_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_FILE: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK  # never waits for a pipe
_NEW: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def make_path(path: str, mode: int = 0o777) -> None:
    """Make a folder and those above it, where they are missing, and make its name durable. Raises OSError."""
    parent = os.path.dirname(os.path.abspath(path))
    if not os.path.isdir(parent):
        make_path(parent)
    with suppress(FileExistsError):
        os.mkdir(path, mode)
    fd = os.open(parent, _FOLDER)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


class Folder:
    """An open directory. `temps` gives the ending of a temporary name that nobody else uses."""

    def __init__(self, fd: int, path: str, temps: Callable[[], str]) -> None:
        self.fd = fd
        self.path = path
        self.temps = temps

    @classmethod
    def open(cls, path: str, temps: Callable[[], str]) -> Folder:
        """Open the folder at a path that the user gave; links on the way to it are the user's own."""
        return cls(os.open(path, _FOLDER), path, temps)

    def __enter__(self) -> Folder:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.close(self.fd)

    def where(self, name: str) -> str:
        """The path of an entry, for people."""
        return f"{self.path}/{name}"

    def sub(self, name: str, temps: Callable[[], str] | None = None) -> Folder:
        """Open a folder in this one; a link in its place is refused. Raises OSError."""
        fd = os.open(name, _FOLDER | os.O_NOFOLLOW, dir_fd=self.fd)
        return Folder(fd, self.where(name), temps or self.temps)

    def sub_or_none(self, name: str) -> Folder | None:
        """The same, or None if there is no such entry."""
        try:
            return self.sub(name)
        except FileNotFoundError:
            return None

    def make_sub(self, name: str, *, sync: bool = False) -> Folder:
        """Open a folder in this one and make it first if it is missing. This folder is synced if it was made,
        or if the caller cannot know whether whoever made it came so far.
        """
        made = True
        try:
            os.mkdir(name, dir_fd=self.fd)
        except FileExistsError:
            made = False
        if made or sync:
            self.sync()
        return self.sub(name)

    def names(self) -> list[str]:
        """What is in it, sorted, without temporary names. Raises `LedgerDamaged` for a name not in UTF-8."""
        found = sorted(name for name in os.listdir(self.fd) if not name.startswith(TEMP_PREFIX))
        for name in found:
            try:
                name.encode()
            except UnicodeEncodeError as error:
                raise LedgerDamaged(f"{self.where(ascii(name))} filename is not UTF-8") from error
        return found

    def has(self, name: str) -> bool:
        """Whether an entry of this name is there, whatever it is."""
        try:
            os.stat(name, dir_fd=self.fd, follow_symlinks=False)
        except FileNotFoundError:
            return False
        return True

    def read(self, name: str) -> bytes:
        """The content of a regular file. Raises OSError; `LedgerDamaged` for anything else."""
        fd = os.open(name, _FILE, dir_fd=self.fd)
        try:
            about = os.fstat(fd)
            if not stat.S_ISREG(about.st_mode):
                raise LedgerDamaged(f"{self.where(name)} is no regular file")
            if about.st_size > MESSAGE_FILE_BYTES_MAX:
                raise LedgerDamaged(f"{self.where(name)} is larger than {MESSAGE_FILE_BYTES_MAX:,} bytes")
            content = os.read(fd, about.st_size + 1)
            while len(content) < about.st_size and (more := os.read(fd, about.st_size)):
                content += more
            return content
        finally:
            os.close(fd)

    def read_or_none(self, name: str) -> bytes | None:
        """The same, or None if there is no such entry."""
        try:
            return self.read(name)
        except FileNotFoundError:
            return None

    def create(self, name: str, content: bytes) -> None:
        """Make a file that was not there, whole and durable. Raises FileExistsError, OSError."""
        temp = self._temporary(content)
        try:
            os.link(temp, name, src_dir_fd=self.fd, dst_dir_fd=self.fd, follow_symlinks=False)
        finally:
            with suppress(OSError):  # a leftover is invisible, and swept later
                os.unlink(temp, dir_fd=self.fd)
        self.sync()

    def replace(self, name: str, content: bytes) -> None:
        """Put a file in another one's place, whole and durable. Raises OSError."""
        temp = self._temporary(content)
        try:
            os.rename(temp, name, src_dir_fd=self.fd, dst_dir_fd=self.fd)
        except OSError:
            with suppress(OSError):
                os.unlink(temp, dir_fd=self.fd)
            raise
        self.sync()

    def settle(self, name: str) -> None:
        """Make durable what another process wrote, which may have died before it could. Raises OSError."""
        fd = os.open(name, _FILE, dir_fd=self.fd)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)
        self.sync()

    def link_to(self, name: str, other: Folder) -> None:
        """Let a file stand in another folder too, durably. Raises FileExistsError, OSError."""
        os.link(name, name, src_dir_fd=self.fd, dst_dir_fd=other.fd, follow_symlinks=False)
        other.sync()

    def move_to(self, name: str, other: Folder) -> None:
        """Move a file to another folder, durably. Raises OSError."""
        os.rename(name, name, src_dir_fd=self.fd, dst_dir_fd=other.fd)
        other.sync()
        self.sync()

    def remove(self, name: str) -> None:
        """Take a file away, durably, if it is there. Raises OSError."""
        with suppress(FileNotFoundError):
            os.unlink(name, dir_fd=self.fd)
        self.sync()

    def sweep(self, owner: str) -> None:
        """Take away what dead processes of one owner left under temporary names."""
        mine = f"{TEMP_PREFIX}{owner}-"
        for name in os.listdir(self.fd):
            if name.startswith(mine):
                with suppress(OSError):
                    os.unlink(name, dir_fd=self.fd)

    def sync(self) -> None:
        """Make the names in it durable. Raises OSError."""
        os.fsync(self.fd)

    def _temporary(self, content: bytes) -> str:
        """A new file under a name of its own, written and synced."""
        temp = TEMP_PREFIX + self.temps()
        fd = os.open(temp, _NEW, 0o666, dir_fd=self.fd)
        try:
            left = memoryview(content)
            while left:
                left = left[os.write(fd, left) :]
            os.fsync(fd)
        except OSError:
            with suppress(OSError):
                os.unlink(temp, dir_fd=self.fd)
            raise
        finally:
            os.close(fd)
        return temp
