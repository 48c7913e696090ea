"""What the engine's own statements answer with."""

from __future__ import annotations

from tessera.rows.base import Row, Scalar, Text

__all__ = ["Opening", "Reached", "Scalar", "Server", "Session", "Text"]


class Session(Row, frozen=True):
    """A connection, as the server knows it."""

    name: str  # never the same for two connections
    version: int
    commits: str  # what `synchronous_commit` is
    encoding: str  # of the database


class Reached(Row, frozen=True):
    """How far the database's own log has come, in bytes."""

    written: int
    flushed: int


class Server(Row, frozen=True):
    """A server, and how busy it is."""

    version: str
    syncs: int
    connections_max: int
    connections: int
    oldest_seconds: int  # of the transaction in this database that has been open longest


class Opening(Row, frozen=True):
    """What a transaction begins with."""

    now: int
    last: int
    generation: int
