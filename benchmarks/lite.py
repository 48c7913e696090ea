"""What lite claims cost. Run as `python -m benchmarks.lite [--short]`.

Verifying: a topic of claims followed, its winners found, beside the two bare SHA-384 a row that any reader
owes: one over the message, one over the running hash's preimage.

Claiming: claim-next on the store's own log beside the plain durable claim (`lite_claims.py`).
"""

from __future__ import annotations

import hashlib
import statistics
import sys
import time
from collections.abc import Callable

from benchmarks.lite_claims import claiming
from tessera.lite.chain import Chain
from tessera.lite.message import Commitments, claim_message
from tessera.lite.running_hash import GENESIS, entity, running_hash, timestamp
from tessera.lite.winner import winners
from tessera.models import TopicMessage
from tessera.runtime import rfc3339

TOPIC, PAYER = "0.0.4711", "0.0.1002"
BEGIN_US = 1_800_000_000_000_000
PREIMAGE = bytes(27 + 48 + 78 + 10 + 48)
ROUNDS = 5


def seconds(act: Callable[[], object]) -> float:
    """How long an act takes."""
    start = time.perf_counter()
    act()
    return time.perf_counter() - start


def topic_of(rows: int) -> list[TopicMessage]:
    """A topic of claims, two agents to a task, a millisecond apart."""
    names, made, previous = Commitments(bytes(32)), [], GENESIS
    for number in range(1, rows + 1):
        now_us = BEGIN_US + number * 1_000
        content = claim_message(
            names, claim_id=f"clm_{number:032x}", workspace_id="ws_a", queue_id="q", role_id="role_a",
            task_id=f"t_{number // 2}", agent_id=f"agt_{number % 2}", fencing_token=1, lease_seconds=600,
            idempotency_key=f"k{number}", created_at=rfc3339(now_us),
        )  # fmt: skip
        previous = running_hash(previous, entity(PAYER), entity(TOPIC), now_us * 1_000, number, content)
        made.append(TopicMessage(timestamp(now_us * 1_000), content, PAYER, previous, 3, number, TOPIC))
    return made


def bare(topic: list[TopicMessage]) -> None:
    """Two SHA-384 a row, and nothing else."""
    sha384 = hashlib.sha384
    for row in topic:
        sha384(row.message).digest()
        sha384(PREIMAGE).digest()


def verify(topic: list[TopicMessage]) -> None:
    """The topic's chain, and the winner of each of its contests."""
    assert Chain(TOPIC).follow(topic) is None
    assert len(winners(topic, frozenset({PAYER}))) == len(topic) // 2 + 1


def verifying(rows: int) -> None:
    """Both, in turns."""
    topic = topic_of(rows)
    rates = {
        act: [rows / seconds(lambda act=act: act(topic)) for _ in range(ROUNDS)] for act in (bare, verify)
    }
    owed, ours = (statistics.median(rates[act]) for act in (bare, verify))
    print(f"two bare SHA-384 a row     {owed:>10,.0f} rows/s")
    print(f"chain and winners          {ours:>10,.0f} rows/s   {ours / owed:.2f} x (bound: at least 0.20)")


if __name__ == "__main__":
    short = "--short" in sys.argv
    verifying(2_000 if short else 20_000)
    claiming(400 if short else 1_600, 3 if short else ROUNDS)
