"""doctor: what is wrong with a store, in plain words, and what to do about it."""

from __future__ import annotations

from collections.abc import Iterator

from tessera import figures
from tessera.errors import TesseraError
from tessera.limits import (
    BUSY_SECONDS_MAX,
    CLOCK_BEHIND_SECONDS,
    DISK_BYTES_SPARE,
    REAP_SECONDS_MAX,
    WAL_BYTES_LARGE,
)
from tessera.models import Advice, Diagnosis, FileFigures, TimeFigures
from tessera.runtime import Runtime
from tessera.steps import recall
from tessera.storage.port import Transaction
from tessera.storage.probe import Facts, probe
from tessera.storage.readers import look_at_file

_RESTORE = "restore a backup: tessera restore FILE --force"


def doctor(path: str, runtime: Runtime, *, patience_seconds: float = BUSY_SECONDS_MAX) -> Diagnosis:
    """Look a store over from the outside in: its file, its disk, its locks, its pages, its time, what is late
    in it. Changes nothing.
    """
    facts, files, times = probe(path, int(patience_seconds * 1_000)), figures.of_files(path), None
    advice = [*_file(facts, path), *_disk(files)]
    if facts.is_store and facts.refusal is None:
        advice += [*_pages(facts), *_log(facts, files), *_locks(facts)]
        if facts.schema == facts.schema_known and not facts.damage:
            try:
                times = look_at_file(path, runtime, figures.of_time)
                advice += [*_clock(times), *late(times)]
                advice += look_at_file(path, runtime, nouns)
            except TesseraError as refusal:
                advice.append(Advice("store", "act", refusal.detail, "tessera verify says more"))
    ok = all(one.level != "act" for one in advice)
    return Diagnosis(ok=ok, store=path, advice=advice, files=files, times=times)


def _file(facts: Facts, path: str) -> Iterator[Advice]:
    act = _refusal(facts, path)
    if act is not None:
        yield act
    elif facts.schema is not None and facts.schema < facts.schema_known:
        says = (
            f"the store is of an older version (schema {facts.schema}, this one knows {facts.schema_known})"
        )
        yield Advice(
            "file", "note", says, "it is brought up to date when it is next opened; back it up first"
        )
    else:
        yield Advice("file", "fine", f"{path} is a store of this version")
    if facts.left_behind:
        says = f"a copy was cut off and left {', '.join(facts.left_behind)}"
        yield Advice("file", "note", says, "delete it, unless a backup or a restore is running now")


def _refusal(facts: Facts, path: str) -> Advice | None:
    """Why the store cannot be used at all."""
    says, do = None, None
    if not facts.folder_exists:
        says, do = f"there is no folder for {path}", "make the folder, or name another store"
    elif not facts.exists:
        says, do = (
            f"there is no store at {path}",
            "name another with --store, or make one: tessera queues define NAME",
        )
    elif not facts.is_file:
        says, do = f"{path} is no file", "name the store's file with --store"
    elif not facts.readable:
        says, do = (
            f"{path} may not be read by this user",
            "run as the store's user, or change its permissions",
        )
    elif facts.refusal is not None:
        says, do = facts.refusal, _RESTORE if facts.is_store else f"if it was a store, {_RESTORE}"
    elif not facts.is_store:
        says, do = f"{path} is a database, but no Tessera store", "name the store's file with --store"
    elif facts.schema is not None and facts.schema > facts.schema_known:
        says = f"the store was written by a newer Tessera (schema {facts.schema}, this one knows "
        says, do = f"{says}{facts.schema_known})", "upgrade Tessera, or restore a backup made before"
    elif not facts.writable:
        says, do = (
            f"{path} may not be written by this user",
            "run as the store's user, or change its permissions",
        )
    elif not facts.folder_writable:
        says = f"the folder of {path} may not be written, where SQLite keeps its log"
        do = "change the folder's permissions"
    return None if says is None else Advice("file", "act", says, do)


