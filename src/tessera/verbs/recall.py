"""search_nouns, noun, read_noun: found by scent, looked at, read; match_reflex: what is known of something
like it. (Specification §6.)

All are looks: they find what the last commit has written, for callers that may read it.
"""

from __future__ import annotations

import codecs
import hashlib
from collections.abc import Iterable, Sequence
from typing import TypeVar

import msgspec

from tessera.canonical import json_text
from tessera.errors import InvalidRequest, NotFound
from tessera.limits import ALIKE_MAX, RECORD_BYTES_MAX, VERSIONS_SHOWN_MAX
from tessera.models import (
    BlobRef,
    DeadEnd,
    MatchReflex,
    Noun,
    NounRef,
    Nouns,
    NounScent,
    NounText,
    NounVersion,
    Raw,
    ReadNoun,
    Recalled,
    ReflexMatch,
    SearchNouns,
)  # fmt: skip
from tessera.names import REFLEXES, TOMBSTONES
from tessera.rows import BucketRow, ChunkRow, FoundNoun, ObjectRow, RecordHeadRow, ReflexRow, SliceRow
from tessera.rules import grants, scents, words
from tessera.rules.grants import Caller
from tessera.rules.reflexes import ALIKE_MIN, likeness
from tessera.rules.words import Phrase
from tessera.runtime import Runtime, rfc3339
from tessera.steps import blobs, objects
from tessera.steps.recall import IN_BUCKET, IN_STORE
from tessera.storage.port import Transaction

_UTF8_BYTES_MAX = 4  # of one character
Told = TypeVar("Told")


def search_nouns(tx: Transaction, runtime: Runtime, caller: Caller, ask: SearchNouns) -> Nouns:
    """Records and objects that have the words of a query, the best first, each told in at most 150 tokens:
    those that have all of its words or, if they are too few, any; if no word is found, those that begin so.
    A bucket that does not exist is `not_found`; a store of records exists by what is in it.
    """
    grants.holds_store(caller)
    if ask.bucket is not None:
        objects.bucket_known(tx, ask.bucket)
    wanted = words.phrases(ask.query)
    if not wanted:
        return Nouns(nouns=[])
    found = _found(tx, ask, wanted, every=True)
    if len(found) < ask.limit and len(loose := words.loosened(wanted)) > 1:
        wanted = loose
        found = _found(tx, ask, wanted, every=False)
    if not found:
        found = _found(tx, ask, [Phrase(one.asked, True, one.pieces) for one in wanted], every=False)
    best = max((row.rank for row in found), default=0.0)
    nouns = [_scent(row, wanted, best) for row in found]
    return Nouns(nouns=sorted(nouns, key=lambda noun: (-noun.score, noun.ref)))


def noun(tx: Transaction, runtime: Runtime, caller: Caller, ask: NounRef) -> Noun:
    """What is known of a noun, and its last versions, without its text."""
    grants.holds_store(caller)
    bucket, version = _head(tx, ask)
    if bucket is not None:
        of = dict(bucket=bucket.bucket, key=ask.key)
        row: ObjectRow = tx.one("object_version", **of, version=version)
        sha256, content_type, statement = row.sha256, row.content_type, "object_lasts"
    else:
        of = dict(store=ask.place, key=ask.key)
        value: SliceRow = tx.one("record_slice", **of, version=version, first=0, length=RECORD_BYTES_MAX)
        sha256, content_type = hashlib.sha256(value.bytes).hexdigest(), "application/json"
        statement = "record_lasts"
    lasts = tx.all(statement, **of, limit=VERSIONS_SHOWN_MAX)
    home = IN_STORE if bucket is None else IN_BUCKET
    title = tx.one("noun_title", in_bucket=home, place=ask.place, key=ask.key)
    return Noun(
        ref=f"{ask.place}/{ask.key}",
        store=ask.place if bucket is None else None,
        bucket=None if bucket is None else ask.place,
        title=ask.key if title is None else title.value,
        content_type=content_type,
        size=lasts[0].size,
        sha256=sha256,
        version=version,
        created_at=rfc3339(lasts[0].created_at),
        versions=[NounVersion(one.version, one.size, rfc3339(one.created_at)) for one in lasts],
    )


def read_noun(tx: Transaction, runtime: Runtime, caller: Caller, ask: ReadNoun) -> NounText:
    """Some of a noun's text, by bytes; the whole of an object is verified first. What is no text is refused:
    `get_object` gives bytes.
    """
    grants.holds_store(caller)
    bucket, head = _head(tx, ask)
    length = ask.length + _UTF8_BYTES_MAX  # the last character may end there
    if bucket is not None:
        row = objects.version_known(tx, bucket, ask.key, ask.version)
        version, size = row.version, row.size
        blob = blobs.known(tx, BlobRef(row.sha256))
        data = b"".join(blobs.verified(tx, blob, ask.first, length))
    else:
        of = dict(store=ask.place, key=ask.key, first=ask.first, length=length)
        value: SliceRow | None = tx.one("record_slice", **of, version=ask.version or head)
        if value is None:
            raise NotFound("no such version of a record")
        version, size, data = value.version, value.size, value.bytes
    text = _text(data, ask.length, ask.first)
    told = len(text.encode())
    end = ask.first + told
    return NounText(
        f"{ask.place}/{ask.key}", version, size, ask.first, told, text, end if end < size else None
    )  # fmt: skip


