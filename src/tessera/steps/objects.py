"""Buckets and objects inside a transaction: found, and compared with what a writer expects."""

from __future__ import annotations

from tessera.errors import NotFound
from tessera.models import BucketInfo, ObjectMeta
from tessera.rows import BucketRow, ObjectRow
from tessera.rules import versions
from tessera.runtime import rfc3339
from tessera.storage.port import Transaction


def bucket_known(tx: Transaction, name: str) -> BucketRow:
    """A bucket, or `not_found`."""
    bucket: BucketRow | None = tx.one("bucket_named", name=name)
    if bucket is None:
        raise NotFound("no such bucket: define_bucket (tessera buckets define) makes one")
    return bucket


def head_expected(
    tx: Transaction, bucket: BucketRow, key: str, expected: int | None
) -> tuple[ObjectRow | None, int]:
    """The object's latest version, if it is the one that the writer expects, and the number of the next."""
    head: ObjectRow | None = tx.one("object_head", bucket=bucket.bucket, key=key)
    return head, versions.following(None if head is None else head.version, expected, "object")


def version_known(tx: Transaction, bucket: BucketRow, key: str, version: int | None) -> ObjectRow:
    """An object's latest version, or a given one; or `not_found`."""
    row: ObjectRow | None
    if version is None:
        row = tx.one("object_head", bucket=bucket.bucket, key=key)
    else:
        row = tx.one("object_version", bucket=bucket.bucket, key=key, version=version)
    if row is None:
        raise NotFound("no such object" if version is None else "no such version of an object")
    return row


def shown(bucket: str, row: ObjectRow) -> ObjectMeta:
    """A version as the wire has it."""
    return ObjectMeta(
        bucket=bucket,
        key=row.key,
        version=row.version,
        sha256=row.sha256,
        size=row.size,
        content_type=row.content_type,
        created_at=rfc3339(row.created_at),
    )


def bucket_shown(row: BucketRow) -> BucketInfo:
    """A bucket as the wire has it."""
    return BucketInfo(
        name=row.name,
        description=row.description,
        objects=row.objects,
        bytes=row.bytes,
        created_at=rfc3339(row.created_at),
    )
