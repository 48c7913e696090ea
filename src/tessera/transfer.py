"""Moving a whole store from one engine to another: `tessera migrate-store`. (Contract §9.)

Rows go over in pages, each a transaction of its own, in the order of their keys; so the last key that
arrived is where a move goes on that was cut off, whatever cut it off. At the end both sides are read and
compared, the new store is verified, and only then may it be opened.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import zip_longest
from typing import Any

from tessera.errors import Unavailable
from tessera.library.upkeep import Tell
from tessera.limits import MOVE_BYTES_PAGE, MOVE_ROWS_PAGE
from tessera.models import Moved, Verified
from tessera.names import REFLEXES, TOMBSTONES
from tessera.runtime import Runtime
from tessera.steps import recall
from tessera.storage.moving.tables import WHOLE, Row, Source, Table, Target, tables
from tessera.verbs.verify import verify


def move(source: Source, target: Target, runtime: Runtime, *, unsound: bool, tell: Tell) -> Moved:
    """Make of the target what the source is. Refuses, and leaves a part behind that the next attempt goes on
    with, if the two are not equal in the end, or (unless `unsound`) if something in the store is wrong.
    """
    found = tables()
    sizes = {table.name: source.count(table) for table in found}
    resumed = target.begin(source.identity)
    runtime.reach("move.begun")
    _copy(source, target, runtime, _Progress(tell, "move", sizes))
    runtime.reach("move.copied")
    difference = _difference(source, target, _Progress(tell, "compare", sizes))
    if difference and resumed:  # what had arrived before has changed at the source since
        target.clear()
        _copy(source, target, runtime, _Progress(tell, "move again", sizes))
        difference = _difference(source, target, _Progress(tell, "compare", sizes))
    if difference:
        raise Unavailable(f"the stores differ in {difference}: move again", definite=True)
    runtime.reach("move.compared")
    verified: Verified = target.look(verify, tell)
    if not (verified.ok or unsound):
        first = verified.findings[0]
        raise Unavailable(
            f"the store is not sound, so it was not moved: {first.thing} {first.says} "
            "(--unsound moves it all the same)",
            definite=True,
        )
    runtime.reach("move.verified")
    target.finish()
    runtime.reach("move.finished")
    return Moved(source.shown, target.shown, sum(sizes.values()), resumed, verified)


class _Progress:
    """How much of all rows is done, told by what is being done."""

    def __init__(self, tell: Tell, what: str, sizes: dict[str, int]) -> None:
        self._tell = tell
        self._what = what
        self._sizes = sizes
        self._before = 0
        self._now = ""

    def of(self, table: Table) -> None:
        """The next table."""
        self._before += self._sizes.get(self._now, 0)
        self._now = table.name
        self.at(0)

    def at(self, rows: int) -> None:
        """So many of its rows are done."""
        self._tell(f"{self._what} {self._now}", self._before + rows, sum(self._sizes.values()))


def _copy(source: Source, target: Target, runtime: Runtime, progress: _Progress) -> None:
    """Every row that has not arrived, page by page."""
    for table in tables():
        progress.of(table)
        if table.name in WHOLE:
            target.put(table, list(source.rows(table)))
            continue
        done = 0
        for page in _pages(source.rows(table, target.last(table))):
            target.put(table, page)
            done += len(page)
            progress.at(done)
            runtime.reach("move.page")
    _index(target)


def _index(target: Target) -> None:
    """What nouns and reflexes are searched by is each engine's own: made anew of the rows that arrived."""
    found = {table.name: table for table in tables()}
    names: dict[int, tuple[str, str]] = {}  # of the nouns that a reflex may be about
    for page in _pages(target.rows(found["nouns"])):
        names |= {row[0]: (row[2], row[3]) for row in page if row[2] in (REFLEXES, TOMBSTONES) and not row[1]}
        target.write(
            "index_noun",
            [
                recall.words_of_noun(in_bucket, place, key, title, text)
                for _, in_bucket, place, key, *_, title, text in page
            ],
        )
    for page in _pages(target.rows(found["reflexes"])):
        told: dict[str, list[dict[str, object]]] = {}
        for noun, warns, text in (row for row in page if row[0] in names):
            for statement, words in recall.words_of_reflex(*names[noun], warns, text):
                told.setdefault(statement, []).append(words)
        for statement, given in told.items():
            target.write(statement, given)


def _pages(rows: Iterable[Row]) -> Iterator[list[Row]]:
    """Rows in lists that are neither long nor heavy."""
    page: list[Row] = []
    weight = 0
    for row in rows:
        page.append(row)
        weight += sum(len(value) for value in row if isinstance(value, str | bytes))
        if len(page) >= MOVE_ROWS_PAGE or weight >= MOVE_BYTES_PAGE:
            yield page
            page, weight = [], 0
    if page:
        yield page


def _difference(source: Source, target: Target, progress: _Progress) -> str | None:
    """The first row that is not the same on both sides, or None."""
    for table in tables():
        progress.of(table)
        both: Iterator[tuple[Any, Any]] = zip_longest(source.rows(table), target.rows(table))
        for number, (ours, theirs) in enumerate(both, 1):
            if ours != theirs:
                key = table.key_of(theirs if ours is None else ours)
                return f"{table.name} {' '.join(map(str, key))}"
            if number % MOVE_ROWS_PAGE == 0:
                progress.at(number)
    return None
