"""What the tests of the log stand on: claims that anybody could have made, rows as a mirror shows them, and
an engine that carries acts out.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any

import msgspec

from tessera.acts.act import Act, Answer, carry_out
from tessera.lite.message import Commitments, LiteClaim, claim_message, decode
from tessera.lite.running_hash import GENESIS, entity, nanoseconds, running_hash, timestamp
from tessera.models import TopicMessage
from tessera.rules.grants import OWNER
from tessera.runtime import rfc3339
from tessera.storage.direct import DirectEngine

SECRET = b"the secret of a workspace"
TOPIC = "0.0.4711"
PAYER = "0.0.1002"
NOON_US = 1_800_000_000_000_000
IDS = dict(
    claim_id="clm_00000001", workspace_id="ws_a", queue_id="mail", role_id="role_writer", task_id="t_1",
    agent_id="agt_1", fencing_token=1, lease_seconds=600, idempotency_key="once",
    created_at=rfc3339(NOON_US),
)  # fmt: skip


def message(secret: bytes = SECRET, **ids: Any) -> bytes:
    """The message of a claim, except as told the same one each time."""
    return claim_message(Commitments(secret), **{**IDS, **ids})


def claim(**ids: Any) -> LiteClaim:
    """That message, decoded."""
    found = decode(message(**ids))
    assert found is not None
    return found


def rows(
    messages: Iterable[bytes], payer: str = PAYER, begin_us: int = NOON_US, payers: Sequence[str] = ()
) -> list[TopicMessage]:
    """A topic of these messages, one a second, its running hashes right; `payers` may name each one's."""
    topic, previous = [], GENESIS
    for number, content in enumerate(messages, 1):
        payer = payers[number - 1] if payers else payer
        consensus_ns = (begin_us + number * 1_000_000) * 1_000
        previous = running_hash(previous, entity(payer), entity(TOPIC), consensus_ns, number, content)
        topic.append(TopicMessage(timestamp(consensus_ns), content, payer, previous, 3, number, TOPIC))
    return topic


def chained(topic: Iterable[TopicMessage]) -> bool:
    """Whether each row's running hash follows from the row before it."""
    previous = GENESIS
    for row in topic:
        previous = running_hash(
            previous, entity(row.payer_account_id), entity(row.topic_id),
            nanoseconds(row.consensus_timestamp), row.sequence_number, row.message,
        )  # fmt: skip
        if previous != row.running_hash:
            return False
    return True


def done(engine: DirectEngine, act: Act[Answer]) -> Answer:
    """What comes of an act, its steps taken by the store's owner."""
    return carry_out(act, engine, OWNER, partial(bytes))


def changed(row: TopicMessage, **fields: Any) -> TopicMessage:
    """A row with something else in it."""
    return msgspec.structs.replace(row, **fields)
