"""The documents of the sent ledger: their shapes, canonical bytes and digests, and the strict parser.

Canonical bytes are compact JSON in declared key order, raw UTF-8, without a final newline. A digest is the
SHA-256 of the canonical bytes of a *value*: a file whose keys stand in another order still has its digest.
"""

from __future__ import annotations

import hashlib
import json
from typing import Final, TypeVar

import msgspec
from msgspec import UNSET, Struct, UnsetType

from tessera.messages import forms
from tessera.messages.errors import LedgerDamaged

U64_MAX: Final = 2**64 - 1
KINDS: Final = frozenset({"agent", "principal", "external"})
_encode = msgspec.json.Encoder().encode


class Document(Struct, frozen=True, forbid_unknown_fields=True, gc=False):
    """The manners of every document of the ledger."""

    def fault(self) -> str | None:
        """What is wrong with its values, if anything. Each document says so itself."""
        raise NotImplementedError  # one that forgot must not pass for sound


class Index(Document, frozen=True):
    """`index.json`, the head: since when (ms), how many rows, and the digest of the newest node."""

    version: int
    since: int
    count: int
    tip: str | None

    def fault(self) -> str | None:
        """A version, a range, or a count that contradicts the tip."""
        if self.version != 1:
            return f"unsupported sent head version {self.version}"
        if (self.count == 0) != (self.tip is None):
            return "sent head count/tip mismatch"
        if self.tip is not None and not forms.is_digest(self.tip):
            return "invalid sent head tip"
        return _range_fault(self.since, self.count)


class Active(Document, frozen=True, rename={"record_digest": "recordDigest"}):
    """`active.json`: the one publication in flight."""

    version: int
    filename: str
    record_digest: str

    def fault(self) -> str | None:
        """A version, or a name or digest that is none."""
        if self.version != 1:
            return f"unsupported active sent version {self.version}"
        if not forms.is_filename(self.filename):
            return "invalid active sent filename"
        return None if forms.is_digest(self.record_digest) else "invalid active sent digest"


class Node(Document, frozen=True, rename={"row_digest": "rowDigest"}):
    """`commits/<digest>.json`: ties one row to all that went before."""

    version: int
    ordinal: int
    previous: str | None
    filename: str
    row_digest: str

    def fault(self) -> str | None:
        """A version, or a name or digest that is none."""
        if self.version != 1:
            return f"unsupported sent commit version {self.version}"
        if not forms.is_filename(self.filename):
            return "invalid sent commit filename"
        if self.previous is not None and not forms.is_digest(self.previous):
            return "invalid sent commit predecessor"
        return _range_fault(self.ordinal) if forms.is_digest(self.row_digest) else "invalid sent row digest"


class Receipt(Document, frozen=True, rename={"record_digest": "recordDigest"}):
    """`keys/<digest of [to, key]>.json`: which row an idempotency key stands for."""

    version: int
    to: str
    key: str
    filename: str
    record_digest: str

    def fault(self) -> str | None:
        """A version, or a name or digest that is none."""
        if self.version != 1:
            return f"unsupported sent key version {self.version}"
        if not forms.is_filename(self.filename):
            return "invalid sent key filename"
        return None if forms.is_digest(self.record_digest) else "invalid sent key digest"


_RECORD_NAMES: Final = {
    "from_": "from", "in_reply_to": "inReplyTo", "idempotency_key": "idempotencyKey",
    "rendered_message": "renderedMessage", "from_address": "fromAddress", "to_address": "toAddress",
    "from_kind": "fromKind", "to_kind": "toKind",
}  # fmt: skip


class Record(Document, frozen=True, rename=_RECORD_NAMES):
    """A sent message: `pending/<digest>.json` first, then the same bytes as `messages/<filename>.json`."""

    version: int
    filename: str
    ts: int
    from_: str
    to: str
    subject: str | None
    in_reply_to: str | None
    tags: list[str]
    priority: str | None
    idempotency_key: str | None
    body: str
    rendered_message: str
    from_address: str | UnsetType | None = UNSET
    to_address: str | UnsetType | None = UNSET
    from_kind: str | UnsetType | None = UNSET
    to_kind: str | UnsetType | None = UNSET

    def fault(self) -> str | None:
        """A version, a filename, or endpoint fields that its version does not have."""
        kinds = (self.from_kind, self.to_kind)
        if self.version not in (1, 2):
            return f"unsupported sent record version {self.version}"
        if not forms.is_filename(self.filename):
            return "invalid sent record filename"
        if self.version == 1 and {self.from_address, self.to_address, *kinds} != {UNSET}:
            return "version-1 sent record carries version-2 endpoint fields"
        if self.version == 2 and not KINDS.issuperset(kinds):
            return "version-2 sent record is missing an explicit endpoint kind"
        return _range_fault(self.ts)


Kind = TypeVar("Kind", bound=Document)


def canonical_bytes(document: Document) -> bytes:
    """The bytes that are written, and hashed."""
    return _encode(document)


def digest(document: Document) -> str:
    """SHA-256 of the canonical bytes, in lower-case hex."""
    return hashlib.sha256(_encode(document)).hexdigest()


def key_digest(to: str, key: str) -> str:
    """The name under which the receipt of a key is kept; the sender is whoever owns the ledger."""
    return hashlib.sha256(_encode([to, key])).hexdigest()


def parse(kind: type[Kind], raw: bytes, what: str) -> Kind:
    """The document in a file, or `LedgerDamaged` naming `what` it was read from.

    Unknown, missing and repeated keys, wrong types, numbers out of range, a byte-order mark, lone surrogates,
    trailing bytes and unsupported versions are all refused.
    """
    try:
        document = msgspec.json.decode(raw, type=kind)
        if _encode(document) != raw:  # not as written: it may hold what that parser lets through
            document = msgspec.convert(strict_object(raw), kind)
    except (ValueError, RecursionError) as error:  # msgspec's errors are ValueErrors
        raise LedgerDamaged(f"reading {what}: {error}") from error
    document = _without_nulls(document)
    if (fault := document.fault()) is not None:
        raise LedgerDamaged(f"{fault}: {what}")
    return document


def strict_object(raw: bytes) -> object:
    """Exactly one JSON object in strict UTF-8, without repeated keys, or numbers that are not integers.

    Raises ValueError or RecursionError for anything else.
    """
    value = json.loads(
        raw.decode("utf-8"),
        object_pairs_hook=_without_repeats, parse_float=_no_number, parse_constant=_no_number,
        parse_int=_integer,
    )  # fmt: skip
    _encode(value)  # a lone surrogate cannot be written
    return value


def _without_repeats(pairs: list[tuple[str, object]]) -> dict[str, object]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise ValueError("a key is given twice")
    return members


def _no_number(literal: str) -> object:
    raise ValueError(f"{literal} is no integer")


def _integer(literal: str) -> int:
    if literal.startswith("-") or len(literal) > 20:
        raise ValueError("an integer out of range")
    return int(literal)


def _range_fault(*numbers: int) -> str | None:
    return None if all(0 <= number <= U64_MAX for number in numbers) else "an integer out of range"


def _without_nulls(document: Kind) -> Kind:
    """Null in a field that may be left out means that it was left out."""
    if not isinstance(document, Record):
        return document
    optional = ("from_address", "to_address", "from_kind", "to_kind")
    nulls = {name: UNSET for name in optional if getattr(document, name) is None}
    return msgspec.structs.replace(document, **nulls) if nulls else document
