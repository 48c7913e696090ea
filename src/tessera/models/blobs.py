"""Blobs, buckets and objects: bytes by their hash, and by a name with versions."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from tessera import limits, names
from tessera.models.base import After, Answer, Key, Limit, Model, Name, Prefix, Version

Sha256 = Annotated[str, Meta(pattern=names.SHA256_PATTERN)]
MediaType = Annotated[str, Meta(pattern=names.MEDIA_TYPE_PATTERN)]
OCTETS = "application/octet-stream"


class PutBlob(Model, frozen=True):
    """Bytes to store under their hash; they travel beside this request."""


class BlobRef(Model, frozen=True):
    """Names a blob."""

    sha256: Sha256


class GetBlob(Model, frozen=True):
    """Which blob to give, and which bytes of it: `range` is what a `Range` header would say."""

    sha256: Sha256
    range: str | None = None


class Blob(Answer, frozen=True):
    """A stored blob; the size is in bytes."""

    sha256: str
    size: int


class Content(Answer, frozen=True):
    """Verified bytes, whole or a range of them, and what they are. `first` is the place of the first byte
    given, `length` how many there are, out of `size`; `pieces` holds them in order. Bucket, key, version and
    time are null for a blob.
    """

    sha256: str
    size: int
    first: int
    length: int
    partial: bool
    content_type: str
    pieces: list[bytes]
    bucket: str | None = None
    key: str | None = None
    version: int | None = None
    created_at: str | None = None


class BucketConfig(Model, frozen=True):
    """A bucket to make or to describe; a description left out stays."""

    name: Name
    description: Annotated[str, Meta(max_length=limits.DESCRIPTION_BYTES_MAX)] | None = None


class BucketInfo(Answer, frozen=True):
    """A bucket: how many objects it has, and the bytes of their latest versions."""

    name: str
    description: str | None
    objects: int
    bytes: int
    created_at: str


class Buckets(Answer, frozen=True):
    """A page of the buckets, by name; `next` is the cursor of the page that follows, null at the end."""

    buckets: list[BucketInfo]
    next: str | None


class PutObject(Model, frozen=True):
    """A new version of an object; its bytes travel beside this request. `expected_version` is the version it
    follows; left out, the key must not exist.
    """

    bucket: Name
    key: Key
    expected_version: Version | None = None
    content_type: MediaType = OCTETS


class ObjectRef(Model, frozen=True):
    """Names an object's latest version, or an earlier one."""

    bucket: Name
    key: Key
    version: Version | None = None


class GetObject(Model, frozen=True):
    """Which version of an object to give, and which bytes: `range` is what a `Range` header would say."""

    bucket: Name
    key: Key
    version: Version | None = None
    range: str | None = None


class ListObjects(Model, frozen=True):
    """Which objects to list, by key in byte order. `prefix` is literal; `after` is the last key of the page
    before.
    """

    bucket: Name
    prefix: Prefix = ""
    limit: Limit = limits.PAGE_DEFAULT
    after: Prefix | None = None


class ObjectVersions(Model, frozen=True):
    """Which versions of an object to list, oldest first; `after` is the last version of the page before."""

    bucket: Name
    key: Key
    limit: Limit = limits.PAGE_DEFAULT
    after: After = 0


class ObjectMeta(Answer, frozen=True):
    """One version of an object, without its bytes."""

    bucket: str
    key: str
    version: int
    sha256: str
    size: int
    content_type: str
    created_at: str


class Objects(Answer, frozen=True):
    """A page of objects, each in its latest version; `next` is the cursor of the page that follows."""

    objects: list[ObjectMeta]
    next: str | None


class Versions(Answer, frozen=True):
    """A page of an object's versions; `next` is the cursor of the page that follows, null at the end."""

    versions: list[ObjectMeta]
    next: int | None
