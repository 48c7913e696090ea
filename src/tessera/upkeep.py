"""What is done to a store's file as a whole: back it up, bring it back, look it over. (Contract §1.)

Each takes a path, may take long, and tells how far it is: `tell(what, done, of)`.
"""

from __future__ import annotations

import os
from dataclasses import replace
from typing import NoReturn

from tessera.acts.act import carry_out
from tessera.errors import InvalidRequest, NotFound, Unavailable
from tessera.library.upkeep import Tell, quietly
from tessera.lite.local import LOCAL
from tessera.lite.log import OrderedLog
from tessera.lite.verifying import verify_topics
from tessera.models import BackedUp, Epoch, MadeTopic, Restored, TopicsVerified, Verified
from tessera.rows import Numbers
from tessera.rules.grants import OWNER
from tessera.runtime import Runtime, rfc3339_or_none
from tessera.settings import log_from_environ
from tessera.storage import backup as copies
from tessera.storage import files
from tessera.storage.direct import DirectEngine
from tessera.storage.port import Engine, Transaction
from tessera.storage.readers import look_at_file
from tessera.verbs.restore import store_restored
from tessera.verbs.verify import verify


class _AnyKeeper:
    """What is done alike for a store in a file and on a database."""

    def __init__(self, engine: Engine, log: OrderedLog = LOCAL) -> None:
        self._engine = engine
        self._log = log

    def verify(self, tell: Tell) -> Verified:
        """Everything that the store claims about itself, computed again."""
        verified: Verified = self._engine.read(verify, tell)
        return verified

    def new_epoch(self) -> Epoch:
        """From now on nothing counts that was handed out before."""
        epoch: Epoch = self._engine.submit(store_restored, 0, "[]").result()
        return epoch

    def make_topic(self) -> MadeTopic:
        """A topic for a role, on the network that lite claims go to."""
        return MadeTopic(carry_out(self._log.make_topic(), self._engine, OWNER))

    def verify_topics(self, topic_id: str | None, mirror: str | None, tell: Tell) -> TopicsVerified:
        """Every topic of lite claims, or one: its rows, its winners and the store's claims."""
        if mirror is None:
            return carry_out(verify_topics(topic_id, self._log, tell), self._engine, OWNER)
        from tessera.lite.mirror import MirrorLog  # what the store's own log need not load

        log = MirrorLog(mirror, log_from_environ(os.environ).hedera_account)
        try:
            return carry_out(verify_topics(topic_id, log, tell), self._engine, OWNER)
        finally:
            log.close()


class Keeper(_AnyKeeper):
    """Looks after a store that is open in this process."""

    def __init__(self, path: str, engine: Engine, runtime: Runtime, log: OrderedLog = LOCAL) -> None:
        super().__init__(engine, log)
        self._path = path
        self._runtime = runtime

    def backup(self, file: str, *, force: bool, unsound: bool, tell: Tell) -> BackedUp:
        """A copy of the store's file, checked."""
        return backup(self._path, file, self._runtime, force=force, unsound=unsound, tell=tell)


class DatabaseKeeper(_AnyKeeper):
    """Looks after a store on PostgreSQL, as far as that is not the database's own business."""

    def backup(self, file: str, *, force: bool, unsound: bool, tell: Tell) -> NoReturn:
        """PostgreSQL has better means than a copy by us: refused, saying which."""
        raise InvalidRequest(
            "a store on PostgreSQL is backed up by PostgreSQL: pg_dump --format=custom for a copy as of one "
            "instant, pg_basebackup with an archive of the log to come back to any"
        )


def backup(
    path: str,
    file: str,
    runtime: Runtime,
    *,
    force: bool = False,
    unsound: bool = False,
    tell: Tell = quietly,
) -> BackedUp:
    """Copy the store at `path`, which may be in use, as of one instant, into `file`: written under another
    name, verified, synced, then renamed, so `file` is whole or is what it was. Refuses a file that exists
    (unless `force`), one that is used as a store, and the store itself with `invalid_request`; a disk that
    does not take it, or a store with something wrong in it (unless `unsound`), with `unavailable`.
    """
    _may_be_written(path, file, force)
    with copies.refusals(), files.partial(file, runtime, 0o600) as made:
        copies.copy(path, made, tell)
        runtime.reach("backup.copied")
        files.sync(made)
        verified, numbers = look_at_file(made, runtime, _checked, tell)
        if not (verified.ok or unsound):
            _refuse_unsound(verified, "the store is not sound, so no backup was made")
        size = os.stat(made).st_size
        runtime.reach("backup.checked")
        files.put_in_place(made, file, replace=force)
        runtime.reach("backup.placed")
    return BackedUp(file, size, numbers.last_seq, rfc3339_or_none(numbers.last_event_at), verified)


