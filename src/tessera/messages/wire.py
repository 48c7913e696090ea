"""What is told to others: the coverage union, and rows as JSON. Absent and null stay different."""

from __future__ import annotations

from typing import TypeAlias

from msgspec import UNSET, Struct, UnsetType


class Unavailable(Struct, frozen=True, tag_field="_tag", tag="unavailable"):
    """There is no ledger: nothing is claimed about what was sent."""


class Since(Struct, frozen=True, tag_field="_tag", tag="since"):
    """Everything sent at or after this instant (ms since 1970) is represented."""

    since: int


class Partial(Struct, frozen=True, tag_field="_tag", tag="partial"):
    """The same, but for messages whose publication is not complete."""

    since: int
    pending: int


Coverage: TypeAlias = Unavailable | Since | Partial

_NAMES = {
    "in_reply_to": "inReplyTo", "idempotency_key": "idempotencyKey", "to_address": "toAddress",
    "to_kind": "toKind", "from_": "from", "from_id": "fromId", "event_id": "eventId",
    "event_key": "eventKey",
}  # fmt: skip


class SentMessageRow(Struct, frozen=True, rename=_NAMES):
    """One sent message. It says `to`, never `from`."""

    filename: str
    ts: int
    to: str
    subject: str | None
    in_reply_to: str | None
    tags: list[str]
    priority: str | None
    idempotency_key: str | UnsetType = UNSET
    body: str | UnsetType = UNSET
    to_address: str | UnsetType | None = UNSET
    to_kind: str | UnsetType | None = UNSET


class SentMessages(Struct, frozen=True):
    """`sent --json`."""

    coverage: Coverage
    messages: list[SentMessageRow]


class MessageRow(Struct, frozen=True, rename=_NAMES):
    """One received message."""

    filename: str
    ts: int
    from_: str | None
    subject: str | None
    in_reply_to: str | None
    tags: list[str]
    priority: str | None
    from_id: str | UnsetType = UNSET
    idempotency_key: str | UnsetType = UNSET
    stream: str | UnsetType = UNSET
    event_id: str | UnsetType = UNSET
    event_key: str | UnsetType = UNSET
    body: str | UnsetType = UNSET
