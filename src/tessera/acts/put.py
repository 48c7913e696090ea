"""put_blob, put_object: bytes come in pieces, are staged in a transaction each, and appear in one small one.

Whoever knows the bytes beforehand says their hash: if the store has them, whole, nothing is staged.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any

from tessera.acts.act import Act, Look, Run, Take, Work
from tessera.errors import InvalidRequest, TesseraError
from tessera.limits import BLOB_BYTES_MAX, CHUNK_BYTES_MAX
from tessera.models import Blob, BlobRef, ObjectMeta, PutBlob, PutObject
from tessera.steps.blobs import Staged
from tessera.verbs import blobs, objects
from tessera.verbs.guarded import Guarded

_STAGE = Guarded(blobs.stage_chunk, None, provisional=True)
_DISCARD = Guarded(blobs.discard_upload, None)
_STANDING = Guarded(blobs.standing, None)
_PUBLISH_BLOB = Guarded(blobs.publish_blob, None)
_EXPECTED = Guarded(objects.expected, None)
_PUBLISH_OBJECT = Guarded(objects.publish_object, None)
_NEW = blobs.Standing()


def put_blob(ask: PutBlob, sha256: str | None = None) -> Act[Blob]:
    """Store up to 16 MiB under their SHA-256. The same bytes again change nothing; bytes that were damaged on
    disk are mended by being stored again.
    """
    blob: Blob = yield from _published(_PUBLISH_BLOB, lambda staged: staged, sha256)
    return blob


def put_object(ask: PutObject, sha256: str | None = None) -> Act[ObjectMeta]:
    """Store bytes as the next version of an object, if its latest is the one expected; left out, the key must
    not exist. Earlier versions stay.
    """
    yield Look(_EXPECTED, ask)
    meta: ObjectMeta = yield from _published(
        _PUBLISH_OBJECT, lambda staged: objects.StagedVersion(ask, staged), sha256
    )
    return meta


def _published(publish: Guarded, ask_for: Callable[[Staged], Any], sha256: str | None) -> Act[Any]:
    """Stage what the store does not have, and publish it. What was staged in vain is left to the sweep."""
    upload = _Upload()
    try:
        standing = _NEW if sha256 is None else (yield Look(_STANDING, BlobRef(sha256)))
        if standing.size is None:
            found = yield from upload.stage(sha256)
            if sha256 is None:
                standing = yield Look(_STANDING, BlobRef(found))
            staged = upload.staged(found, standing.damaged)
        else:
            assert sha256 is not None, "only bytes of a known hash can have been found"
            staged = Staged(sha256, standing.size)
        return (yield Run(publish, ask_for(staged)))
    except Exception:
        if upload.name is not None:
            with suppress(TesseraError):  # what went wrong first is what the caller is told
                yield Run(_DISCARD, upload.name)
        raise


class _Upload:
    """The chunks that a put has staged."""

    def __init__(self) -> None:
        self.name: str | None = None
        self._chunks = 0
        self._size = 0
        self._digest = hashlib.sha256()

    def stage(self, sha256: str | None) -> Act[str]:
        """Take the body to its end, in chunks of one size whatever it comes in; returns its hash."""
        rest, taken = bytearray(), 0
        while piece := (yield Take()):
            taken += len(piece)
            if taken > BLOB_BYTES_MAX:
                raise InvalidRequest(f"body: larger than {BLOB_BYTES_MAX:,} bytes")
            if not rest and len(piece) == CHUNK_BYTES_MAX:
                yield from self._stage_chunk(piece, hashed=sha256 is not None)
                continue
            rest += piece
            while len(rest) >= CHUNK_BYTES_MAX:
                yield from self._stage_chunk(bytes(rest[:CHUNK_BYTES_MAX]), hashed=sha256 is not None)
                del rest[:CHUNK_BYTES_MAX]
        if rest:
            yield from self._stage_chunk(bytes(rest), hashed=sha256 is not None)
        return sha256 or self._digest.hexdigest()

    def staged(self, sha256: str, damaged: str | None) -> Staged:
        """What there is to publish."""
        return Staged(sha256, self._size, self._chunks, self.name, damaged)

    def _stage_chunk(self, piece: bytes, *, hashed: bool) -> Act[None]:
        if not hashed:
            yield Work(partial(self._digest.update, piece))
        self.name = yield Run(_STAGE, blobs.Chunk(self.name, self._chunks, piece))
        self._chunks += 1
        self._size += len(piece)
