"""The verbs that move a wake: claim, report, sweep, acknowledge, retry. One transaction each.

The claim commits before the terminal is touched, the outcome after; a death in between is only ever seen as a
lease that ran out.
"""

from __future__ import annotations

from typing import Any

import msgspec

from tessera.canonical import json_text
from tessera.wake import moves, states
from tessera.wake.errors import InvalidRequest, InvalidState, NotFound
from tessera.wake.limits import NOTE_BYTES_MAX, REASON_CHARS_MAX, SETTLED_PER_SWEEP_MAX
from tessera.wake.protocol import Ack, HookActivity, Retry
from tessera.wake.rows import EndpointRow, MessageRow
from tessera.wake.sqlite import Transaction


class Delivery(msgspec.Struct, frozen=True):
    """What a writer gets: the wake, its lease, and how often it was tried before."""

    message: MessageRow
    lease_id: str
    written_before: bool  # whether an earlier attempt reported the text as written
    typed_before: bool  # whether an earlier attempt on this endpoint may have typed it
    entered_before: bool  # whether an earlier attempt on this endpoint may have pressed Enter behind it


def change(tx: Transaction, before: MessageRow, after: MessageRow, event: str, **data: object) -> MessageRow:
    """Store a move that the table allows, with its event."""
    assert event in states.DELIVERY[before.state, after.state], (before.state, after.state, event)
    tx.save("save_message", after)
    tx.event(event, after.message_id, after.endpoint_id, json_text({"state": after.state, **data}))
    return after


def message(tx: Transaction, message_id: str) -> MessageRow:
    """The wake, or `not_found`."""
    row: MessageRow | None = tx.one("message", message_id=message_id)
    if row is None:
        raise NotFound("there is no such message", message_id=message_id)
    return row


def defer(tx: Transaction, message_id: str, reason: str) -> None:
    """The endpoint is not ready: no attempt is counted, until it has lasted too long."""
    row = message(tx, message_id)
    if row.state != states.PENDING or row.lease_id is not None:
        return
    after = moves.deferred(row, tx.now, reason[:REASON_CHARS_MAX])
    if moves.deferred_too_long(after, tx.now):
        lease_id = tx.runtime.new_id("l_")
        leased = moves.claimed(after, tx.now, lease_id)
        tx.runtime.reach("wake.defer.read")
        _begin(tx, row, leased)
        _fail(tx, leased, "not_ready", reason)
        tx.runtime.reach("wake.defer.written")
    elif after is not row:
        change(tx, row, after, "deferred", reason=reason)


def claim(tx: Transaction, message_id: str) -> Delivery | None:
    """Take the wake for one attempt; None when it is no longer there to take."""
    row = message(tx, message_id)
    busy = tx.one("leased_on", endpoint_id=row.endpoint_id)
    due = row.next_attempt_at is not None and row.next_attempt_at <= tx.now
    if row.state != states.PENDING or row.lease_id is not None or busy is not None or not due:
        return None
    tried = tx.all("attempts", message_id=message_id)
    lease_id = tx.runtime.new_id("l_")
    after = moves.claimed(row, tx.now, lease_id)
    tx.runtime.reach("wake.claim.read")
    _begin(tx, row, after)
    tx.runtime.reach("wake.claim.written")
    return Delivery(
        message=after, lease_id=lease_id,
        written_before=any(one.outcome in ("written", "written_late") for one in tried),
        typed_before=any(one.phase != "claimed" and one.endpoint_id == row.endpoint_id for one in tried),
        entered_before=any(one.phase == "typed" and one.endpoint_id == row.endpoint_id for one in tried),
    )  # fmt: skip


def _begin(tx: Transaction, before: MessageRow, leased: MessageRow) -> None:
    tx.write(
        "add_attempt", message_id=leased.message_id, n=leased.total_attempts, endpoint_id=leased.endpoint_id,
        lease_id=leased.lease_id, now=tx.now,
    )  # fmt: skip
    change(tx, before, leased, "claimed", attempt=leased.total_attempts)


def note_phase(tx: Transaction, message_id: str, lease_id: str, phase: str) -> bool:
    """Store how far the writer is about to go. False: the lease was lost, so it must not."""
    row = message(tx, message_id)
    if row.lease_id != lease_id:
        return False
    tx.write("note_phase", message_id=message_id, lease_id=lease_id, phase=phase)
    return True


def report(tx: Transaction, message_id: str, lease_id: str, outcome: str, reason: str | None) -> str:
    """What came of an attempt. A writer whose lease was lost changes nothing but its own line."""
    row = message(tx, message_id)
    if row.lease_id != lease_id:
        if outcome == states.WRITTEN:
            tx.write("end_attempt_late", message_id=message_id, lease_id=lease_id)
            tx.event("written_late", message_id, row.endpoint_id)
        return row.state
    tx.runtime.reach("wake.report.read")
    if outcome == states.WRITTEN:
        after = moves.written(row, tx.now)
        tx.write("end_attempt", message_id=message_id, lease_id=lease_id, now=tx.now, outcome=outcome,
                 reason=reason)  # fmt: skip
        change(tx, row, after, after.state)
    else:
        after = _fail(tx, row, outcome, reason or outcome)
    tx.runtime.reach("wake.report.written")
    return after.state


