"""The composition root: the only place that picks an engine and a runtime."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from tessera import models
from tessera.errors import InvalidRequest
from tessera.library import Tessera
from tessera.models import Model
from tessera.rules.grants import OWNER, Caller
from tessera.runtime import Runtime, real_runtime
from tessera.settings import from_environ
from tessera.steps.keys import digest
from tessera.storage.direct import DirectEngine
from tessera.storage.port import Engine, Verb
from tessera.surface import SURFACE, caller_for

DEFAULT_STORE = "tessera.db"


def open(url: str | None = None, *, runtime: Runtime | None = None) -> Tessera:
    """Open a store: a path or `sqlite:///path`, by default what TESSERA_STORE names, else `./tessera.db`.
    Refuses an unknown kind of URL with `invalid_request`, and a file that is no store or a newer one's with
    `unavailable`.
    """
    path = _path(url or os.environ.get("TESSERA_STORE") or DEFAULT_STORE)
    return Tessera(DirectDoor(DirectEngine(path, runtime or real_runtime())))


def serve(
    *, started: Callable[[str], None], tls: tuple[str, str] | None = None, insecure: bool = False,
    runtime: Runtime | None = None, **given: Any,
) -> None:  # fmt: skip
    """Serve a store over HTTP until SIGTERM; `started` is called with the URL once it answers. Settings come
    from the environment; those `given` by name (not None) count more. `tls` names the files of a certificate
    and its key. Refuses wrong settings with `invalid_request`.
    """
    from tessera.service import lifecycle  # a server is loaded by whoever serves, and by nobody else
    from tessera.storage.loop import LoopEngine

    settings = from_environ(os.environ, **given)
    path, real = _path(settings.store), runtime or real_runtime()
    files = None if tls is None else lifecycle.Tls(*tls)
    lifecycle.serve(
        lambda loop: LoopEngine(path, real, loop), settings, real, started, tls=files, insecure=insecure
    )


class DirectDoor:
    """The store in this process, for its owner or for the holder of a key."""

    def __init__(self, engine: Engine, secret_sha256: str | None = None) -> None:
        self._engine = engine
        self._secret_sha256 = secret_sha256

    def call(self, verb: str, ask: bytes) -> Any:
        """Run a verb of the surface; its answer is durable."""
        row = SURFACE[verb]
        run, caller = _GUARDED[verb], self._caller()  # whose key does not count learns nothing else
        asked: Model = models.decode(ask, row.ask)
        if row.reads:
            return self._engine.read(run, caller, asked)
        return self._engine.submit(run, caller, asked).result()

    def as_key(self, secret: str) -> DirectDoor:
        """The same store for the holder of a key."""
        return DirectDoor(self._engine, digest(secret))

    def close(self) -> None:
        """Let go of the store."""
        self._engine.close()

    def _caller(self) -> Caller:
        if self._secret_sha256 is None:
            return OWNER
        caller: Caller = self._engine.read(caller_for, self._secret_sha256)
        return caller


_GUARDED: dict[str, Verb] = {name: row.run() for name, row in SURFACE.items()}


def _path(url: str) -> str:
    scheme, separator, rest = url.partition("://")
    if not separator:
        return url
    if scheme == "sqlite" and rest.startswith("/"):
        return rest[1:]
    raise InvalidRequest(f"{scheme}:// names no store that this version opens: use a path or sqlite:///path")
