"""Facts about a store's file that need no store that opens: for a diagnosis. Nothing is changed."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import Any

import apsw
from msgspec import Struct

from tessera.storage import catalogue, files, locks
from tessera.storage.connection import connect_to_look, refusal_of
from tessera.storage.locks import Holders
from tessera.storage.migrate import APPLICATION_ID, migrations

_DAMAGE_MAX = 5  # lines of SQLite's own about damage


class Facts(Struct, frozen=True):
    """What was found. None or empty: not looked at, because something before it stands in the way."""

    exists: bool
    is_file: bool = False
    readable: bool = False
    writable: bool = False
    folder_exists: bool = True
    folder_writable: bool = False
    left_behind: list[str] = []  # of copies that were cut off
    refusal: str | None = None  # why SQLite does not open it
    is_store: bool | None = None
    schema: int | None = None
    schema_known: int = 0
    damage: list[str] = []
    locked: bool = False  # another process has held the write lock all the while
    holders: Holders = Holders()


def probe(path: str, patience_ms: int) -> Facts:
    """The facts about a path. Whether the write lock is held is tried for `patience_ms` milliseconds."""
    folder = files.folder_of(path)
    facts: dict[str, Any] = {
        "exists": os.path.lexists(path),
        "is_file": os.path.isfile(path),
        "readable": os.access(path, os.R_OK),
        "writable": os.access(path, os.W_OK),
        "folder_exists": folder.is_dir(),
        "folder_writable": os.access(folder, os.W_OK),
        "schema_known": len(migrations()),
        "holders": locks.holders(path),
    }
    with suppress(OSError):
        facts["left_behind"] = sorted(
            str(one) for one in folder.glob("*.partial") if one.name.startswith(os.path.basename(path))
        )
    if facts["is_file"] and facts["readable"]:
        facts |= _inside(path, patience_ms if facts["writable"] and facts["folder_writable"] else None)
    return Facts(**facts)


def _inside(path: str, patience_ms: int | None) -> dict[str, object]:
    """What SQLite says of the file."""
    found: dict[str, object] = {}
    try:
        connection = connect_to_look(path)
        try:
            objects = connection.execute("pragma schema_version").get
            found["is_store"] = connection.execute("pragma application_id").get == APPLICATION_ID
            if objects and found["is_store"]:
                found["schema"] = connection.execute(catalogue.stores()["schema_of_store"].text).get
                lines = [row[0] for row in connection.execute(f"pragma quick_check({_DAMAGE_MAX})")]
                found["damage"] = [line for line in lines if line != "ok"]
        finally:
            connection.close(True)
        if found["is_store"] and patience_ms is not None:
            found["locked"] = _locked(path, patience_ms)
    except apsw.Error as error:
        found["refusal"] = refusal_of(error).detail
    return found


def _locked(path: str, patience_ms: int) -> bool:
    connection = connect_to_look(path)
    try:
        connection.execute("pragma query_only = 0")
        connection.set_busy_timeout(patience_ms)
        connection.execute("begin immediate")
        connection.execute("rollback")
    except apsw.BusyError:
        return True
    finally:
        connection.close(True)
    return False


def free_bytes(path: str) -> int | None:
    """How many bytes the disk of a store has left for us; None if nobody can tell."""
    try:
        room = os.statvfs(files.folder_of(path))
    except OSError:
        return None
    return room.f_bavail * room.f_frsize


def wal_bytes(path: str) -> int:
    """How many bytes a store's write-ahead log has."""
    try:
        return os.stat(f"{path}-wal").st_size
    except OSError:
        return 0
