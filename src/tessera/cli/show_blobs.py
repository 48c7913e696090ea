"""Views of blobs, buckets and objects."""

from __future__ import annotations

from collections.abc import Iterable

from rich.console import RenderableType
from rich.text import Text

from tessera import models
from tessera.cli import layout


def blob(answer: models.Blob) -> RenderableType:
    """The bare hash, ready for a shell variable."""
    return Text(answer.sha256)


def content(answer: models.Content) -> RenderableType:
    """What was written."""
    which = f"bytes {answer.first} to {answer.first + answer.length - 1} of" if answer.partial else "all of"
    return Text(f"wrote {answer.length:,} bytes: {which} {answer.size:,}, verified against {answer.sha256}")


def bucket(answer: models.BucketInfo) -> RenderableType:
    """A table of one."""
    return buckets(models.Buckets([answer], next=None))


def buckets(answer: models.Buckets) -> RenderableType:
    """A line for each bucket."""
    rows = (
        (one.name, one.objects, f"{one.bytes:,}", layout.moment(one.created_at), one.description)
        for one in answer.buckets
    )
    return layout.table("bucket, objects, bytes, created, description", rows, none="No buckets.")


def version(answer: models.ObjectMeta) -> RenderableType:
    """A table of one."""
    return _versions([answer])


def objects(answer: models.Objects) -> RenderableType:
    """A line for each object."""
    return _versions(answer.objects)


def versions(answer: models.Versions) -> RenderableType:
    """A line for each version."""
    return _versions(answer.versions)


def _versions(metas: Iterable[models.ObjectMeta]) -> RenderableType:
    rows = (
        (one.key, one.version, f"{one.size:,}", one.content_type, layout.moment(one.created_at), one.sha256)
        for one in metas
    )
    return layout.table("key, version, bytes, type, stored, sha256", rows, none="No such objects.")
