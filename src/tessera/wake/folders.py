"""Where the service and its clients meet, and where its messages are kept."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from pathlib import Path

from tessera.wake.errors import Forbidden, InvalidRequest
from tessera.wake.limits import SOCKET_PATH_BYTES_MAX

SOCKET = "wake.sock"
LOCK = "wake.lock"


def run_folder(environ: Mapping[str, str] = os.environ) -> Path:
    """TESSERA_WAKE_HOME, else the user's runtime directory, else one below the state home."""
    if home := environ.get("TESSERA_WAKE_HOME"):
        return Path(home)
    if runtime := environ.get("XDG_RUNTIME_DIR"):
        return Path(runtime) / "tessera-wake"
    return state_home(environ) / "tessera" / "wake-run"


def socket_path(environ: Mapping[str, str] = os.environ) -> Path:
    """The socket that clients connect to."""
    return run_folder(environ) / SOCKET


def state_folder(environ: Mapping[str, str] = os.environ) -> Path:
    """Where messages are kept: it outlives a restart of the machine."""
    if own := environ.get("TESSERA_WAKE_STATE"):
        return Path(own)
    return state_home(environ) / "tessera" / "wake"


def state_home(environ: Mapping[str, str] = os.environ) -> Path:
    """XDG_STATE_HOME, else ~/.local/state."""
    home = environ.get("XDG_STATE_HOME")
    return Path(home) if home else Path(environ.get("HOME", "~")).expanduser() / ".local" / "state"


def make_private(folder: Path) -> None:
    """The folder, for this user alone, made if it is not there. Refuses one that is a link, another
    user's, or open to others.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    try:
        os.mkdir(folder, 0o700)
        os.chmod(folder, 0o700)
    except FileExistsError:
        pass
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid() or found.st_mode & 0o077:
        raise Forbidden(f"{folder} must be a directory of this user with mode 0700, and no link")


def check_length(path: Path) -> None:
    """Refuses a socket's path that the system has no room for."""
    if len(os.fsencode(path)) > SOCKET_PATH_BYTES_MAX:
        raise InvalidRequest(
            f"{path} is longer than the {SOCKET_PATH_BYTES_MAX} bytes a socket's path may have: "
            "set TESSERA_WAKE_HOME to a shorter folder"
        )
