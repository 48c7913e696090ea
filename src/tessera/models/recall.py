"""Nouns, found by their scent and read further as far as is needed; reflexes and dead ends. (Specification
§6, contract §3.)
"""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from tessera import limits
from tessera.models.base import After, Answer, Document, Key, Model, Name, Version

Query = Annotated[str, Meta(max_length=limits.QUERY_CHARS_MAX)]
Scents = Annotated[int, Meta(ge=1, le=limits.SCENTS_MAX)]
Slice = Annotated[int, Meta(ge=1, le=limits.SLICE_BYTES_MAX)]
Home = Literal["store", "bucket"]


class SearchNouns(Model, frozen=True):
    """What to look for, in any language. `store` looks among its records only, `bucket` among its objects
    only, both in both; left out, everywhere.
    """

    query: Query
    store: Name | None = None
    bucket: Name | None = None
    limit: Scents = limits.SCENTS_DEFAULT


class NounScent(Answer, frozen=True):
    """A noun in brief: what it is and why it was found, in at most 150 tokens of four bytes, title and
    summary together. `ref` is `store/key` or `bucket/key`; one of `store` and `bucket` is null. Sizes are in
    bytes.
    """

    ref: str
    store: str | None
    bucket: str | None
    title: str
    summary: str
    tokens: int
    size: int
    sha256: str
    version: int
    score: float


class Nouns(Answer, frozen=True):
    """What was found, the best first."""

    nouns: list[NounScent]


class NounRef(Model, frozen=True):
    """Names a noun by the two halves of its `ref`. `home` says which is meant when a store and a bucket have
    the same name; left out, the bucket's comes first.
    """

    place: Name
    key: Key
    home: Home | None = None


class NounVersion(Answer, frozen=True):
    """One version of a noun; the size is in bytes."""

    version: int
    size: int
    created_at: str


class Noun(Answer, frozen=True):
    """What is known of a noun's latest version without its text, and its last versions, newest first."""

    ref: str
    store: str | None
    bucket: str | None
    title: str
    content_type: str
    size: int
    sha256: str
    version: int
    created_at: str
    versions: list[NounVersion]


class ReadNoun(Model, frozen=True):
    """Which bytes of a noun to read as text: at most `length` of them from `first` on."""

    place: Name
    key: Key
    home: Home | None = None
    version: Version | None = None
    first: After = 0
    length: Slice = limits.SLICE_BYTES_DEFAULT


class NounText(Answer, frozen=True):
    """Some of a noun's text: `length` bytes from `first` on, out of `size`, never half a character; `next` is
    where to go on, null at the end.
    """

    ref: str
    version: int
    size: int
    first: int
    length: int
    text: str
    next: int | None


class MatchReflex(Model, frozen=True):
    """What somebody is about to do, in their own words."""

    query: Query
    limit: Scents = limits.SCENTS_DEFAULT


class ReflexMatch(Answer, frozen=True):
    """A step that was learned for something like it; `exact` says for just that."""

    key: str
    step: Document
    score: float
    exact: bool


class DeadEnd(Answer, frozen=True):
    """A task like it that was given up, and its last error."""

    task_id: str
    kind: str
    error: str | None
    score: float


class Recalled(Answer, frozen=True):
    """What is known about it, the most alike first."""

    matches: list[ReflexMatch]
    warnings: list[DeadEnd]
