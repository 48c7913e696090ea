"""What a fork does to the stores that a process has open.

SQLite remembers for a whole process what is locked in a file. A child copies that memory without the locks:
a store that it opened anew would take its parent's locks for its own, and lose its work when the parent
closes. An engine therefore stands still while its process forks, and in the child its copied connections are
closed before anything else runs. An engine that cannot stand still leaves them be: then the child may
not open that file at all.
"""

from __future__ import annotations

import os
import threading
import weakref
from typing import Protocol

import apsw

from tessera.errors import Unavailable
from tessera.storage.files import identity

USED_BY_PARENT = "a forked process cannot use its parent's store: open the store again in the child"
_BARRED = (
    "this process was forked from one that had the store open and was using it: start a fresh process "
    "(spawn, not fork) to open the store"
)


class Forks(Protocol):
    """An engine, as a fork meets it."""

    def stand_still(self) -> None:
        """Before the fork."""

    def go_on(self) -> None:
        """After it, in the parent."""

    def forked(self) -> None:
        """After it, in the child."""


_open: weakref.WeakSet[Forks] = weakref.WeakSet()
_still: list[Forks] = []
_one_at_a_time = threading.Lock()  # two threads that fork at once
_barred: set[tuple[int, int]] = set()  # files that this process may not open, by identity


def watch(engine: Forks) -> None:
    """From now on tell the engine of forks."""
    _open.add(engine)


def abandon(connection: apsw.Connection) -> None:
    """In a child, close a connection that stood still. No checkpoint: the log is its parent's."""
    connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
    connection.close(True)


def bar(path: str, *connections: object) -> None:
    """In a child, leave connections as they are, for ever: closing one that another thread was using would
    harm its parent. Nor may the child open that file.
    """
    keep(*connections)
    if (file := identity(path)) is not None:
        _barred.add(file)


def keep(*things: object) -> None:
    """In a child, let no end of these ever come."""
    import ctypes

    for thing in things:
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(thing))


def refuse_barred(path: str) -> None:
    """Refuse to open a file that `bar` has closed to this process."""
    if _barred and identity(path) in _barred:
        raise Unavailable(_BARRED, definite=True)


def _before() -> None:
    _one_at_a_time.acquire()
    for engine in list(_open):
        engine.stand_still()
        _still.append(engine)


def _in_parent() -> None:
    while _still:
        _still.pop().go_on()
    _one_at_a_time.release()


def _in_child() -> None:
    while _still:
        _still.pop().forked()
    _one_at_a_time.release()


os.register_at_fork(before=_before, after_in_parent=_in_parent, after_in_child=_in_child)
