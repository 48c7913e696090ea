"""Blobs inside a transaction: read and verified, published, swept.

A blob's bytes are the chunks of one upload. A chunk never changes once it is staged, and an upload that is
published is no longer in `uploads`, so no sweep can reach it.
"""

from __future__ import annotations

import hashlib
import logging

from msgspec import Struct

from tessera.canonical import json_text
from tessera.errors import NotFound, Unavailable
from tessera.limits import CHUNKS_PER_SWEEP_MAX
from tessera.models import BlobRef
from tessera.rows import BlobRow, ChunkRow, UploadRow
from tessera.rules.grants import Caller
from tessera.runtime import Runtime
from tessera.storage.port import Transaction

log = logging.getLogger("tessera.blobs")


class Staged(Struct, frozen=True):
    """What a put has in store, to be published: the hash and size of its bytes, and the upload that holds
    them; no upload when the store was found to have the bytes already, or when there are none. `damaged` is
    the upload of a blob that does not match its hash any more, which this one shall replace.
    """

    sha256: str
    size: int
    chunks: int = 0
    upload: str | None = None
    damaged: str | None = None


class Publication(Struct, frozen=True):
    """What publishing will write, decided before the first write."""

    staged: Staged
    known: BlobRow | None


def known(tx: Transaction, ask: BlobRef) -> BlobRow:
    """A blob, or `not_found`."""
    blob: BlobRow | None = tx.one("blob_named", sha256=ask.sha256)
    if blob is None:
        raise NotFound("no such blob")
    return blob


def verified(tx: Transaction, blob: BlobRow, first: int, length: int) -> list[bytes]:
    """Some of a blob's bytes, in pieces, once all of its bytes were seen to match its hash; only what was
    asked for is kept. Refuses a damaged blob with `unavailable`, and logs it.
    """
    pieces: list[bytes] = []
    if not _intact(tx, blob, first, length, pieces):
        log.error("blob %s does not match its hash: its bytes are damaged on disk", blob.sha256)
        raise Unavailable(
            "the blob is damaged on disk and is not given out: store its bytes again, or restore a backup",
            definite=True,
        )
    return pieces


def intact(tx: Transaction, blob: BlobRow) -> bool:
    """Whether a blob's bytes still match its hash."""
    return _intact(tx, blob, 0, 0, [])


def publication(tx: Transaction, staged: Staged) -> Publication:
    """What publishing will write. Refuses an upload that was swept meanwhile."""
    blob: BlobRow | None = tx.one("blob_named", sha256=staged.sha256)
    if staged.upload is not None:
        upload: UploadRow | None = tx.one("upload_named", upload=staged.upload)
        if upload is None or (upload.chunks, upload.size) != (staged.chunks, staged.size):
            raise swept()
    elif blob is None and staged.size:
        raise swept()
    return Publication(staged, blob)


def publish(tx: Transaction, caller: Caller, what: Publication) -> None:
    """Let the staged bytes be the blob. If the store has it already, what was staged is left to the sweep; if
    it has it damaged, the damaged bytes are.
    """
    staged, blob = what.staged, what.known
    if blob is None:
        tx.write("add_blob", sha256=staged.sha256, size=staged.size, now=tx.now, upload=staged.upload)
        if staged.upload is not None:
            tx.write("end_upload", upload=staged.upload)
        data = json_text({"sha256": staged.sha256, "size": staged.size})
        tx.event("blob_stored", key_id=caller.key_id, data=data)
    elif staged.upload is not None and staged.damaged is not None and staged.damaged == blob.upload:
        tx.write("mend_blob", sha256=staged.sha256, upload=staged.upload, damaged=staged.damaged)
        tx.write("end_upload", upload=staged.upload)
        tx.write("begin_upload", upload=staged.damaged, chunks=0, size=0, expires_at=tx.now)
    elif staged.upload is not None:
        tx.write("expire_upload", upload=staged.upload, now=tx.now)


def sweep(tx: Transaction, runtime: Runtime) -> int:
    """Delete some chunks of an upload whose time has run out. A settle; nothing that it does counts as
    reaped.
    """
    upload: UploadRow | None = tx.one("upload_left_behind", now=tx.now)
    if upload is None:
        return 0
    last = tx.all("last_chunks", upload=upload.upload, limit=CHUNKS_PER_SWEEP_MAX)
    runtime.reach("sweep.read")

    if last:
        tx.write("shrink_upload", upload=upload.upload, chunks=last[-1].value)
        tx.write("drop_chunks", upload=upload.upload, chunk=last[-1].value)
    if not last or last[-1].value == 0:
        tx.write("end_upload", upload=upload.upload)
    runtime.reach("sweep.written")
    return 0


def swept() -> Unavailable:
    """The refusal of a put that took too long."""
    return Unavailable("what was staged was swept meanwhile: send the bytes again", definite=True)


def _intact(tx: Transaction, blob: BlobRow, first: int, length: int, kept: list[bytes]) -> bool:
    """Hash a blob chunk by chunk, keeping what lies in a range."""
    digest, place, number = hashlib.sha256(), 0, 0
    while place < blob.size:
        chunk: ChunkRow | None = tx.one("chunk", upload=blob.upload, chunk=number)
        if chunk is None or not chunk.bytes:
            return False
        digest.update(chunk.bytes)
        begin, end = max(first - place, 0), min(first + length - place, len(chunk.bytes))
        if begin < end:
            kept.append(chunk.bytes[begin:end])
        place, number = place + len(chunk.bytes), number + 1
    return place == blob.size and digest.hexdigest() == blob.sha256
