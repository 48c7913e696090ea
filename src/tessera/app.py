"""The composition root: the only place that picks an engine and a runtime."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from importlib.util import find_spec
from typing import Any, BinaryIO

from tessera import diagnosis, models, traces, upkeep
from tessera.acts.act import carry_out
from tessera.acts.bodies import hash_of, takes
from tessera.errors import InvalidRequest, ScopeDenied
from tessera.library import Tessera
from tessera.library.upkeep import Keeper, Tell, quietly
from tessera.limits import SECOND_US
from tessera.lite.chosen import chosen, later
from tessera.lite.local import LOCAL
from tessera.lite.log import OrderedLog
from tessera.models import Model
from tessera.names import HOW_TO_GET_POSTGRES
from tessera.rules import tracing, waits
from tessera.rules.grants import OWNER, Caller
from tessera.runtime import Runtime, real_runtime
from tessera.settings import from_environ
from tessera.steps.keys import digest
from tessera.storage.direct import DirectEngine
from tessera.storage.moving.tables import Source, Target
from tessera.storage.port import Engine, EngineOnLoop, Verb
from tessera.store_urls import Where, chosen_url, file_of, is_database, is_service, path_of
from tessera.surface import SURFACE, caller_for

WAIT_LOOK_SECONDS = 0.1  # between two looks of a verb that waits


def open(url: Where | None = None, *, key: str | None = None, runtime: Runtime | None = None) -> Tessera:
    """Open a store: a path, `sqlite:///path`, `postgresql://…`, or the `http://` or `https://` URL of a
    running service; by default what TESSERA_STORE names, else `./tessera.db`.

    With `key`, a bearer secret, the store is its holder's to see. Without one, a file is its owner's, and a
    service is asked with the key in TESSERA_KEY. Refuses an unknown kind of URL with `invalid_request`, and a
    file that is no store or a newer one's with `unavailable`; a service is reached when first asked.
    """
    url = chosen_url(url)
    if is_service(url):
        from tessera.client import Client  # what a local store need not load

        return Client(url, key, runtime=runtime)
    store = Tessera(_door(url, runtime or real_runtime()))
    return store if key is None else store.as_key(key)


def serve(
    *, started: Callable[[str], None], tls: tuple[str, str] | None = None, insecure: bool = False,
    runtime: Runtime | None = None, beside: Iterable[Callable[[], Iterable[Any]]] = (), **given: Any,
) -> None:  # fmt: skip
    """Serve a store over HTTP until SIGTERM; `started` is called with the URL once it answers. Settings come
    from the environment; those `given` by name (not None) count more. `tls` names the files of a certificate
    and its key. Each of `beside` gives the `Gauge`s of something that runs beside the service. Refuses wrong
    settings with `invalid_request`.
    """
    from tessera.service import lifecycle  # a server is loaded by whoever serves, and by nobody else

    settings = from_environ(os.environ, **given)
    real = runtime or real_runtime()
    files = None if tls is None else lifecycle.Tls(*tls)
    opens = _opens_on_loop(settings.store, real)
    lifecycle.serve(
        opens, settings, real, started, tls=files, insecure=insecure, beside=beside, log=chosen(real)
    )


def restore(
    file: str | os.PathLike[str], url: Where | None = None, *, force: bool = False, unsound: bool = False,
    tell: Tell = quietly, runtime: Runtime | None = None,
) -> models.Restored:  # fmt: skip
    """Make a store of a backup. The backup's leases end, and every token, event number and result number from
    here on is above all that were handed out since. A store that exists is replaced only with `force`, one
    that is in use never; a backup with something wrong in it is taken only with `unsound`.
    """
    path = file_of(url)
    runtime = runtime or real_runtime()
    return upkeep.restore(path, os.fsdecode(file), runtime, force=force, unsound=unsound, tell=tell)


def new_epoch(url: Where | None = None, *, runtime: Runtime | None = None) -> models.Epoch:
    """Begin a new epoch in a store that something else than `restore` has brought back, such as `pg_restore`:
    its leases end, and every token, event number and result number from here on is above all that were handed
    out since. Nobody should work with the store meanwhile; while anybody has a database open, it is refused
    with `unavailable`.
    """
    existing(url)
    if is_service(chosen_url(url)):
        raise InvalidRequest("this is done on the store's own machine: name its file or database")
    runtime = runtime or real_runtime()
    if is_database(chosen_url(url)):
        _needs_psycopg()
        from tessera.storage.postgres.alone import alone

        alone(chosen_url(url), runtime)
    door = _door(chosen_url(url), runtime)
    try:
        return door.keeper().new_epoch()
    finally:
        door.close()


def migrate_store(
    source: Where,
    target: Where,
    *,
    unsound: bool = False,
    tell: Tell = quietly,
    runtime: Runtime | None = None,
) -> models.Moved:
    """Move a whole store from one URL to another, SQLite to PostgreSQL or back: every row, number and receipt
    stays what it was. Nobody may use either of them meanwhile. What was cut off goes on where it stopped when
    it is called again. Both sides are compared and the new store verified before anybody can open it; the old
    one is left as it is. Refuses a target that holds something, with `invalid_request`, and a store that is
    in use, or (unless `unsound`) has something wrong in it, with `unavailable`.
    """
    from tessera import transfer
    from tessera.storage.backup import refusals

    runtime = runtime or real_runtime()
    with refusals(), ExitStack() as both:
        comes_from = _source(chosen_url(source), runtime)
        both.callback(comes_from.close)
        goes_to = _target(chosen_url(target), runtime)
        both.callback(goes_to.close)
        return transfer.move(comes_from, goes_to, runtime, unsound=unsound, tell=tell)


def doctor(url: Where | None = None, *, runtime: Runtime | None = None) -> models.Diagnosis:
    """What is wrong with a store, in plain words. Changes nothing, and needs no store that opens."""
    if is_database(chosen_url(url)):
        _needs_psycopg()
        from tessera import diagnosis_postgres

        return diagnosis_postgres.doctor(chosen_url(url), runtime or real_runtime())
    return diagnosis.doctor(file_of(url), runtime or real_runtime())


def existing(url: Where | None = None) -> None:
    """Refuse, as `not_found`, a store whose file was never made: what looks a store over makes none. A
    database is there before any store is in it.
    """
    if not is_database(chosen_url(url)):
        upkeep.existing(file_of(url))


class DirectDoor:
    """The store in this process, for its owner or for the holder of a key."""

    def __init__(
        self, engine: Engine, runtime: Runtime, keeper: Keeper | None = None,
        secret_sha256: str | None = None, log: OrderedLog = LOCAL,
    ) -> None:  # fmt: skip
        self._log = log
        self._engine = engine
        self._runtime = runtime
        self._keeper = keeper
        self._secret_sha256 = secret_sha256

    def call(self, verb: str, ask: bytes, body: bytes | BinaryIO = b"") -> Any:
        """Run a verb of the surface; its answer is durable. One that may wait looks again and again: nobody
        tells a process what another one does to its file.
        """
        row = SURFACE[verb]
        run, caller = _GUARDED[verb], self._caller()  # whose key does not count learns nothing else
        asked: Model = tracing.of_tasks(models.decode(ask, row.ask), traces.current())
        if row.body == "bytes":
            return carry_out(row.verb(asked, hash_of(body)), self._engine, caller, takes(body))
        if row.takes_steps:
            return carry_out(row.verb(asked, self._log), self._engine, caller, rest=self._runtime.sleep)
        wait_us = int(waits.seconds(asked) * SECOND_US)
        until_us = self._runtime.elapsed_us() + wait_us
        while True:
            read, submit = self._engine.read, self._engine.submit
            answer = read(run, caller, asked) if row.reads else submit(run, caller, asked).result()
            left = (until_us - self._runtime.elapsed_us()) / SECOND_US
            if left <= 0 or waits.is_enough(answer):
                return answer
            self._runtime.sleep(min(left, WAIT_LOOK_SECONDS))
            caller = self._caller()

    def as_key(self, secret: str) -> DirectDoor:
        """The same store for the holder of a key."""
        return DirectDoor(self._engine, self._runtime, self._keeper, digest(secret), self._log)

    def keeper(self) -> Keeper:
        """Who looks after the store as a whole, for its owner."""
        if self._secret_sha256 is not None:
            raise ScopeDenied("only the store's owner may do this, on the store's machine")
        if self._keeper is None:
            raise InvalidRequest("this store was opened without its file")
        return self._keeper

    def close(self) -> None:
        """Let go of the store."""
        self._engine.close()
        self._log.close()

    def _caller(self) -> Caller:
        secret = self._secret_sha256
        return OWNER if secret is None else self._engine.read(caller_for, secret)


_GUARDED: dict[str, Verb] = {name: row.run() for name, row in SURFACE.items()}


def _door(url: str, runtime: Runtime) -> DirectDoor:
    if is_database(url):
        return _database_door(url, runtime)
    path = path_of(url)
    engine, log = DirectEngine(path, runtime), later(runtime)
    return DirectDoor(engine, runtime, upkeep.Keeper(path, engine, runtime, log), log=log)


def _database_door(url: str, runtime: Runtime) -> DirectDoor:
    _needs_psycopg()
    from tessera.storage.postgres.engine import PostgresEngine

    engine, log = PostgresEngine(url, runtime), later(runtime)
    return DirectDoor(engine, runtime, upkeep.DatabaseKeeper(engine, log), log=log)


def _opens_on_loop(url: str, runtime: Runtime) -> Callable[[asyncio.AbstractEventLoop], EngineOnLoop]:
    if is_database(url):
        _needs_psycopg()
        from tessera.storage.postgres.engine import PostgresLoopEngine

        return lambda loop: PostgresLoopEngine(url, runtime, loop)
    from tessera.storage.loop import LoopEngine

    path = file_of(url)
    return lambda loop: LoopEngine(path, runtime, loop)


def _source(url: str, runtime: Runtime) -> Source:
    if is_database(url):
        _needs_psycopg()
        from tessera.storage.moving.postgres import PostgresSource

        return PostgresSource(url, runtime)
    from tessera.storage.moving.sqlite import SqliteSource

    return SqliteSource(upkeep.existing(file_of(url)), runtime)


def _target(url: str, runtime: Runtime) -> Target:
    if is_database(url):
        _needs_psycopg()
        from tessera.storage.moving.postgres import PostgresTarget

        return PostgresTarget(url, runtime)
    from tessera.storage.moving.sqlite import SqliteTarget

    return SqliteTarget(file_of(url), runtime)


def _needs_psycopg() -> None:
    if find_spec("psycopg") is None:
        raise InvalidRequest(f"a store on PostgreSQL needs psycopg: {HOW_TO_GET_POSTGRES}")
