"""Acknowledgements as files: a sandboxed agent that may write its workspace but open no socket leaves a
file named like the wake in `.tessera/acks/` of its repository.
"""

from __future__ import annotations

import errno
import os
import re
import stat
from pathlib import Path

from tessera.wake.limits import DROPS_MAX

FOLDER = Path(".tessera") / "acks"
SANDBOXED = frozenset({errno.EPERM, errno.EACCES})  # what a sandbox says to whoever opens a socket
_NAME = re.compile(r"^m_[0-9a-f]{16}$")


def found(repository: Path) -> list[str]:
    """The ids of the wakes that have a file. A folder or file that is a link or another user's is not looked
    at.
    """
    folder = repository / FOLDER
    try:
        if not stat.S_ISDIR(folder.lstat().st_mode):
            return []
        with os.scandir(folder) as entries:
            ids = []
            for entry in entries:
                own = entry.stat(follow_symlinks=False)
                if _NAME.match(entry.name) and stat.S_ISREG(own.st_mode) and own.st_uid == os.geteuid():
                    ids.append(entry.name)
                if len(ids) == DROPS_MAX:
                    break
            return sorted(ids)
    except OSError:
        return []


def leave(repository: Path, message_id: str) -> Path:
    """Leave the file of one acknowledgement."""
    folder = repository / FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / message_id
    path.touch(mode=0o600)
    return path


def clear(repository: Path, message_id: str) -> None:
    """The acknowledgement is stored: its file may go."""
    (repository / FOLDER / message_id).unlink(missing_ok=True)
