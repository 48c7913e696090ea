"""verify_topics: every topic from its first row on: its hashes, its winners, and the store's claims."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final

import msgspec
from msgspec import Struct

from tessera.acts.act import Act, Look, Work
from tessera.canonical import json_text
from tessera.errors import NotFound
from tessera.limits import INTEGER_MAX, PAGE_MAX
from tessera.lite.checking import TopicCheck
from tessera.lite.homes import is_own, reaching
from tessera.lite.log import OrderedLog
from tessera.models import TopicsVerified, TopicVerified
from tessera.rows import PlacedClaim, RoleTopic, TopicRow
from tessera.rules import grants
from tessera.rules.grants import Caller
from tessera.runtime import Runtime
from tessera.storage.port import Transaction
from tessera.verbs.guarded import Guarded

PENDING: Final = "pending"
_UNREAD: Final = (
    "its rows lie on a network, and this is the store's own log: set TESSERA_LITE_LOG=hedera, or name a "
    "mirror node (--mirror URL)"
)
Tell = Callable[[str, int, int], None]  # which topic, how many of its rows, out of about how many


class Placed(Struct, frozen=True):
    """Which claims to compare: those whose messages stand in a topic after one number and up to another."""

    topic_id: str
    after: int
    through: int


class Home(Struct, frozen=True):
    """A role's topic, and whether it is of the store's own log."""

    topic: RoleTopic
    own: bool


def verify_topics(topic_id: str | None, log: OrderedLog, tell: Tell) -> Act[TopicsVerified]:
    """Read every role's topic, or one, from its first row: recompute its running hashes and the winners of
    its contests, and compare each claim of the store. Refuses a topic that is no role's with `not_found`.
    A topic of the store's own log is read there, whatever `log` is. Tells after each page how far it is, out
    of the rows that the store's claims name.
    """
    topics: list[Home] = yield Look(_TOPICS, topic_id)
    if topic_id is not None and not topics:
        raise NotFound("no role's claims go to this topic")
    found = []
    for home in topics:
        where = reaching(log, home.own)
        if where is None:
            found.append(_unread(home.topic))
        else:
            found.append((yield from _verified(home.topic, where, tell)))
    return TopicsVerified(ok=not any(one.finding or one.unread for one in found), topics=found)


def _unread(topic: RoleTopic) -> TopicVerified:
    return TopicVerified(
        topic_id=topic.topic_id, role_id=topic.role_id, workspace_id=topic.workspace_id, rows=0, contests=0,
        claims=0, unseen=0, finding=None, unread=_UNREAD,
    )  # fmt: skip


def _verified(topic: RoleTopic, log: OrderedLog, tell: Tell) -> Act[TopicVerified]:
    accounts = msgspec.json.decode(topic.accounts, type=list[str])
    trusted = accounts or [(yield from log.payer())]
    check, compared, unseen, finding = TopicCheck(topic.topic_id, trusted), 0, 0, None
    last: int = yield Look(_LAST, topic.topic_id)
    while finding is None:
        after = check.chain.sequence_number
        page = yield from log.read(topic.topic_id, after, PAGE_MAX)
        if not page:
            beyond: list[PlacedClaim] = yield Look(_PLACED, Placed(topic.topic_id, after, INTEGER_MAX))
            head: TopicRow = yield Look(_HEAD, topic.topic_id)
            if (yield from log.read(topic.topic_id, after, 1)):
                continue  # the topic has grown since
            unseen, finding = _beyond(beyond)
            finding = finding or (
                check.end(head.sequence_number or 0, head.running_hash) if log.at_home else None
            )
            break
        finding = yield Work(partial(check.rows, page))
        if finding is None:
            through = check.chain.sequence_number
            claims: list[PlacedClaim] = yield Look(_PLACED, Placed(topic.topic_id, after, through))
            finding = yield Work(partial(check.claims, claims))
            compared += len(claims)
        if finding is None:
            known: set[str] = yield Look(_KNOWN, check.contested)
            finding = check.unknown(known)
            tell(f"topic {topic.topic_id}", through, max(through, last))
    return TopicVerified(
        topic_id=topic.topic_id,
        role_id=topic.role_id,
        workspace_id=topic.workspace_id,
        rows=check.chain.sequence_number,
        contests=len(check.winners.found),
        claims=compared,
        unseen=unseen,
        finding=finding,
    )


def _beyond(claims: list[PlacedClaim]) -> tuple[int, str | None]:
    """How many claims name rows that are still to come, or what is wrong with one that names a row that was
    there.
    """
    for claim in claims:
        if claim.proof_status != PENDING:
            return 0, f"claim {claim.claim_id}: row {claim.sequence_number} is missing"
    return len(claims), None


def topics_to_verify(tx: Transaction, runtime: Runtime, caller: Caller, ask: str | None) -> list[Home]:
    """The topics of all roles, or one of them, and which of them are of the store's own log."""
    grants.is_admin(caller)
    topics: list[RoleTopic] = tx.all("topics_of_roles", topic_id=ask)
    return [Home(one, is_own(tx, one.workspace_id, one.role_id, one.topic_id)) for one in topics]


def topic_head(tx: Transaction, runtime: Runtime, caller: Caller, ask: str) -> TopicRow:
    """Where the store's own log knows a topic to end."""
    grants.is_admin(caller)
    head: TopicRow = tx.one("topic_head", topic_id=ask)
    return head


def last_place(tx: Transaction, runtime: Runtime, caller: Caller, ask: str) -> int:
    """The last row of a topic that a claim names, 0 if none does."""
    grants.is_admin(caller)
    number: int = tx.one("last_place", topic_id=ask).value
    return number


def claims_placed(tx: Transaction, runtime: Runtime, caller: Caller, ask: Placed) -> list[PlacedClaim]:
    """The claims whose messages stand in some rows, with all that the messages are made of."""
    grants.is_admin(caller)
    return tx.all(
        "claims_placed", topic_id=ask.topic_id, after=ask.after, through=ask.through, limit=PAGE_MAX + 1
    )


def claims_known(tx: Transaction, runtime: Runtime, caller: Caller, ask: list[str]) -> set[str]:
    """Those of some claim ids that the store has."""
    grants.is_admin(caller)
    return {row.value for row in tx.all("claims_known", claim_ids=json_text(ask))}


_TOPICS = Guarded(topics_to_verify, None)
_LAST = Guarded(last_place, None)
_HEAD = Guarded(topic_head, None)
_PLACED = Guarded(claims_placed, None)
_KNOWN = Guarded(claims_known, None)
