"""Buckets and the objects in them: bytes under a key, every version kept. (Specification §6.)

A new version is published by `acts.put`, in one transaction with its bucket's totals.
"""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from tessera.canonical import json_text
from tessera.limits import DESCRIPTION_BYTES_MAX
from tessera.models import (
    BlobRef,
    BucketConfig,
    BucketInfo,
    Buckets,
    Content,
    GetObject,
    ListNames,
    ListObjects,
    ObjectMeta,
    ObjectRef,
    Objects,
    ObjectVersions,
    PutObject,
    Versions,
)  # fmt: skip
from tessera.rows import BucketRow, ObjectRow
from tessera.rules import grants, keys, ranges
from tessera.rules.grants import Caller
from tessera.rules.paging import page_of
from tessera.rules.sizes import refuse_longer
from tessera.runtime import Runtime
from tessera.steps import blobs, objects, recall
from tessera.steps.blobs import Staged
from tessera.storage.port import Transaction


class StagedVersion(Struct, frozen=True):
    """A version to publish, and its staged bytes."""

    object: PutObject
    staged: Staged


def define_bucket(tx: Transaction, runtime: Runtime, caller: Caller, ask: BucketConfig) -> BucketInfo:
    """Make a bucket, or give one that exists another description."""
    grants.holds_store(caller)
    refuse_longer(ask.description, "description", DESCRIPTION_BYTES_MAX)
    bucket: BucketRow | None = tx.one("bucket_named", name=ask.name)
    runtime.reach("define_bucket.read")
    if bucket is not None and ask.description in (None, bucket.description):
        return objects.bucket_shown(bucket)

    if bucket is None:
        tx.write("add_bucket", name=ask.name, description=ask.description, now=tx.now)
        bucket = BucketRow(0, ask.name, ask.description, objects=0, bytes=0, created_at=tx.now)
    else:
        tx.write("describe_bucket", bucket=bucket.bucket, description=ask.description)
        bucket = replace(bucket, description=ask.description)
    tx.event("bucket_defined", key_id=caller.key_id, data=json_text({"bucket": ask.name}))
    runtime.reach("define_bucket.written")
    return objects.bucket_shown(bucket)


def buckets(tx: Transaction, runtime: Runtime, caller: Caller, ask: ListNames) -> Buckets:
    """A page of the buckets, by name, with how many objects each has and the bytes of their latest
    versions.
    """
    grants.holds_store(caller)
    rows = tx.all("buckets_page", after=ask.after or "", limit=ask.limit + 1)
    page, after = page_of(rows, ask.limit, "name")
    return Buckets(buckets=[objects.bucket_shown(row) for row in page], next=after)


def expected(tx: Transaction, runtime: Runtime, caller: Caller, ask: PutObject) -> None:
    """Refuse a version that could not be published now, before its bytes are taken."""
    grants.holds_store(caller)
    objects.head_expected(tx, objects.bucket_known(tx, ask.bucket), ask.key, ask.expected_version)


def publish_object(tx: Transaction, runtime: Runtime, caller: Caller, ask: StagedVersion) -> ObjectMeta:
    """Let staged bytes be the next version of an object, all at once, if the latest is the expected one."""
    grants.holds_store(caller)
    put, staged = ask.object, ask.staged
    bucket = objects.bucket_known(tx, put.bucket)
    head, number = objects.head_expected(tx, bucket, put.key, put.expected_version)
    what = blobs.publication(tx, staged)
    beginning = recall.beginning(tx, what)
    version = ObjectRow(
        key=put.key,
        version=number,
        sha256=staged.sha256,
        size=staged.size,
        content_type=put.content_type,
        created_at=tx.now,
    )
    runtime.reach("publish_object.read")

    blobs.publish(tx, caller, what)
    _add(tx, bucket.bucket, head, version)
    recall.keep_object(tx, bucket.name, version, beginning)
    data = json_text(
        {"bucket": bucket.name, "key": put.key, "version": version.version, "sha256": staged.sha256}
    )
    tx.event("object_stored", key_id=caller.key_id, data=data)
    runtime.reach("publish_object.written")
    return objects.shown(bucket.name, version)


def object_meta(tx: Transaction, runtime: Runtime, caller: Caller, ask: ObjectRef) -> ObjectMeta:
    """An object's latest version, or a given one, without its bytes."""
    grants.holds_store(caller)
    bucket = objects.bucket_known(tx, ask.bucket)
    return objects.shown(bucket.name, objects.version_known(tx, bucket, ask.key, ask.version))


def get_object(tx: Transaction, runtime: Runtime, caller: Caller, ask: GetObject) -> Content:
    """The bytes of an object's latest version, or of a given one, or a range of them. All of them are
    verified before any byte is given.
    """
    grants.holds_store(caller)
    bucket = objects.bucket_known(tx, ask.bucket)
    row = objects.version_known(tx, bucket, ask.key, ask.version)
    part = ranges.chosen(ask.range, row.size)
    first, length = (0, row.size) if part is None else part
    blob = blobs.known(tx, BlobRef(row.sha256))
    meta = objects.shown(bucket.name, row)
    return Content(
        sha256=row.sha256,
        size=row.size,
        first=first,
        length=length,
        partial=part is not None,
        content_type=row.content_type,
        pieces=blobs.verified(tx, blob, first, length),
        bucket=meta.bucket,
        key=meta.key,
        version=meta.version,
        created_at=meta.created_at,
    )


def list_objects(tx: Transaction, runtime: Runtime, caller: Caller, ask: ListObjects) -> Objects:
    """A page of a bucket's objects whose keys begin with a prefix, by key, each in its latest version."""
    grants.holds_store(caller)
    bucket = objects.bucket_known(tx, ask.bucket)
    rows: list[ObjectRow] = tx.all(
        "objects_page", bucket=bucket.bucket, first=ask.prefix, beyond=keys.beyond(ask.prefix),
        after=ask.after or "", limit=ask.limit + 1,
    )  # fmt: skip
    page, after = page_of(rows, ask.limit, "key")
    return Objects(objects=[objects.shown(bucket.name, row) for row in page], next=after)


def object_history(tx: Transaction, runtime: Runtime, caller: Caller, ask: ObjectVersions) -> Versions:
    """A page of an object's versions, oldest first."""
    grants.holds_store(caller)
    bucket = objects.bucket_known(tx, ask.bucket)
    objects.version_known(tx, bucket, ask.key, None)
    rows: list[ObjectRow] = tx.all(
        "object_versions", bucket=bucket.bucket, key=ask.key, after=ask.after, limit=ask.limit + 1
    )
    page, after = page_of(rows, ask.limit, "version")
    return Versions(versions=[objects.shown(bucket.name, row) for row in page], next=after)


def _add(tx: Transaction, bucket: int, head: ObjectRow | None, version: ObjectRow) -> None:
    """Write a version and its head, and add it to its bucket's totals."""
    tx.write(
        "add_object", bucket=bucket, key=version.key, version=version.version, sha256=version.sha256,
        size=version.size, content_type=version.content_type, now=version.created_at,
    )  # fmt: skip
    if head is None:
        tx.write("add_object_head", bucket=bucket, key=version.key)
        tx.write("change_bucket", bucket=bucket, objects=1, bytes=version.size)
    else:
        tx.write("move_object_head", bucket=bucket, key=version.key, version=version.version)
        tx.write("change_bucket", bucket=bucket, objects=0, bytes=version.size - head.size)
