"""The room's message store: one SQLite file, one connection, every commit synced before it is answered.

A verb gets a transaction: it reads, checks, then writes, as everywhere in the house. The daemon runs verbs on
one thread; the flock on the run directory keeps a second daemon out.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import apsw

from tessera.runtime import Runtime
from tessera.storage import catalogue
from tessera.storage.connection import connect, refusal_of
from tessera.storage.prepared import prepare
from tessera.wake import rows
from tessera.wake.errors import Storage
from tessera.wake.limits import EVENTS_KEPT_MAX

HERE = Path(__file__).parent
APPLICATION_ID = 0x5457414B  # "TWAK": what the file's header says it is
SCHEMA_VERSION = 1
Answer = TypeVar("Answer")


class Transaction:
    """What a verb sees: one instant, named statements, reads before writes."""

    __slots__ = ("_prepared", "events", "now", "runtime", "wrote")

    def __init__(self, store: Store) -> None:
        self._prepared = store.prepared
        self.runtime = store.runtime
        self.now = store.runtime.now_us() // 1_000
        self.wrote = False
        self.events: list[dict[str, Any]] = []

    def one(self, name: str, /, **params: object) -> Any:
        """The row of a statement, or None."""
        assert not self.wrote, f"read {name} after the first write"
        return self._prepared[name].one(params)

    def all(self, name: str, /, **params: object) -> list[Any]:
        """The rows of a statement."""
        assert not self.wrote, f"read {name} after the first write"
        return self._prepared[name].all(params)

    def write(self, name: str, /, **params: object) -> None:
        """Run a statement that writes."""
        self.wrote = True
        self._prepared[name].write(params)

    def save(self, name: str, row: Any) -> None:
        """Store a row."""
        self.wrote = True
        self._prepared[name].save(row)

    def event(
        self, type_name: str, message_id: str | None, endpoint_id: str | None, data: str = "{}"
    ) -> None:
        """Note one line of the log, in this transaction."""
        line = {"at": self.now, "type": type_name, "message_id": message_id, "endpoint_id": endpoint_id}
        self.write("add_event", **line, data=data)
        self.events.append(line)


class Store:
    """The file. `after_commit` is called after each transaction that noted events."""

    def __init__(self, path: str, runtime: Runtime) -> None:
        self.runtime = runtime
        self.path = path
        self.after_commit: Callable[[], None] = _nothing
        try:
            self._connection = connect(path)
            self._connection.execute("pragma synchronous = full")
            self._connection.execute("pragma foreign_keys = on")
            self._become()
            self.prepared = prepare(
                self._connection, self._connection.cursor(), remember=False,
                statements=catalogue.load(HERE / "sql", module=rows),
            )  # fmt: skip
        except apsw.Error as error:
            raise Storage(refusal_of(error).detail) from error

    def run(self, verb: Callable[..., Answer], *args: Any) -> Answer:
        """Run a verb in a transaction; its answer is durable. What cannot be stored is refused with
        `storage`, and nothing has changed.
        """
        try:
            self._connection.execute("begin immediate")
            try:
                transaction = Transaction(self)
                answer = verb(transaction, *args)
                self.runtime.reach("wake.commit.before")
                self._connection.execute("commit")
            except BaseException:
                if self._connection.in_transaction:
                    self._connection.execute("rollback")
                raise
        except apsw.Error as error:
            raise Storage(refusal_of(error).detail) from error
        self.runtime.reach("wake.commit.synced")
        if transaction.events:
            self.after_commit()
        return answer

    def prune(self) -> None:
        """Drop the oldest lines of the log when there are too many."""
        self.run(_prune)

    def bytes(self) -> int:
        """How large the file is."""
        return Path(self.path).stat().st_size

    def close(self) -> None:
        """Let go of the file."""
        self._connection.close()

    def _become(self) -> None:
        """A new file becomes a message store; another kind of file, or a newer version's, is refused."""
        connection = self._connection
        connection.execute("begin immediate")
        try:
            if not connection.execute("select count(*) from sqlite_schema").get:
                connection.execute(f"pragma application_id = {APPLICATION_ID}")
                connection.execute(f"pragma user_version = {SCHEMA_VERSION}")
                connection.execute((HERE / "schema.sql").read_text(encoding="utf-8"))
                connection.execute("insert into meta values ('instance', ?)", (self.runtime.new_id("w_"),))
            if connection.execute("pragma application_id").get != APPLICATION_ID:
                raise Storage("this file is a database, but no message store of the wake service")
            if connection.execute("pragma user_version").get > SCHEMA_VERSION:
                raise Storage("this message store was written by a newer Tessera: upgrade")
        except BaseException:
            connection.execute("rollback")
            raise
        connection.execute("commit")


def _prune(tx: Transaction) -> None:
    upto = tx.one("last_event").value - EVENTS_KEPT_MAX
    if upto > 0:
        tx.write("drop_events", upto=upto)


def _nothing() -> None:
    """Nobody listens."""
