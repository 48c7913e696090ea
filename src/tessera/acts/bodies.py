"""The bytes of a request that are in this process already, or behind a file."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from functools import partial
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
        return partial(_read, body)
    pieces = _pieces(body)
    return lambda: next(pieces, b"")


def _read(file: BinaryIO) -> bytes:
    """The next bytes of a file. One that has none *yet* says None, which is not its end."""
    piece: object = file.read(CHUNK_BYTES_MAX)
    if not isinstance(piece, bytes):
        raise InvalidRequest("body: the file gives no bytes: open it for reading bytes, and blocking")
    return piece


def _pieces(body: bytes) -> Iterator[memoryview]:
    view = memoryview(body)
    for place in range(0, len(body), CHUNK_BYTES_MAX):
        yield view[place : place + CHUNK_BYTES_MAX]
