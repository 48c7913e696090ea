"""verify: everything a store claims about itself, computed again. A look: one snapshot, nothing written."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from tessera.canonical import receipt_hash
from tessera.errors import TesseraError
from tessera.limits import FINDINGS_PER_CHECK_MAX, VERIFY_BYTES_PAGE, VERIFY_ROWS_PAGE
from tessera.models import Check, Finding, Verified
from tessera.names import EVENT_NUMBER, TOMBSTONES
from tessera.rows import BlobRow, BlobSizes, BriefToCheck, ResultToCheck, Sizes
from tessera.rules.audit import Audit
from tessera.runtime import Runtime, rfc3339
from tessera.states import STATES
from tessera.steps import recall
from tessera.steps.blobs import intact
from tessera.steps.leases import result_id
from tessera.storage.port import Transaction

Tell = Callable[[str, int, int], None]  # check, how many things are looked at, out of about how many
Wrongs = Iterable[tuple[str, str]]  # what is wrong: the thing, and what to say of it


def verify(tx: Transaction, runtime: Runtime, tell: Tell) -> Verified:
    """Receipts, hashes, chains, counts, leases, waits, the log and the file itself, all of one instant. What
    is wrong comes back as findings, at most FINDINGS_PER_CHECK_MAX a check; nothing is repaired.
    """
    book = _Book(tell)
    book.check("pages", 1, _damage(tx))
    try:
        _contents(tx, book)
    except TesseraError:
        raise
    except Exception as error:  # pages so damaged that a statement stops: the first check has said so
        if book.sound:
            raise
        book.note("pages", "file", f"the checks that follow could not be made: {type(error).__name__}")
    return Verified(
        ok=book.sound, as_of=rfc3339(tx.now), checks=list(book.checks.values()), findings=book.findings
    )


def _contents(tx: Transaction, book: _Book) -> None:
    sizes: Sizes = tx.one("sizes_to_check")
    audit = Audit()
    book.check("references", sizes.tasks, _rows(tx, "references_wrong"))
    book.check("briefs", sizes.tasks, _briefs(tx, book))
    book.check("receipts", sizes.results, _receipts(tx, book, audit))
    book.check("receipts", sizes.results, _rows(tx, "results_twice"))
    book.check("leases", sizes.leases, _rows(tx, "leases_wrong"))
    book.check("waits", sizes.tasks, _rows(tx, "waits_wrong"))
    book.check("waits", sizes.tasks, _rows(tx, "waiting_wrong"))
    book.check("waits", sizes.tasks, _rows(tx, "relatives_wrong"))
    book.check("counts", sizes.queues, _counts(tx))
    book.check("events", sizes.events, _events(tx, book, audit))
    book.check("tasks", sizes.tasks, _tasks(tx, book, audit))
    book.check("records", sizes.records, _rows(tx, "record_chains_wrong"))
    book.check("tombstones", sizes.records, _rows(tx, "tombstones_wrong", tombstones=TOMBSTONES))
    book.check("documents", sizes.records, _rows(tx, "documents_wrong"))
    files: BlobSizes = tx.one("blob_sizes_to_check")
    book.check("blobs", files.blobs, _blobs(tx, book))
    book.check("blobs", files.blobs, _rows(tx, "chunks_wrong"))
    book.check("objects", files.objects, _rows(tx, "object_chains_wrong"))
    book.check("buckets", files.buckets, _rows(tx, "buckets_wrong"))
    book.check("nouns", sizes.records + files.objects, _nouns(tx))
    book.check("feeds", files.feeds, _rows(tx, "feeds_wrong", restored=EVENT_NUMBER["store_restored"]))
    book.check("topics", files.topics, _rows(tx, "topics_wrong"))


def _damage(tx: Transaction) -> Iterator[tuple[str, str]]:
    """What SQLite finds. Over pages that are badly damaged it stops, which is a finding too."""
    try:
        said = [row.value for row in tx.all("pages_wrong")]
    except Exception as error:
        said = [f"cannot be read through: {error}"]
    yield from (("file", line) for line in said if line != "ok")


class _Book:
    """What has been looked at and what was wrong with it."""

    def __init__(self, tell: Tell) -> None:
        self._tell = tell
        self._now = ("", 0)
        self.checks: dict[str, Check] = {}
        self.findings: list[Finding] = []

    @property
    def sound(self) -> bool:
        """Whether nothing was wrong so far."""
        return not self.findings

    def check(self, name: str, size: int, wrongs: Wrongs) -> None:
        """Make a check of about so many things; keep the first of what is wrong."""
        self._now = (name, size)
        self._tell(name, 0, size)
        for thing, says in wrongs:
            self.note(name, thing, says)
        known = self.checks.get(name, Check(name, 0, 0))
        self.checks[name] = Check(name, max(size, known.looked_at), known.wrong)
        self._tell(name, size, size)

    def at(self, looked_at: int) -> None:
        """So many things of the check under way are looked at."""
        self._tell(self._now[0], looked_at, self._now[1])

    def note(self, name: str, thing: str, says: str) -> None:
        """Something is wrong."""
        known = self.checks.get(name, Check(name, 0, 0))
        self.checks[name] = Check(name, known.looked_at, known.wrong + 1)
        if known.wrong < FINDINGS_PER_CHECK_MAX:
            self.findings.append(Finding(name, thing, says))


def _rows(tx: Transaction, name: str, **params: object) -> Wrongs:
    """What a statement that answers with wrong things says."""
    return ((row.thing, row.says) for row in tx.all(name, **params))


def _pages(
    tx: Transaction, book: _Book, name: str, key: str, limit: int, first: object = -(1 << 63)
) -> Iterator[Any]:
    """Every row of a statement that pages by `after`, in the order of its key; `first` is before them all."""
    after, seen = first, 0
    while rows := tx.all(name, after=after, limit=limit):
        yield from rows
        after, seen = getattr(rows[-1], key), seen + len(rows)
        book.at(seen)


def _briefs(tx: Transaction, book: _Book) -> Iterator[tuple[str, str]]:
    row: BriefToCheck
    for row in _pages(tx, book, "briefs_page", "serial", VERIFY_BYTES_PAGE):
        if row.brief is None:
            yield f"task {row.task_id}", "has no brief"
        elif (found := hashlib.sha256(row.brief).hexdigest()) != row.sha256:
            yield f"task {row.task_id}", f"keeps {row.sha256} of its brief, which has {found}"


def _receipts(tx: Transaction, book: _Book, audit: Audit) -> Iterator[tuple[str, str]]:
    row: ResultToCheck
    for row in _pages(tx, book, "results_page", "result", VERIFY_BYTES_PAGE):
        thing = f"result {result_id(row.result)}"
        audit.result(row.serial, bool(row.ok))
        if row.task_id is None:
            yield thing, "is of a task that does not exist"
            continue
        if (found := _receipt(row, row.task_id)) != row.sha256:
            yield thing, f"of task {row.task_id} keeps receipt {row.sha256}, computed {found}"


def _receipt(row: ResultToCheck, task_id: str) -> str:
    """A result's receipt, computed again; a text that is none has no receipt."""
    try:
        error = None if row.error is None else row.error.decode()
        return receipt_hash(task_id, row.fencing_token, bool(row.ok), row.output.decode(), error)
    except (UnicodeDecodeError, TesseraError):
        return "none, since it is no text"


