"""doctor: what is wrong with a store, in plain words, and what to do about it."""

from __future__ import annotations

from collections.abc import Iterator

from tessera.errors import TesseraError
from tessera.limits import (
    BUSY_SECONDS_MAX,
    CLOCK_BEHIND_SECONDS,
    DISK_BYTES_SPARE,
    REAP_SECONDS_MAX,
    SECOND_US,
    WAL_BYTES_LARGE,
)
from tessera.models import Advice, Diagnosis
from tessera.rows import Late, Numbers
from tessera.runtime import Runtime
from tessera.storage.port import Transaction
from tessera.storage.probe import Facts, probe
from tessera.storage.readers import look_at_file

_RESTORE = "restore a backup: tessera restore FILE --force"


def doctor(path: str, runtime: Runtime, *, patience_seconds: float = BUSY_SECONDS_MAX) -> Diagnosis:
    """Look a store over from the outside in: its file, its disk, its locks, its pages, its time, what is late
    in it. Changes nothing.
    """
    facts = probe(path, int(patience_seconds * 1_000))
    advice = [*_file(facts, path), *_disk(facts)]
    if facts.is_store and facts.refusal is None:
        advice += [*_pages(facts), *_log(facts), *_locks(facts)]
        if facts.schema == facts.schema_known and not facts.damage:
            advice += _inside(path, runtime)
    return Diagnosis(ok=all(one.level != "act" for one in advice), store=path, advice=advice)


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


def _disk(facts: Facts) -> Iterator[Advice]:
    if facts.free_bytes is not None:
        says = f"{_size(facts.free_bytes)} are free on the store's disk"
        if facts.free_bytes < DISK_BYTES_SPARE:
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


def _log(facts: Facts) -> Iterator[Advice]:
    says = f"the write-ahead log holds {_size(facts.wal_bytes)}"
    if facts.wal_bytes < 2 * WAL_BYTES_LARGE:
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


def _inside(path: str, runtime: Runtime) -> list[Advice]:
    try:
        advice: list[Advice] = look_at_file(path, runtime, _late)
    except TesseraError as refusal:
        return [Advice("store", "act", refusal.detail, "tessera verify says more")]
    return advice


def _late(tx: Transaction, runtime: Runtime) -> list[Advice]:
    """A look: the clock, and what time has come for."""
    return [_clock(tx, runtime), *overdue(tx, runtime)]


def _clock(tx: Transaction, runtime: Runtime) -> Advice:
    numbers: Numbers = tx.one("numbers")
    wall = runtime.now_us()
    behind = (numbers.last_instant - wall) / SECOND_US
    if behind > CLOCK_BEHIND_SECONDS:
        says = (
            f"this machine's clock is {behind:.0f} s behind the store's last instant; time there stands still"
        )
        do = "set the clock; until then no lease lapses and nothing delayed starts"
        return Advice("clock", "act", says, do)
    return Advice("clock", "fine", "this machine's clock is not behind the store's")


def overdue(tx: Transaction, runtime: Runtime) -> list[Advice]:
    """A look: what time has come for."""
    advice: list[Advice] = []
    reaped = tx.one("reaper_last_run")
    ran = "never ran" if reaped is None else f"last ran {_ago(tx.now - reaped.value)} ago"
    late: list[Late] = tx.all("late", now=tx.now)
    waiting = [one for one in late if tx.now - one.since > REAP_SECONDS_MAX * SECOND_US]
    for one in late:
        what = f"{one.expired_leases} expired leases and {one.overdue_tasks} overdue tasks"
        says = f"queue {one.queue} has {what}, the first since {_ago(tx.now - one.since)}"
        do = "tessera reap settles them; so does the next claim of the queue"
        advice.append(Advice("late", "act" if one in waiting else "note", says, do))
    if waiting:
        do = "run the service, which reaps, or tessera reap every minute"
        advice.append(Advice("reaper", "act", f"the reaper {ran}, and something is waiting for it", do))
    else:
        waits = "what is late has not waited long" if late else "nothing waits for it"
        advice.append(Advice("reaper", "fine", f"the reaper {ran}, and {waits}"))
    return advice


def _ago(us: int) -> str:
    return f"{us // SECOND_US} s"


def _size(count: int) -> str:
    return f"{count / (1 << 20):,.1f} MiB"


def _pids(pids: frozenset[int]) -> str:
    return ", ".join(map(str, sorted(pids)))
