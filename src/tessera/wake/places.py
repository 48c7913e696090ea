"""The verbs of endpoints: register, come back, end, and say which there are."""

from __future__ import annotations

import hashlib
import hmac
from typing import Any

import msgspec
from msgspec.structs import replace

from tessera.canonical import json_text
from tessera.wake import states
from tessera.wake.errors import EndpointGone, EndpointLive, Forbidden, InvalidRequest, NotFound
from tessera.wake.limits import HEARTBEAT_SECONDS, SECOND_MS, TARGET_BYTES_MAX, TTL_MS
from tessera.wake.protocol import Detach, Endpoints, Heartbeat, Register
from tessera.wake.rows import EndpointRow
from tessera.wake.sqlite import Transaction


def register(tx: Transaction, ask: Register) -> dict[str, Any]:
    """A new endpoint. Its name may take the place of one that is not live, or of a live one on purpose."""
    target = json_text(ask.target)
    if len(target.encode()) > TARGET_BYTES_MAX:
        raise InvalidRequest(f"a target has at most {TARGET_BYTES_MAX} bytes", field="target")
    old: EndpointRow | None = tx.one("endpoint_named", name=ask.name)
    if old is not None and old.state == states.LIVE and not ask.replace:
        raise EndpointLive(endpoint_id=old.endpoint_id)
    endpoint_id, token = tx.runtime.new_id("e_"), tx.runtime.token()
    tx.runtime.reach("wake.register.read")
    if old is not None:
        change(tx, old, states.REPLACED, f"replaced by {endpoint_id}")
    owner = ask.owner
    tx.write(
        "add_endpoint", endpoint_id=endpoint_id, name=ask.name, kind=ask.kind, target=target,
        harness=ask.harness, repos=json_text(sorted(set(ask.repos))), ack_mode=ask.delivery_ack_mode,
        max_attempts=ask.delivery_max_attempts, ack_timeout_ms=ask.ack_timeout_s * SECOND_MS,
        owner_pid=owner.pid if owner else None, owner_start=owner.start if owner else None,
        resume_sha256=_hash(token), now=tx.now,
    )  # fmt: skip
    tx.event("endpoint_registered", None, endpoint_id)
    tx.runtime.reach("wake.register.written")
    answer = {"endpoint_id": endpoint_id, "resume_token": token, "heartbeat_s": HEARTBEAT_SECONDS,
              "ttl_s": TTL_MS // SECOND_MS}  # fmt: skip
    return answer | ({"replaced": old.endpoint_id} if old is not None else {})


def change(tx: Transaction, before: EndpointRow, state: str, reason: str | None) -> EndpointRow:
    """Store a move of the table, with its event."""
    (event,) = states.ENDPOINT[before.state, state]
    away = None if state == states.LIVE else before.away_since or tx.now
    after = replace(
        before, state=state, reason=reason, away_since=away, last_seen=max(tx.now, before.last_seen)
    )
    tx.save("save_endpoint", after)
    tx.event(event, None, before.endpoint_id, json_text({"reason": reason}))
    return after


def stands(tx: Transaction, endpoint_id: str, state: str, reason: str | None) -> None:
    """Somebody has looked at the endpoint: note it if that is news. What has ended stays ended."""
    row: EndpointRow | None = tx.one("endpoint", endpoint_id=endpoint_id)
    if row is not None and row.state not in states.ENDED and row.state != state:
        change(tx, row, state, reason)


def resumed(tx: Transaction, endpoint_id: str, token: str) -> EndpointRow:
    """The holder of the resume token is back: the endpoint is live."""
    row = _held(tx, endpoint_id, token)
    return row if row.state == states.LIVE else change(tx, row, states.LIVE, None)


def heartbeat(tx: Transaction, ask: Heartbeat) -> dict[str, Any]:
    """Still there. A stale endpoint with a process of its own is looked at by the service instead."""
    row = _held(tx, ask.endpoint_id, ask.resume_token)
    tx.save("save_endpoint", replace(
        row, last_seen=max(tx.now, row.last_seen), activity=ask.activity or row.activity
    ))  # fmt: skip
    return {"state": row.state}


def detach(tx: Transaction, ask: Detach) -> dict[str, Any]:
    """The endpoint ends; its wakes stay."""
    row = endpoint(tx, ask.endpoint_id)
    if ask.resume_token is not None:
        _check(row, ask.resume_token)
    pending = tx.one("pending_on", endpoint_id=row.endpoint_id).value
    if row.state not in states.ENDED:
        change(tx, row, states.DETACHED, ask.reason or "detached")
        return {"state": states.DETACHED, "pending": pending}
    return {"state": row.state, "pending": pending}


def all_stale(tx: Transaction) -> None:
    """The service has started: endpoints that live by a connection are away until they come back."""
    for row in [row for row in tx.all("open_endpoints") if row.kind == "pty" and row.state == states.LIVE]:
        change(tx, row, states.STALE, "service_restarted")


def listed(tx: Transaction, ask: Endpoints) -> dict[str, Any]:
    """The endpoints that fit."""
    rows = [
        row for row in tx.all("open_endpoints" if ask.live and ask.endpoint_id is None else "all_endpoints")
        if (ask.endpoint_id in (None, row.endpoint_id))
        and (ask.live is None or ask.live == (row.state == states.LIVE))
        and (ask.repo is None or ask.repo in msgspec.json.decode(row.repos))
    ]  # fmt: skip
    return {"endpoints": [_shown(tx, row) for row in rows]}


def _shown(tx: Transaction, row: EndpointRow) -> dict[str, Any]:
    leased = tx.one("leased_on", endpoint_id=row.endpoint_id)
    return {
        "endpoint_id": row.endpoint_id, "name": row.name, "kind": row.kind, "harness": row.harness,
        "repos": msgspec.json.decode(row.repos), "target": msgspec.json.decode(row.target),
        "state": row.state, "live": row.state == states.LIVE, "live_reason": row.reason,
        "activity": row.activity, "delivery_ack_mode": row.ack_mode,
        "delivery_max_attempts": row.max_attempts, "ack_timeout_s": row.ack_timeout_ms // SECOND_MS,
        "registered_at": row.registered_at, "last_seen": row.last_seen,
        "in_flight": leased.message_id if leased else None,
        "pending": tx.one("pending_on", endpoint_id=row.endpoint_id).value,
    }  # fmt: skip


def endpoint(tx: Transaction, endpoint_id: str) -> EndpointRow:
    """The endpoint, or `not_found`."""
    row: EndpointRow | None = tx.one("endpoint", endpoint_id=endpoint_id)
    if row is None:
        raise NotFound("there is no such endpoint", endpoint_id=endpoint_id)
    return row


def _held(tx: Transaction, endpoint_id: str, token: str) -> EndpointRow:
    row = endpoint(tx, endpoint_id)
    _check(row, token)
    if row.state in states.ENDED:
        raise EndpointGone(state=row.state)
    return row


def _check(row: EndpointRow, token: str) -> None:
    if not hmac.compare_digest(row.resume_sha256, _hash(token)):
        raise Forbidden("the resume token is another endpoint's")


def _hash(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()
