"""When a request may be sent again, and when: pure decisions about refusals that may pass."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

import msgspec
from msgspec import Raw, Struct

from tessera.errors import RateLimited, TesseraError, Unavailable
from tessera.limits import RETRY_AFTER_SECONDS_MAX
from tessera.surface import Row

# Verbs that do the same however often they are asked. So do looks, claims and submits under an idempotency
# key, and enqueues under a task id; every other verb is sent again only if the first certainly did nothing.
SAME_AGAIN: Final = frozenset(
    {
        "define_queue", "pause_queue", "resume_queue", "heartbeat", "reap", "requeue", "register_job",
        "update_job", "revoke_key", "put_blob", "define_bucket", "define_workspace", "define_role",
        "assign_queue", "define_agent", "claim_next", "claim_task", "recover_claims",
    }
)  # fmt: skip


RETRIES: Final = 6


class Patience(Struct, frozen=True):
    """How often a request is sent again, and how long to wait before."""

    retries: int = RETRIES
    base_seconds: float = 0.1
    cap_seconds: float = 5.0

    def pause(
        self, refusal: TesseraError, repeatable: bool, tried: int, uniform: Callable[[float, float], float]
    ) -> float | None:
        """Seconds to let pass after so many tries, or None to give up: the refusal will not pass, or the
        request may have been carried out and must not be carried out twice.
        """
        may_pass = isinstance(refusal, Unavailable | RateLimited)
        if tried > self.retries or not may_pass or not (refusal.definite or repeatable):
            return None
        asked = refusal.retry_after or 0
        if asked > RETRY_AFTER_SECONDS_MAX:
            return None
        backoff: float = min(self.cap_seconds, self.base_seconds * 2.0 ** (tried - 1))
        return asked + backoff * uniform(0.5, 1.0)


def repeatable(row: Row, fields: Mapping[str, Raw]) -> bool:
    """Whether sending this request twice does what sending it once does."""
    if row.reads or row.waits or row.name in SAME_AGAIN:
        return True
    if row.name in ("enqueue", "define_lite_task"):
        return "task_id" in fields
    if row.name == "enqueue_batch":
        return _each_has(fields, "tasks", "task_id")
    if row.name == "submit_batch":
        return _each_has(fields, "submits", "idempotency_key")
    return row.header == "idempotency_key" and row.header in fields


def _each_has(fields: Mapping[str, Raw], items: str, name: str) -> bool:
    try:
        found = msgspec.json.decode(fields[items], type=list[dict[str, Raw]])
    except (KeyError, msgspec.MsgspecError):
        return False  # no such list: the service will say so
    return all(name in item for item in found)
