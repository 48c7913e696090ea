"""The library's methods for blobs, buckets and objects. (`store.py` says how methods are.)"""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any, BinaryIO

from tessera import models
from tessera.canonical import strict_json
from tessera.errors import InvalidRequest
from tessera.rules import ranges


class BlobVerbs:
    """What `Tessera` can do with bytes."""

    _door: Any
    _whole: Callable[[str], list[Any]]

    # Blobs

    def put_blob(self, data: bytes | BinaryIO) -> str:
        """Store up to 16 MiB, given as bytes or as a file open for reading, and return their SHA-256. The
        same bytes again change nothing.
        """
        blob: models.Blob = self._put("put_blob", data)
        return blob.sha256

    def get_blob(self, sha256: str, start: int | None = None, stop: int | None = None) -> bytes:
        """A blob's bytes, or a slice of them; a negative start alone counts from the end. All of the blob is
        verified first: a damaged one is refused as `unavailable`.
        """
        return _joined(self.blob_content(sha256, start, stop))

    def blob_content(self, sha256: str, start: int | None = None, stop: int | None = None) -> models.Content:
        """The same in pieces, with what they are."""
        return self._ask("get_blob", sha256=sha256, range=_range(start, stop))

    def blob_meta(self, sha256: str) -> models.Blob:
        """The size of a blob, without its bytes."""
        return self._ask("blob_meta", sha256=sha256)

    # Buckets and objects

    def define_bucket(self, name: str, description: str | None = None) -> models.BucketInfo:
        """Make a bucket, or give one that exists another description."""
        return self._ask("define_bucket", name=name, description=description)

    def buckets(self) -> list[models.BucketInfo]:
        """Every bucket, by name."""
        return self._whole("buckets")

    def buckets_page(self, *, limit: int = 100, after: str | None = None) -> models.Buckets:
        """A page of them, at most 1,000; pass its `next` as `after` for the page that follows."""
        return self._ask("buckets", limit=limit, after=after)

    def put_object(
        self, bucket: str, key: str, data: bytes | BinaryIO, expected_version: int | None = None, *,
        content_type: str = models.OCTETS,
    ) -> models.ObjectMeta:  # fmt: skip
        """Store bytes as the next version of an object, if its latest is `expected_version`; None expects
        that the key does not exist. Otherwise `version_conflict`, with `current_version`.
        """
        return self._put(
            "put_object", data, bucket=bucket, key=key, expected_version=expected_version,
            content_type=content_type,
        )  # fmt: skip

    def get_object(
        self, bucket: str, key: str, version: int | None = None, *, start: int | None = None,
        stop: int | None = None,
    ) -> bytes:  # fmt: skip
        """The bytes of an object's latest version or of a given one, or a slice of them, verified first."""
        return _joined(self.object_content(bucket, key, version, start=start, stop=stop))

    def object_content(
        self, bucket: str, key: str, version: int | None = None, *, start: int | None = None,
        stop: int | None = None,
    ) -> models.Content:  # fmt: skip
        """The same in pieces, with what they are."""
        return self._ask("get_object", bucket=bucket, key=key, version=version, range=_range(start, stop))

    def object_meta(self, bucket: str, key: str, version: int | None = None) -> models.ObjectMeta:
        """An object's latest version or a given one, without its bytes."""
        return self._ask("object_meta", bucket=bucket, key=key, version=version)

    def list_objects(
        self, bucket: str, prefix: str = "", *, limit: int = 100, after: str | None = None
    ) -> models.Objects:
        """A page of the objects whose keys begin with `prefix`, taken literally; pass its `next` as `after`
        for the page that follows.
        """
        return self._ask("list_objects", bucket=bucket, prefix=prefix, limit=limit, after=after)

    def object_history(self, bucket: str, key: str, *, limit: int = 100, after: int = 0) -> models.Versions:
        """A page of an object's versions, oldest first."""
        return self._ask("object_history", bucket=bucket, key=key, limit=limit, after=after)

    def _ask(self, verb: str, **fields: Any) -> Any:
        return self._door.call(verb, strict_json(fields))

    def _put(self, verb: str, data: bytes | BinaryIO, **fields: Any) -> Any:
        if isinstance(data, bytearray | memoryview):
            data = bytes(data)
        if not isinstance(data, bytes) and not hasattr(data, "read"):
            raise InvalidRequest("body: bytes, or a file open for reading bytes")
        return self._door.call(verb, strict_json(fields), data)


def _range(start: int | None, stop: int | None) -> str | None:
    try:
        return ranges.header_for(start, stop)
    except ValueError as error:
        raise InvalidRequest(f"start, stop: {error}") from error


def _joined(content: models.Content) -> bytes:
    """One piece as it is; several without a second copy of them all."""
    pieces = content.pieces
    if len(pieces) == 1:
        return pieces[0]
    whole = io.BytesIO()
    for place in range(len(pieces)):
        whole.write(pieces[place])
        pieces[place] = b""
    return whole.getvalue()
