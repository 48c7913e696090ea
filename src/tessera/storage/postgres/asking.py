"""What the verbs of a transaction ask of the database: their reads, which must be of rows that are locked,
and their writes, which travel with the next thing asked.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from operator import attrgetter
from typing import Any

from tessera.canonical import json_text
from tessera.limits import REMEMBERED_ROWS_MAX, ROWS_SENT_AHEAD
from tessera.rows import BriefRow, Descendant, NamedTask, ReadyRow, TaskRow
from tessera.storage.postgres.arrays import arrays_of
from tessera.storage.postgres.connection import Prepared
from tessera.storage.postgres.database import Database
from tessera.storage.postgres.link import Asked, Link

TASKS = (TaskRow, ReadyRow, NamedTask, Descendant)  # rows that a verb may decide by only once they are locked
# Statements that lock what they answer with, and pass over what others have locked.
SKIPPING = frozenset({"next_ready", "next_ready_in_lanes", "lapsed_in_queue", "due_in_queue"})
# Statements that say whether these have passed over anything.
PASSED_OVER = frozenset({"passed_over", "passed_over_in_lanes"})


class Unlocked(Exception):
    """A verb has read what its transaction has not locked: lock it, then run the verb again."""

    def __init__(
        self, serials: Iterable[int] = (), *, lock: tuple[str, tuple[object, ...], Prepared] | None = None,
        not_before: int = 0,
    ) -> None:  # fmt: skip
        super().__init__("not locked yet")
        self.serials = list(serials)
        self.lock = lock
        self.not_before = not_before  # an instant that a row has seen


class Asking:
    """A connection, and what has been asked, seen and locked in its open transaction."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self.link: Link | None = None
        self.now = 0
        self.wrote = False
        self.memory_is_void = False  # everybody's, with the commit
        self.passed_over = False  # whether a claim has found nothing but what others hold
        self.writes: list[Asked] = []  # to be looked at
        self.locked: set[int] = set()  # tasks, by serial
        self.locks: set[tuple[str, tuple[object, ...]]] = set()  # what else: by statement and parameters
        self.seen: dict[tuple[str, tuple[object, ...]], list[Any]] = {}  # since the last write
        self.memory: dict[str, dict[tuple[object, ...], Any]] = {}

    def prepared(self, name: str) -> Prepared:
        """A statement by its name."""
        return self.database.prepared[name]

    def one(self, name: str, params: dict[str, object]) -> Any:
        """A statement's only row, or None."""
        statement = self.database.prepared[name]
        if statement.until:
            return self._remembered(statement, params)
        rows = self._rows(statement, params)
        return rows[0] if rows else None

    def all(self, name: str, params: dict[str, object]) -> list[Any]:
        """Every row of a statement."""
        return self._rows(self.database.prepared[name], params)

    def write(self, name: str, params: dict[str, object]) -> None:
        """A writing statement, to be looked at before the commit."""
        statement = self.database.prepared[name]
        if statement.as_rows:
            self._write_rows(statement, [tuple(params[one] for one in statement.params)])
            return
        self.writes.append(self.ask(statement, statement.bind(params)))
        self._forget(name)

    def save_all(self, name: str, rows: Sequence[Any]) -> None:
        """The same for a statement whose parameters are attributes of rows."""
        statement = self.database.prepared[name]
        values = attrgetter(*statement.params)
        if statement.as_rows:
            self._write_rows(statement, [values(row) for row in rows])
            return
        for row in rows:
            self.writes.append(self.ask(statement, values(row)))
        self._forget(name)

    def ask(self, statement: Prepared, params: tuple[object, ...] = ()) -> Asked:
        """Ask with the next round trip."""
        assert self.link is not None
        return self.link.ask(statement, params)

    def flush(self) -> None:
        """Make a round trip."""
        assert self.link is not None
        self.link.flush()

    def _write_rows(self, statement: Prepared, rows: list[tuple[object, ...]]) -> None:
        assert self.link is not None
        self.ask(statement, arrays_of(rows))  # fails by itself if it does not change all
        if len(rows) >= ROWS_SENT_AHEAD:
            self.link.send()
        self._forget(statement.name)

    def _rows(self, statement: Prepared, params: dict[str, object]) -> list[Any]:
        """What a statement answers with; the same as before, until something is written or locked."""
        key = statement.name, statement.bind(params)
        rows = self.seen.get(key)
        if rows is None:
            self._refuse_unlocked(statement, params)
            asked = self.ask(statement, key[1])
            self.flush()
            rows = asked.rows
            self.see(statement, key, rows)
            self.passed_over = self.passed_over or (statement.name in PASSED_OVER and rows[0].value > 0)
        if rows and statement.row in TASKS:
            self._check(statement.name, rows)
        return rows

    def see(self, statement: Prepared, key: tuple[str, tuple[object, ...]], rows: list[Any]) -> None:
        """Keep what a statement has answered, until something is written or locked: also as the answer to the
        question for the briefs that came with it.
        """
        self.seen[key] = rows
        if statement.row is not ReadyRow or not rows:
            return
        serials = [row.serial for row in rows]
        briefs = [BriefRow(row.serial, row.sha256, row.brief, row.traceparent) for row in rows if row.sha256]
        if len(rows) == 1:
            asked, params = self.prepared("brief_of"), dict[str, object](serial=serials[0])
        else:
            asked, params = self.prepared("briefs_of"), dict[str, object](serials=json_text(serials))
        self.seen[asked.name, asked.bind(params)] = briefs

    def _remembered(self, statement: Prepared, params: dict[str, object]) -> Any:
        rows = self.memory.setdefault(statement.name, {})
        key = statement.bind(params)
        found = rows.get(key)
        if found is None:
            asked = self.ask(statement, key)
            self.flush()
            found = asked.rows[0] if asked.rows else None
            if len(rows) >= REMEMBERED_ROWS_MAX:
                rows.clear()
            if found is not None:
                rows[key] = found
        return found

    def _forget(self, name: str) -> None:
        self.wrote = True
        self.seen.clear()
        for forgotten in self.database.forgets.get(name, ()):
            self.memory.pop(forgotten, None)
            self.memory_is_void = True  # and with the commit everybody else's memory

    def _refuse_unlocked(self, statement: Prepared, params: dict[str, object]) -> None:
        if statement.lock is None:
            return
        bound = statement.lock.bind(params)
        if (statement.name, bound) not in self.locks:
            raise Unlocked(lock=(statement.name, bound, statement.lock))

    def _check(self, name: str, rows: Sequence[Any]) -> None:
        """A verb may go on only with tasks that are locked, and not before the last change of any of them."""
        if name in SKIPPING:
            self.locked.update(row.serial for row in rows)
        elif missing := [row.serial for row in rows if row.serial not in self.locked]:
            raise Unlocked(missing)
        changed = max((row.updated_at for row in rows if isinstance(row, TaskRow)), default=0)
        if changed > self.now:
            raise Unlocked(not_before=changed)

    def recall(self, name: str, params: dict[str, object]) -> Any:
        """What is remembered of a statement, or None."""
        return self.memory.get(name, {}).get(self.prepared(name).bind(params))
