"""Forked children, and the store that they and their parent use."""

from __future__ import annotations

import os
import select
import signal
import warnings
from collections.abc import Callable
from contextlib import closing

import apsw

import tessera
from tessera.library import Tessera

PATIENCE_SECONDS = 20  # with a child that says nothing


class Child:
    """A forked child that does one thing, says what came of it, and ends without running anything else of
    this process. What it is sent, the act can wait for.
    """

    def __init__(self, act: Callable[[Callable[[], None]], str]) -> None:
        self._hears, child_says = os.pipe()
        child_hears, self._says = os.pipe()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # of forking with threads, which is the point
            self._pid = os.fork()
        if self._pid == 0:
            said = "nothing"
            try:
                said = act(lambda: os.read(child_hears, 1) and None)
            except BaseException as error:
                said = f"{type(error).__name__}: {error}"
            finally:
                os.write(child_says, f"{said}\n".encode())
                os._exit(0)
        os.close(child_says)
        os.close(child_hears)

    def tell(self) -> None:
        """Let the act go on that waits."""
        os.write(self._says, b"!")

    def said(self) -> str:
        """What came of its act; the child has ended. One that hangs is killed."""
        text = b""
        while not text.endswith(b"\n"):
            ready, _, _ = select.select([self._hears], [], [], PATIENCE_SECONDS)
            if not ready:
                os.kill(self._pid, signal.SIGKILL)
            if not (piece := os.read(self._hears, 65_536)):
                break
            text += piece
        os.waitpid(self._pid, 0)
        os.close(self._hears)
        os.close(self._says)
        return text.decode().strip() or "the child hung"


def put(store: Tessera, number: int = 1) -> str:
    """Some tasks more."""
    store.enqueue_batch([{"queue": "q", "kind": "k", "brief": {}}] * number)
    return "put"


def make_store(path: str) -> str:
    """The file of a store with the queue `q` and one task."""
    with tessera.open(path) as store:
        store.define_queue("q")
        put(store)
    return path


def holds(path: str, number: int) -> None:
    """The file is whole, and holds so many ready tasks, counted and recounted."""
    with closing(apsw.Connection(path)) as file:
        assert file.execute("pragma integrity_check").get == "ok"
    with tessera.open(path) as store:
        counts = store.counts(recount=True)
        assert (counts.agree, counts.queues["q"].ready) == (True, number)
        assert len([line for line in store.events(limit=10_000) if line.type == "enqueued"]) == number
