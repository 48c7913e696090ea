"""Blobs: staged and published by `acts.put`, and given out verified. (Specification §6, contract §4.13.)"""

from __future__ import annotations

from msgspec import Struct

from tessera.limits import CHUNK_BYTES_MAX, SECOND_US, UPLOAD_SECONDS
from tessera.models import OCTETS, Blob, BlobRef, Content, GetBlob
from tessera.rows import BlobRow, UploadRow
from tessera.rules import grants, ranges
from tessera.rules.grants import Caller
from tessera.runtime import Runtime
from tessera.steps import blobs as steps
from tessera.steps.blobs import Staged
from tessera.storage.port import Transaction


class Chunk(Struct, frozen=True):
    """The next piece of a put; the first one has no upload yet."""

    upload: str | None
    number: int
    bytes: bytes


class Standing(Struct, frozen=True):
    """Whether the store has some bytes: their size if it has them whole; `damaged` names the upload that no
    longer matches their hash.
    """

    size: int | None = None
    damaged: str | None = None


def stage_chunk(tx: Transaction, runtime: Runtime, caller: Caller, ask: Chunk) -> str:
    """Keep a piece of what is being put, where no verb can read it yet; returns its upload. Refuses if the
    pieces before it were swept.
    """
    grants.holds_store(caller)
    assert 0 < len(ask.bytes) <= CHUNK_BYTES_MAX, "a chunk has its bounds"
    known: UploadRow | None = None
    if ask.upload is not None:
        known = tx.one("upload_named", upload=ask.upload)
        if known is None or known.chunks != ask.number:
            raise steps.swept()
    upload = runtime.new_id("u_") if known is None else known.upload
    size, expires_at = len(ask.bytes), tx.now + UPLOAD_SECONDS * SECOND_US
    runtime.reach("stage_chunk.read")

    if known is None:
        tx.write("begin_upload", upload=upload, chunks=1, size=size, expires_at=expires_at)
    else:
        tx.write("extend_upload", upload=upload, chunk=ask.number, size=size, expires_at=expires_at)
    tx.write("add_chunk", upload=upload, chunk=ask.number, bytes=ask.bytes)
    runtime.reach("stage_chunk.written")
    return upload


def publish_blob(tx: Transaction, runtime: Runtime, caller: Caller, ask: Staged) -> Blob:
    """Let staged bytes be a blob, all at once."""
    grants.holds_store(caller)
    what = steps.publication(tx, ask)
    runtime.reach("publish_blob.read")

    steps.publish(tx, caller, what)
    runtime.reach("publish_blob.written")
    return Blob(sha256=ask.sha256, size=ask.size)


def discard_upload(tx: Transaction, runtime: Runtime, caller: Caller, upload: str) -> None:
    """Leave what a refused put has staged to the next sweep."""
    known: UploadRow | None = tx.one("upload_named", upload=upload)
    runtime.reach("discard_upload.read")
    if known is not None:
        tx.write("expire_upload", upload=upload, now=tx.now)
        runtime.reach("discard_upload.written")


def standing(tx: Transaction, runtime: Runtime, caller: Caller, ask: BlobRef) -> Standing:
    """Whether the store has these bytes, whole."""
    grants.holds_store(caller)
    blob: BlobRow | None = tx.one("blob_named", sha256=ask.sha256)
    if blob is None:
        return Standing()
    return Standing(size=blob.size) if steps.intact(tx, blob) else Standing(damaged=blob.upload)


def blob_meta(tx: Transaction, runtime: Runtime, caller: Caller, ask: BlobRef) -> Blob:
    """The size of a blob, without its bytes."""
    grants.holds_store(caller)
    blob = steps.known(tx, ask)
    return Blob(sha256=blob.sha256, size=blob.size)


def get_blob(tx: Transaction, runtime: Runtime, caller: Caller, ask: GetBlob) -> Content:
    """A blob's bytes, or a range of them. All of it is verified before any byte is given."""
    grants.holds_store(caller)
    blob = steps.known(tx, BlobRef(ask.sha256))
    part = ranges.chosen(ask.range, blob.size)
    first, length = (0, blob.size) if part is None else part
    return Content(
        sha256=blob.sha256,
        size=blob.size,
        first=first,
        length=length,
        partial=part is not None,
        content_type=OCTETS,
        pieces=steps.verified(tx, blob, first, length),
    )