def _counts(tx: Transaction) -> Iterator[tuple[str, str]]:
    kept, counted = ({row.name: row for row in tx.all(name)} for name in ("counts", "recount"))
    for name in sorted(kept.keys() | counted.keys()):
        if name not in kept:
            yield f"queue {name}", "has no counts"
            continue
        for state in STATES:
            told, found = getattr(kept[name], state), getattr(counted[name], state)
            if told != found:
                yield f"queue {name}", f"counts {told} {state}, there are {found}"


def _blobs(tx: Transaction, book: _Book) -> Iterator[tuple[str, str]]:
    row: BlobRow
    for row in _pages(tx, book, "blobs_to_check", "sha256", VERIFY_BYTES_PAGE, ""):
        if not intact(tx, row):
            yield f"blob {row.sha256}", f"does not match its hash, or is not of {row.size} bytes"


def _nouns(tx: Transaction) -> Iterator[tuple[str, str]]:
    """Where the index of nouns differs from the heads; what an upgrade has left may be absent."""
    yield from _rows(tx, "nouns_wrong", all_indexed=int(not recall.left(tx)))
    yield from _rows(tx, "nouns_unindexed")


def _events(tx: Transaction, book: _Book, audit: Audit) -> Iterator[tuple[str, str]]:
    for row in _pages(tx, book, "events_to_check", "seq", VERIFY_ROWS_PAGE):
        yield from audit.line(row)


def _tasks(tx: Transaction, book: _Book, audit: Audit) -> Iterator[tuple[str, str]]:
    for row in _pages(tx, book, "tasks_to_check", "serial", VERIFY_ROWS_PAGE):
        yield from audit.task(row)
