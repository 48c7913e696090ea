"""What statements about blobs, buckets and objects answer with."""

from __future__ import annotations

from tessera.rows.base import Row


class BlobRow(Row, frozen=True):
    """A blob, and the upload whose chunks are its bytes; none for the blob of no bytes."""

    sha256: str
    size: int
    created_at: int
    upload: str | None


class ChunkRow(Row, frozen=True):
    """A piece of a blob."""

    bytes: bytes


class UploadRow(Row, frozen=True):
    """How much a put has staged."""

    upload: str
    chunks: int
    size: int


class BucketRow(Row, frozen=True):
    """A bucket with its totals."""

    bucket: int
    name: str
    description: str | None
    objects: int
    bytes: int
    created_at: int


class ObjectRow(Row, frozen=True):
    """One version of an object."""

    key: str
    version: int
    sha256: str
    size: int
    content_type: str
    created_at: int