def match_reflex(tx: Transaction, runtime: Runtime, caller: Caller, ask: MatchReflex) -> Recalled:
    """Steps that were learned for what the query says, exactly or nearly, and tasks like it that came to a
    dead end: of a similar kind, with a similar brief or error.
    """
    grants.holds_store(caller)
    query, wanted = words.folded(ask.query), words.loosened(words.phrases(ask.query))
    if not wanted:
        return Recalled(matches=[], warnings=[])
    exact: list[ReflexRow] = tx.all("step_for", text=query, limit=ask.limit)
    known = {row.value for row in tx.all("reflex_words_known", phrases=_asked(wanted))}
    misspelt = words.parts([piece for one in wanted if one.asked not in known for piece in one.pieces])
    found = [phrase for phrase in wanted if phrase.asked in known]
    steps = [*exact, *_alike(tx, "find_steps", found, "find_steps_by_parts", misspelt)]
    dead_ends = _alike(tx, "find_dead_ends", found, "find_dead_ends_by_parts", misspelt)
    return Recalled(
        matches=_whole(_match(tx, *one) for one in _ranked(query, steps, ask.limit)),
        warnings=_whole(_warning(tx, *one) for one in _ranked(query, dead_ends, ask.limit)),
    )


def _found(tx: Transaction, ask: SearchNouns, wanted: Sequence[Phrase], *, every: bool) -> list[FoundNoun]:
    return tx.all(
        "find_nouns", phrases=_asked(wanted), every=int(every), store=ask.store, bucket=ask.bucket,
        anywhere=int(ask.store is None and ask.bucket is None), limit=ask.limit,
    )  # fmt: skip


def _asked(wanted: Sequence[Phrase]) -> str:
    return json_text([(one.asked, "*" if one.begins else "") for one in wanted])


def _scent(row: FoundNoun, wanted: Sequence[Phrase], best: float) -> NounScent:
    scent = scents.scent(row.title, row.key, row.text, wanted)
    return NounScent(
        ref=f"{row.place}/{row.key}",
        store=None if row.in_bucket else row.place,
        bucket=row.place if row.in_bucket else None,
        title=row.title,
        summary=scent.summary,
        tokens=scent.tokens,
        size=row.size,
        sha256=row.sha256,
        version=row.version,
        score=scents.score(scent.share, row.rank, best),
    )


def _head(tx: Transaction, ask: NounRef | ReadNoun) -> tuple[BucketRow | None, int]:
    """Where a noun is, and its latest version; or `not_found`."""
    if ask.home != "store":
        bucket: BucketRow | None = tx.one("bucket_named", name=ask.place)
        latest = None if bucket is None else tx.one("object_head", bucket=bucket.bucket, key=ask.key)
        if latest is not None:
            return bucket, latest.version
    if ask.home != "bucket":
        head: RecordHeadRow | None = tx.one("record_head", store=ask.place, key=ask.key)
        if head is not None:
            return None, head.version
    raise NotFound("no such noun")


def _text(data: bytes, length: int, first: int) -> str:
    """The characters that lie within the first `length` bytes, or the first one if that is longer."""
    try:
        text = codecs.getincrementaldecoder("utf-8")().decode(data[:length])
        return text or codecs.getincrementaldecoder("utf-8")().decode(data)[:1]
    except UnicodeDecodeError as error:
        if first and error.start == 0 and data[0] & 0xC0 == 0x80:  # the rest of a character
            raise InvalidRequest("first: in the middle of a character: start where one begins") from error
        raise InvalidRequest("this is no text in UTF-8: get_object gives its bytes") from error


def _alike(
    tx: Transaction, by_words: str, found: Sequence[Phrase], by_parts: str, misspelt: list[str]
) -> list[ReflexRow]:  # fmt: skip
    """Candidates: what has any of the words and, for words that nothing has, what is spelt a little so."""
    rows: list[ReflexRow] = []
    if found:
        rows += tx.all(by_words, phrases=_asked(found), limit=ALIKE_MAX)
    if misspelt:
        rows += tx.all(by_parts, parts=json_text(misspelt), limit=ALIKE_MAX)
    return rows


def _ranked(query: str, candidates: Sequence[ReflexRow], limit: int) -> list[tuple[str, float]]:
    scored = {row.key: likeness(query, row.text) for row in candidates}
    alike = [(key, score) for key, score in scored.items() if score >= ALIKE_MIN]
    return sorted(alike, key=lambda one: (-one[1], one[0]))[:limit]


def _whole(told: Iterable[Told | None]) -> list[Told]:
    return [one for one in told if one is not None]


def _match(tx: Transaction, key: str, score: float) -> ReflexMatch | None:
    value = _value(tx, REFLEXES, key)
    return (
        None if value is None else ReflexMatch(key=key, step=value["step"], score=score, exact=score == 1.0)
    )


def _warning(tx: Transaction, key: str, score: float) -> DeadEnd | None:
    value = _value(tx, TOMBSTONES, key)
    if value is None:
        return None
    kind, error = (msgspec.json.decode(value[name]) for name in ("kind", "last_error"))
    return DeadEnd(task_id=key, kind=kind, error=error, score=score)


def _value(tx: Transaction, store: str, key: str) -> dict[str, Raw] | None:
    """A record's members; None if it was damaged since it was indexed."""
    row: ChunkRow | None = tx.one("record_bytes", store=store, key=key)
    try:
        return None if row is None else msgspec.json.decode(row.bytes, type=dict[str, Raw])
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None
