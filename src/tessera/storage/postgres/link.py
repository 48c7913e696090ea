"""A connection as verbs use it: named statements, prepared once, any number of them to a round trip.

This is psycopg's pipeline mode without its cursors: a statement costs a few microseconds here rather than a
hundred, which threads that share one interpreter feel. Each round trip ends with a synchronisation point, so
that the server knows a transaction whose client has fallen silent for an idle one, and ends it in time. What
is long to carry out may be sent ahead of its round trip: the server is then at work while the client is.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any

import psycopg
from psycopg import generators
from psycopg.abc import PQGen
from psycopg.adapt import Transformer
from psycopg.errors import error_from_result
from psycopg.pq import ExecStatus
from psycopg.pq.abc import PGresult

from tessera.errors import Unavailable
from tessera.storage.migrate import UPGRADED
from tessera.storage.postgres.connection import Connection, Prepared

_GOOD = (ExecStatus.TUPLES_OK, ExecStatus.COMMAND_OK)


class Asked:
    """A statement under way; its rows are there after the next `flush`."""

    __slots__ = ("changed", "rows", "statement")

    def __init__(self, statement: Prepared) -> None:
        self.statement = statement
        self.rows: list[Any] = []
        self.changed = 0  # how many rows of a table

    def only(self) -> Any:
        """The only row."""
        (row,) = self.rows
        return row


class Link:
    """One thread at a time."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self._pg = connection.pgconn
        self._pg.enter_pipeline_mode()
        self._transformer = Transformer.from_context(connection)
        self._prepared: set[str] = set()
        self._commands: deque[Callable[[], None]] = deque()
        self._expected: list[Asked | str] = []  # answers, and names of statements that are being prepared
        self._sent = 0  # how many of these the server was asked for already

    def ask(self, statement: Prepared, params: tuple[object, ...] = ()) -> Asked:
        """Ask with the next round trip."""
        name = statement.name.encode()
        if statement.name not in self._prepared:
            self._prepared.add(statement.name)
            self._commands.append(partial(self._pg.send_prepare, name, statement.text.encode()))
            self._expected.append(statement.name)
        values, formats = _encoded(params)
        self._commands.append(partial(self._pg.send_query_prepared, name, values, formats))
        asked = Asked(statement)
        self._expected.append(asked)
        return asked

    def send(self) -> None:
        """Let the server begin with what was asked; the answers come with the next `flush`."""
        try:
            while self._commands:
                self._commands.popleft()()
            self._sent = len(self._expected)
            self._pg.flush()  # what the socket does not take now goes with the rest
        except BaseException:
            self.connection.close()
            raise

    def flush(self) -> None:
        """One round trip: everything asked is answered, or the first error raised and nothing after it
        done.
        """
        if not self._expected:
            return
        expected, self._expected, self._sent = self._expected, [], 0
        self._commands.append(self._pg.pipeline_sync)
        try:
            found = self.connection.wait(self._results(len(expected)))
        except BaseException:  # answers may be left on their way, to be taken for those of other questions
            self.connection.close()
            raise
        finally:
            self._commands.clear()
        error: Exception | None = None
        for one, results in zip(expected, found, strict=False):
            error = self._take(one, results[-1], error)
        if error is not None:
            raise error

    def forget(self) -> None:
        """Ask nothing of what was not sent yet, and pass over the answers to what was."""
        self._prepared -= {one for one in self._expected[self._sent :] if isinstance(one, str)}
        del self._expected[self._sent :]
        self._commands.clear()
        if not self.connection.closed:
            with suppress(psycopg.Error):
                self.flush()

    def run(self, statement: Prepared, params: tuple[object, ...] = ()) -> Asked:
        """Ask and get the answer."""
        asked = self.ask(statement, params)
        self.flush()
        return asked

    def _results(self, expected: int) -> PQGen[list[list[PGresult]]]:
        """Send the commands; what came of each, and of the synchronisation last."""
        found: list[list[PGresult]] = yield from generators.pipeline_communicate(self._pg, self._commands)
        yield from generators.send(self._pg)  # the rest of what a full socket did not take
        while len(found) <= expected:
            found.append((yield from generators.fetch_many(self._pg)))
        return found

    def _take(self, one: Asked | str, result: PGresult, error: Exception | None) -> Exception | None:
        if result.status not in _GOOD:
            self._prepared.discard(one if isinstance(one, str) else "")
            if error is None and result.status == ExecStatus.FATAL_ERROR:
                error = error_from_result(result, encoding="utf-8")
        elif isinstance(one, Asked):
            one.changed = result.command_tuples or 0
            if result.ntuples and result.nfields != (one.statement.columns or result.nfields):
                error = error or Unavailable(UPGRADED, definite=True)
            elif result.ntuples:
                self._transformer.set_pgresult(result)
                one.rows = self._transformer.load_rows(0, result.ntuples, one.statement.make)
        return error


def _encoded(params: tuple[object, ...]) -> tuple[list[bytes | None], list[int] | None]:
    """Parameters as libpq takes them: texts, whose types the server infers; bytes as they are."""
    values: list[bytes | None] = []
    formats: list[int] | None = None
    for place, param in enumerate(params):
        if param is None:
            values.append(None)
        elif isinstance(param, bytes | bytearray | memoryview):
            values.append(bytes(param))
            formats = formats or [0] * len(params)
            formats[place] = 1
        elif isinstance(param, str):
            text = param.encode()
            if b"\0" in text:
                raise psycopg.DataError("PostgreSQL text fields cannot contain NUL (0x00) bytes")
            values.append(text)
        else:
            assert isinstance(param, int | float), f"no parameter: {type(param).__name__}"
            values.append(str(int(param) if isinstance(param, bool) else param).encode())
    return values, formats
