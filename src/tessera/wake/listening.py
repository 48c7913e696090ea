"""The service's socket: one daemon at a time, mode 0600 from the first instant, only this user's
processes.
"""

from __future__ import annotations

import fcntl
import os
import socket
import stat
import struct
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tessera.wake.errors import Busy, Forbidden, InvalidRequest
from tessera.wake.folders import LOCK, SOCKET, check_length, make_private
from tessera.wake.limits import CONNECTIONS_MAX

_FIRST_HANDED_OVER = 3  # the first descriptor of socket activation; sd_listen_fds(3)


@dataclass(frozen=True, slots=True)
class Listening:
    """A listening socket and what its path was when it began."""

    socket: socket.socket
    path: Path
    inode: int

    def replaced(self) -> bool:
        """Whether the path is gone, or leads to something else."""
        try:
            return self.path.lstat().st_ino != self.inode
        except OSError:
            return True


@contextmanager
def listen(folder: Path) -> Iterator[Listening]:
    """Take the folder's lock and listen on its socket. Refuses when another daemon holds the lock, when the
    path is something else than a socket, or too long. What is there stays there then.
    """
    check_length(folder / SOCKET)
    make_private(folder)
    lock = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise Busy(f"another wake service holds {folder / LOCK}") from error
        listening = _handed_over() or _bind(folder)
        try:
            yield listening
        finally:
            listening.socket.close()
            if not listening.replaced():
                listening.path.unlink(missing_ok=True)
    finally:
        os.close(lock)


def _handed_over() -> Listening | None:
    """The socket that a supervisor has opened for this process."""
    if os.environ.get("LISTEN_PID") != str(os.getpid()) or os.environ.get("LISTEN_FDS", "0") == "0":
        return None
    handed = socket.socket(fileno=_FIRST_HANDED_OVER)
    os.set_inheritable(_FIRST_HANDED_OVER, False)
    if handed.family != socket.AF_UNIX:
        raise InvalidRequest("the socket that was handed over is no Unix socket")
    path = Path(handed.getsockname())
    return Listening(handed, path, path.lstat().st_ino)


def _bind(folder: Path) -> Listening:
    """Bind and listen under another name, then take the real one: whoever finds the path can connect."""
    path = folder / SOCKET
    try:
        if not stat.S_ISSOCK(path.lstat().st_mode):
            raise InvalidRequest(f"{path} is not a socket: remove it yourself if nobody needs it")
    except FileNotFoundError:
        pass
    hidden = folder / ".next"
    hidden.unlink(missing_ok=True)
    own = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    before = os.umask(0o177)
    try:
        own.bind(str(hidden))
    finally:
        os.umask(before)
    own.listen(2 * CONNECTIONS_MAX)
    os.rename(hidden, path)
    return Listening(own, path, path.lstat().st_ino)


def peer_check() -> str:
    """How this platform tells who has connected."""
    if hasattr(socket, "SO_PEERCRED"):
        return "so_peercred"
    return "local_peercred" if sys.platform == "darwin" else "directory"


def check_peer(peer: socket.socket) -> None:
    """Refuses another user's process, where the platform can tell; elsewhere the folder's mode is the
    check.
    """
    uid: int | None = None
    if peer_check() == "so_peercred":
        uid = struct.unpack("3i", peer.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))[1]
    elif peer_check() == "local_peercred":
        uid = struct.unpack_from("=II", peer.getsockopt(0, 1, 76))[1]  # SOL_LOCAL, LOCAL_PEERCRED: xucred
    if uid is not None and uid != os.geteuid():
        raise Forbidden("this service serves the user who runs it")