def restore(
    path: str,
    file: str,
    runtime: Runtime,
    *,
    force: bool = False,
    unsound: bool = False,
    tell: Tell = quietly,
) -> Restored:
    """Make the store at `path` of a backup: a copy is brought to this version, verified, and begins a new
    epoch, in which nothing counts that was handed out since the backup; then it takes its place in one step.
    Refuses a store that exists (unless `force`) or is in use, and an unsound backup (unless `unsound`).
    """
    _may_be_replaced(path, file, force)
    with copies.refusals(), copies.target(path) as target, files.partial(path, runtime, 0o666) as made:
        copies.copy(file, made, tell)
        runtime.reach("restore.copied")
        epoch = _begin_epoch(made, runtime, target.outlived, unsound, tell)
        files.sync(made)
        runtime.reach("restore.synced")
        replaced = os.path.lexists(path)
        target.put(made, runtime.reach)
    return Restored(path, file, replaced, target.moved_aside, epoch)


def existing(path: str) -> str:
    """The path, if there is a file; a store that was never made is not there to be looked at."""
    if not os.path.exists(path):
        raise NotFound(f"there is no store at {path}: name another, or make one (tessera queues define NAME)")
    return path


def _begin_epoch(made: str, runtime: Runtime, outlived: copies.Outlived, unsound: bool, tell: Tell) -> Epoch:
    def now_us() -> int:
        return max(runtime.now_us(), outlived.last_instant)

    engine = DirectEngine(made, replace(runtime, now_us=now_us))
    try:
        verified: Verified = engine.read(verify, tell)
        if not (verified.ok or unsound):
            _refuse_unsound(verified, "the backup is not sound, so nothing was changed")
        epoch: Epoch = engine.submit(store_restored, outlived.highest, outlived.revoked).result()
        return epoch
    finally:
        engine.close()


def _checked(tx: Transaction, runtime: Runtime, tell: Tell) -> tuple[Verified, Numbers]:
    return verify(tx, runtime, tell), tx.one("numbers")


def _refuse_unsound(verified: Verified, what: str) -> NoReturn:
    found = verified.findings[0]
    raise Unavailable(f"{what}: {found.thing} {found.says} (--unsound does it all the same)", definite=True)


def _may_be_written(path: str, file: str, force: bool) -> None:
    existing(path)
    _has_folder(file)
    if any(files.same(path + end, file) for end in ("", *files.SIDECARS)):
        raise InvalidRequest("a store is not backed up onto itself: name another file")
    if not force:
        files.refuse_taken(file)
    if any(os.path.lexists(file + end) for end in files.SIDECARS):
        raise InvalidRequest(f"{file} is used as a store, or was: name another file")


def _may_be_replaced(path: str, file: str, force: bool) -> None:
    if not os.path.exists(file):
        raise NotFound(f"there is no backup at {file}")
    if os.path.isdir(file):
        raise InvalidRequest(f"{file} is a folder: name the backup's file")
    _has_folder(path)
    if files.same(path, file):
        raise InvalidRequest("a store is not restored from itself: name the backup's file")
    if not force:
        files.refuse_taken(path)


def _has_folder(file: str) -> None:
    if "\0" in file:
        raise InvalidRequest("a file's name holds no NUL")
    if os.path.isdir(file):
        raise InvalidRequest(f"{file} is a folder: name a file")
    if os.path.exists(file) and not os.path.isfile(file):
        raise InvalidRequest(f"{file} is a device, a pipe or a socket: name a file")
    if not files.folder_of(file).is_dir():
        raise InvalidRequest(f"there is no folder {files.folder_of(file)}")
