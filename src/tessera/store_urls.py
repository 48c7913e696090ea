"""What a store's URL names: a file of this machine, a PostgreSQL database, or a running service."""

from __future__ import annotations

import os
import re

from tessera.errors import InvalidRequest

DEFAULT_STORE = "tessera.db"
Where = str | os.PathLike[str]  # a path, or a URL
_HOST_AND_PORT = re.compile(r"[\w.-]+:\d{1,5}/?$")


def is_service(url: str) -> bool:
    """Whether a store's URL names a running service, rather than a file of this machine."""
    return url.startswith(("http://", "https://"))


def is_database(url: str) -> bool:
    """Whether a store's URL names a PostgreSQL database, which other processes may use at the same time."""
    return url.startswith(("postgresql://", "postgres://"))


def chosen_url(given: Where | None) -> str:
    """The URL or path given; by default what TESSERA_STORE names, else `./tessera.db`. Refuses with
    `invalid_request` what is neither.
    """
    if given is not None and not isinstance(given, str | os.PathLike):
        raise InvalidRequest(f"a store is named by a path or a URL, not by: {type(given).__name__}")
    return (given and os.fspath(given)) or os.environ.get("TESSERA_STORE") or DEFAULT_STORE


def file_of(url: Where | None) -> str:
    """The path of a store on this machine, for what is done to its file. Refuses what is none with
    `invalid_request`.
    """
    if is_service(chosen_url(url)):
        raise InvalidRequest("this is done on the store's own machine: name its file")
    if is_database(chosen_url(url)):
        raise InvalidRequest("for files: a database has pg_dump and pg_restore, then `tessera new-epoch`")
    return path_of(chosen_url(url))


def path_of(url: str) -> str:
    """The file that a URL names, whatever links lead to it and wherever the process goes from here: SQLite
    keeps its own beside it. Refuses any other URL with `invalid_request`.
    """
    path = _named(url)
    if path == ":memory:" or "\0" in path:
        raise InvalidRequest("a store is a file on disk: name one (tests: tessera.testing.temporary_store)")
    return os.path.realpath(path)


def _named(url: str) -> str:
    scheme, separator, rest = url.partition("://")
    if not separator:
        if _HOST_AND_PORT.match(url) and not os.path.exists(url):
            raise InvalidRequest(f"{url} looks like a service: say http://{url} (or ./{url} for a file)")
        return url
    if scheme == "sqlite" and rest == "/":
        raise InvalidRequest("sqlite:/// names no file: say sqlite:///path")
    if scheme == "sqlite" and rest.startswith("/"):
        return rest[1:]
    raise InvalidRequest(
        f"{scheme}:// names no store that this version opens: use a path, sqlite:///path, "
        "postgresql://host/database or http://host"
    )
