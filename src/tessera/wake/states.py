"""Every transition of a wake's delivery, and of an endpoint, as tables. A pair that is missing is a bug.

`moves.py` makes the rows; `docs/states.md` is drawn from here. (Adapter contract, "Message and delivery
states".)
"""

from typing import Final

PENDING: Final = "pending"
AWAITING_ACK: Final = "awaiting_ack"
INJECTED: Final = "injected"
ACKNOWLEDGED: Final = "acknowledged"
FAILED: Final = "failed"
DELIVERY_STATES: Final = (PENDING, AWAITING_ACK, INJECTED, ACKNOWLEDGED, FAILED)

NEW: Final = None

# (from, to) -> the events that may announce it
DELIVERY: Final[dict[tuple[str | None, str], frozenset[str]]] = {
    (NEW, PENDING): frozenset({"admitted"}),
    (PENDING, PENDING): frozenset({"deferred", "claimed", "attempt_failed", "rebound"}),
    (PENDING, AWAITING_ACK): frozenset({"awaiting_ack"}),
    (PENDING, INJECTED): frozenset({"injected"}),
    (PENDING, FAILED): frozenset({"attempt_failed"}),
    (PENDING, ACKNOWLEDGED): frozenset({"acknowledged"}),
    (AWAITING_ACK, PENDING): frozenset({"attempt_failed", "rebound"}),
    (AWAITING_ACK, FAILED): frozenset({"attempt_failed"}),
    (AWAITING_ACK, ACKNOWLEDGED): frozenset({"acknowledged"}),
    (INJECTED, ACKNOWLEDGED): frozenset({"acknowledged"}),
    (FAILED, ACKNOWLEDGED): frozenset({"acknowledged"}),
    (FAILED, FAILED): frozenset({"rebound"}),
    (FAILED, PENDING): frozenset({"retried"}),
}

LIVE: Final = "live"
STALE: Final = "stale"  # its connection or its agent is away and may come back
GONE: Final = "gone"
DETACHED: Final = "detached"
REPLACED: Final = "replaced"
ENDED: Final = frozenset({GONE, DETACHED, REPLACED})

ENDPOINT: Final[dict[tuple[str | None, str], frozenset[str]]] = {
    (NEW, LIVE): frozenset({"endpoint_registered"}),
    (LIVE, STALE): frozenset({"endpoint_stale"}),
    (STALE, LIVE): frozenset({"endpoint_live"}),
    (LIVE, GONE): frozenset({"endpoint_gone"}),
    (STALE, GONE): frozenset({"endpoint_gone"}),
    (LIVE, DETACHED): frozenset({"endpoint_detached"}),
    (STALE, DETACHED): frozenset({"endpoint_detached"}),
    (LIVE, REPLACED): frozenset({"endpoint_replaced"}),
    (STALE, REPLACED): frozenset({"endpoint_replaced"}),
}

EVENT_TYPES: Final = tuple(
    sorted(
        {event for table in (DELIVERY, ENDPOINT) for events in table.values() for event in events}
        | {"written_late"}
    )
)

# Why an endpoint may not be written to now. A human at the keys never costs a wake an attempt.
USER_TYPING: Final = "user_typing"
DRAFT: Final = "draft"
HUMAN: Final = frozenset({USER_TYPING, DRAFT})

WRITTEN: Final = "written"
NOT_READY: Final = "not_ready"  # nothing was typed after all
STAGED: Final = "staged"  # the text may be in the composer; Enter was withheld, or was not taken
LOST: Final = "gone"
OUTCOMES: Final = (WRITTEN, NOT_READY, STAGED, LOST)