def _disk(files: FileFigures) -> Iterator[Advice]:
    if files.disk_free_bytes is not None:
        says = f"{_size(files.disk_free_bytes)} are free on the store's disk"
        if files.disk_free_bytes < DISK_BYTES_SPARE:
            yield Advice("disk", "act", says, f"make room: below {_size(DISK_BYTES_SPARE)} verbs soon fail")
        else:
            yield Advice("disk", "fine", says)


def _pages(facts: Facts) -> Iterator[Advice]:
    if facts.damage:
        says = f"the file is damaged: {'; '.join(facts.damage)}"
        yield Advice(
            "pages", "act", says, f"stop everything that uses it, keep a copy of the file, then {_RESTORE}"
        )
    else:
        yield Advice("pages", "fine", "SQLite finds no damage; tessera verify looks at the contents")


def _log(facts: Facts, files: FileFigures) -> Iterator[Advice]:
    says = f"the write-ahead log holds {_size(files.wal_bytes)}"
    if files.wal_bytes < 2 * WAL_BYTES_LARGE:
        yield Advice("log", "fine", says)
        return
    if facts.holders.reading:
        says += (
            f", and process {_pids(facts.holders.reading)} reads an old state, which keeps it from shrinking"
        )
    yield Advice("log", "act", says, "end the reader that has been at it longest, or reopen the store")


def _locks(facts: Facts) -> Iterator[Advice]:
    held = facts.holders
    if facts.locked:
        by = f" by process {_pids(held.writing)}" if held.writing else " by another process"
        says = f"the write lock has been held{by} for {BUSY_SECONDS_MAX} seconds: no verb can run"
        yield Advice(
            "locks", "act", says, "wait for that process, or end it: what it has not committed is undone"
        )
    elif held.present:
        yield Advice(
            "locks", "fine", f"open in process {_pids(held.present)}; nobody holds the write lock for long"
        )
    else:
        yield Advice("locks", "fine", "nobody holds the write lock")


def _clock(times: TimeFigures) -> Iterator[Advice]:
    behind = times.clock_behind_seconds
    if behind > CLOCK_BEHIND_SECONDS:
        says = (
            f"this machine's clock is {behind:.0f} s behind the store's last instant; time there stands still"
        )
        do = "set the clock; until then no lease lapses and nothing delayed starts"
        yield Advice("clock", "act", says, do)
    else:
        yield Advice("clock", "fine", "this machine's clock is not behind the store's")


def late(times: TimeFigures) -> Iterator[Advice]:
    """What time has come for, and whether somebody sees to it."""
    ago = times.reaped_seconds_ago
    ran = "never ran" if ago is None else f"last ran {int(ago)} s ago"
    overdue = False
    for queue, one in times.late.items():
        what = f"{one.expired_leases} expired leases and {one.overdue_tasks} overdue tasks"
        says = f"queue {queue} has {what}, the first since {int(one.late_seconds)} s"
        do = "tessera reap settles them; so does the next claim of the queue"
        is_overdue = one.late_seconds > REAP_SECONDS_MAX
        overdue = overdue or is_overdue
        yield Advice("late", "act" if is_overdue else "note", says, do)
    if overdue:
        do = "run the service, which reaps, or tessera reap every minute"
        yield Advice("reaper", "act", f"the reaper {ran}, and something is waiting for it", do)
    else:
        waits = "what is late has not waited long" if times.late else "nothing waits for it"
        yield Advice("reaper", "fine", f"the reaper {ran}, and {waits}")


def nouns(tx: Transaction, runtime: Runtime) -> list[Advice]:
    """A look: whether everything can be found by its words."""
    if not recall.left(tx):
        return []
    says = "an upgrade has left records and objects that cannot be found by their words yet"
    return [Advice("nouns", "note", says, "run the service, which indexes them, or tessera reap")]


def _size(count: int) -> str:
    return f"{count / (1 << 20):,.1f} MiB"


def _pids(pids: frozenset[int]) -> str:
    return ", ".join(map(str, sorted(pids)))
