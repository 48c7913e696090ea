"""The bytes of a request that are in this process already, or behind a file."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from typing import BinaryIO

from tessera.errors import InvalidRequest
from tessera.limits import BLOB_BYTES_MAX, CHUNK_BYTES_MAX


def hash_of(body: bytes | BinaryIO) -> str | None:
    """The hash of bytes at hand; None for a file, which is read once. Refuses more bytes than a blob has."""
    if not isinstance(body, bytes):
        return None
    if len(body) > BLOB_BYTES_MAX:
        raise InvalidRequest(f"body: larger than {BLOB_BYTES_MAX:,} bytes")
    return hashlib.sha256(body).hexdigest()


def takes(body: bytes | BinaryIO) -> Callable[[], bytes | memoryview]:
    """What gives the body's next bytes, a chunk at a time, and none at its end."""
    if not isinstance(body, bytes):
        return lambda: body.read(CHUNK_BYTES_MAX)
    pieces = _pieces(body)
    return lambda: next(pieces, b"")


def _pieces(body: bytes) -> Iterator[memoryview]:
    view = memoryview(body)
    for place in range(0, len(body), CHUNK_BYTES_MAX):
        yield view[place : place + CHUNK_BYTES_MAX]
