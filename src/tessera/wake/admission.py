"""Admitting a wake: checked, bound to exactly one live endpoint, stored once for each key. (Adapter contract,
"Wake mapping".)
"""

from __future__ import annotations

import hashlib
from typing import Any

import msgspec

from tessera.canonical import json_text
from tessera.wake import moves, states
from tessera.wake.deliveries import change
from tessera.wake.errors import (
    AmbiguousEndpoint,
    BodyTooLarge,
    IdempotencyConflict,
    InvalidRequest,
    MetadataTooLarge,
    Unavailable,
)
from tessera.wake.limits import BODY_BYTES_MAX, METADATA_BYTES_MAX, TTL_MS
from tessera.wake.protocol import Send
from tessera.wake.rows import EndpointRow, MessageRow
from tessera.wake.sqlite import Transaction


def check_sizes(ask: Send) -> str:
    """The metadata as text. Refuses what is too large, and a body with nothing in it."""
    size = len(ask.body.encode())
    if size > BODY_BYTES_MAX:
        raise BodyTooLarge(limit=BODY_BYTES_MAX, got=size)
    if not ask.body.strip():
        raise InvalidRequest("the body is empty", field="body")
    metadata = json_text(ask.metadata)
    size = len(metadata.encode())
    if size > METADATA_BYTES_MAX:
        raise MetadataTooLarge(limit=METADATA_BYTES_MAX, got=size)
    return metadata


def send(tx: Transaction, ask: Send, metadata: str) -> dict[str, Any]:
    """Admit a wake, or find the one that its key already belongs to. Refuses `unavailable` and
    `ambiguous_endpoint` without making a message, and a key's other use with `idempotency_conflict`.
    """
    known: MessageRow | None = tx.one(
        "message_of_key", client_id=ask.client_id, idempotency_key=ask.idempotency_key
    )
    if known is not None:
        return _again(tx, known, ask, metadata)
    endpoint = _resolve(tx, ask)
    message_id = "m_" + hashlib.sha256(tx.runtime.token().encode()).hexdigest()[:16]  # a body cannot guess it
    tx.runtime.reach("wake.send.read")
    tx.write(
        "add_message", message_id=message_id, client_id=ask.client_id, idempotency_key=ask.idempotency_key,
        correlation_id=ask.correlation_id, sender_repo=ask.sender_repo, target_repo=ask.target_repo,
        provenance=ask.provenance, metadata=metadata, body=ask.body, endpoint_id=endpoint.endpoint_id,
        ack_mode=endpoint.ack_mode, max_attempts=endpoint.max_attempts,
        ack_timeout_ms=endpoint.ack_timeout_ms, now=tx.now,
    )  # fmt: skip
    tx.event("admitted", message_id, endpoint.endpoint_id)
    tx.runtime.reach("wake.send.written")
    return {
        "message_id": message_id, "deduplicated": False, "rebound": False, "state": states.PENDING,
        "endpoint_id": endpoint.endpoint_id, "next_attempt_at": tx.now,
    }  # fmt: skip


def _resolve(tx: Transaction, ask: Send) -> EndpointRow:
    """The one live endpoint of the target; never an arbitrary one of several."""
    fitting = [
        row for row in tx.all("open_endpoints")
        if row.state == states.LIVE and ask.target_repo in msgspec.json.decode(row.repos)
    ]  # fmt: skip
    if ask.endpoint_id is not None:
        fitting = [row for row in fitting if row.endpoint_id == ask.endpoint_id]
        if not fitting:
            raise Unavailable("the endpoint is not live for this repository", reason="endpoint_not_live")
    if not fitting:
        raise Unavailable(reason="no_endpoint")
    if len(fitting) > 1:
        raise AmbiguousEndpoint(endpoints=[row.endpoint_id for row in fitting])
    one: EndpointRow = fitting[0]
    return one


def _again(tx: Transaction, known: MessageRow, ask: Send, metadata: str) -> dict[str, Any]:
    """The key is known: the same wake is answered with its message, another one is refused."""
    differs = [
        name for name in ("sender_repo", "target_repo", "body") if getattr(ask, name) != getattr(known, name)
    ]  # fmt: skip
    if differs:
        raise IdempotencyConflict(message_id=known.message_id, differs=differs)
    if ask.endpoint_id is None or ask.endpoint_id == known.endpoint_id:
        return _found(known, ask, metadata)
    old: EndpointRow | None = tx.one("endpoint", endpoint_id=known.endpoint_id)
    if not moves.may_rebind_from(old, tx.now, TTL_MS):
        if old is not None and old.state == states.STALE:
            raise Unavailable("the previous endpoint may still come back", reason="endpoint_stale")
        raise IdempotencyConflict(
            "the message belongs to another endpoint, which is live", message_id=known.message_id,
            differs=["endpoint_id"],
        )  # fmt: skip
    endpoint = _resolve(tx, ask)
    if known.state in (states.ACKNOWLEDGED, states.INJECTED):
        return _found(known, ask, metadata)
    if known.lease_id is not None:
        raise Unavailable("an attempt is under way", reason="attempt_in_flight")
    tx.runtime.reach("wake.rebind.read")
    after = change(tx, known, moves.rebound(known, tx.now, endpoint), "rebound", previous=known.endpoint_id)
    tx.runtime.reach("wake.rebind.written")
    return _found(after, ask, metadata) | {"rebound": True, "previous_endpoint_id": known.endpoint_id}


def _found(row: MessageRow, ask: Send, metadata: str) -> dict[str, Any]:
    found: dict[str, Any] = {
        "message_id": row.message_id, "deduplicated": True, "rebound": False, "state": row.state,
        "endpoint_id": row.endpoint_id, "next_attempt_at": row.next_attempt_at,
    }  # fmt: skip
    differs = [
        name for name, given, kept in (
            ("metadata", metadata, row.metadata), ("correlation_id", ask.correlation_id, row.correlation_id)
        ) if given != kept
    ]  # fmt: skip
    return found | ({"differs": differs} if differs else {})