def _fail(tx: Transaction, row: MessageRow, outcome: str, reason: str) -> MessageRow:
    """The end of a lease that came to nothing."""
    reason = reason[:REASON_CHARS_MAX]
    tx.write("end_attempt", message_id=row.message_id, lease_id=row.lease_id, now=tx.now, outcome=outcome,
             reason=reason)  # fmt: skip
    return change(tx, row, moves.failed(row, tx.now, reason), "attempt_failed", reason=reason)


def sweep(tx: Transaction) -> int:
    """Settle leases that ran out and acknowledgements that did not come; how many."""
    lapsed = tx.all("leases_over", now=tx.now, limit=SETTLED_PER_SWEEP_MAX)
    silent = tx.all("unanswered", now=tx.now, limit=SETTLED_PER_SWEEP_MAX)
    if lapsed or silent:
        tx.runtime.reach("wake.sweep.read")
    for row in lapsed:
        _fail(tx, row, "lease_expired", "lease_expired")
    for row in silent:
        after = moves.unanswered(row, tx.now)
        change(tx, row, after, "attempt_failed", reason="ack_timeout")
    if lapsed or silent:
        tx.runtime.reach("wake.sweep.written")
    return len(lapsed) + len(silent)


def shift(tx: Transaction, by_ms: int) -> None:
    """The wall clock was moved, or the machine slept: nothing that is being waited for comes nearer by it."""
    tx.write("shift_messages", by=by_ms)
    tx.write("shift_endpoints", by=by_ms)


def acknowledge(tx: Transaction, ask: Ack) -> dict[str, Any]:
    """The recipient has it. That wins, also late and also over an attempt under way."""
    if ask.note is not None and len(ask.note.encode()) > NOTE_BYTES_MAX:
        raise InvalidRequest(f"a note has at most {NOTE_BYTES_MAX} bytes", field="note")
    row = message(tx, ask.message_id)
    return _acknowledge(tx, row, ask.source, ask.by, ask.note)


def _acknowledge(
    tx: Transaction, row: MessageRow, source: str, by: str | None, note: str | None
) -> dict[str, Any]:
    if row.state == states.ACKNOWLEDGED:
        return {"message_id": row.message_id, "state": row.state, "already": True, "late": False,
                "was": row.state}  # fmt: skip
    tx.runtime.reach("wake.ack.read")
    if row.lease_id is not None:
        tx.write("end_attempt", message_id=row.message_id, lease_id=row.lease_id, now=tx.now,
                 outcome="acknowledged", reason=None)  # fmt: skip
    after = moves.acknowledged(row, tx.now, source, by, note)
    late = bool(after.ack_late)
    change(tx, row, after, "acknowledged", source=source, late=late, was=row.state)
    tx.runtime.reach("wake.ack.written")
    return {"message_id": row.message_id, "state": after.state, "already": False, "late": late,
            "was": row.state}  # fmt: skip


def retry(tx: Transaction, ask: Retry) -> dict[str, Any]:
    """Start a failed wake's attempts anew; any other state refuses with `invalid_state`."""
    row = message(tx, ask.message_id)
    if row.state != states.FAILED:
        raise InvalidState(f"a retry needs a failed message; this one is {row.state}", state=row.state)
    if ask.expect_total_attempts not in (None, row.total_attempts):
        raise InvalidState("it was tried again since", state=row.state, total_attempts=row.total_attempts)
    tx.runtime.reach("wake.retry.read")
    after = change(tx, row, moves.retried(row, tx.now), "retried", reason=ask.reason)
    tx.runtime.reach("wake.retry.written")
    return {"state": after.state, "attempt_count": after.attempt_count, "retry_count": after.retry_count}


_ACTIVITY_AFTER = {"prompt": "busy", "stop": "idle", "permission": "blocked", "tool": "busy",
                   "session_start": "idle", "session_end": "unknown"}  # fmt: skip


def hook_activity(tx: Transaction, ask: HookActivity) -> dict[str, Any]:
    """What a hook tells: how busy the agent is, and which wakes its prompt held. A hook acknowledges only
    what is bound to its own endpoint, whatever a body may quote.
    """
    endpoint: EndpointRow | None = tx.one("endpoint", endpoint_id=ask.endpoint_id)
    if endpoint is None:
        raise NotFound("there is no such endpoint", endpoint_id=ask.endpoint_id)
    mine = [
        row for message_id in ask.message_ids
        if (row := tx.one("message", message_id=message_id)) and row.endpoint_id == endpoint.endpoint_id
        and row.state != states.ACKNOWLEDGED and (row.total_attempts or row.lease_id)
    ]  # fmt: skip
    tx.save("save_endpoint", msgspec.structs.replace(
        endpoint, activity=_ACTIVITY_AFTER[ask.hook_event], last_seen=max(tx.now, endpoint.last_seen)
    ))  # fmt: skip
    for row in mine:
        _acknowledge(tx, row, "hook", endpoint.harness, None)
    return {"acknowledged": [row.message_id for row in mine]}
