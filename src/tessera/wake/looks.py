"""Reading the message store: one receipt, pages of them, statistics, the log."""

from __future__ import annotations

from typing import Any

import msgspec

from tessera.wake.errors import InvalidRequest, NotFound
from tessera.wake.limits import LINE_BYTES_MAX
from tessera.wake.protocol import GetMessage, History, Subscribe
from tessera.wake.rows import EventRow, MessageRow
from tessera.wake.sqlite import Transaction

HOUR_MS = 3_600_000
ROOM_BYTES = LINE_BYTES_MAX - 1_024  # of a page's messages, beside what surrounds them
_HIDDEN = ("lease_id", "ack_mode", "ack_timeout_ms", "body", "metadata", "ack_late", "deferred_since")


def shown(row: MessageRow, *, body: bool) -> dict[str, Any]:
    """A receipt as the wire shows it."""
    fields = {name: value for name, value in msgspec.structs.asdict(row).items() if name not in _HIDDEN}
    fields |= {
        "metadata": msgspec.json.decode(row.metadata), "ack_late": bool(row.ack_late),
        "delivery_ack_mode": row.ack_mode,
    }  # fmt: skip
    return fields | ({"body": row.body} if body else {})


def message(tx: Transaction, ask: GetMessage) -> dict[str, Any]:
    """One receipt with its attempts, by its id or by client and key."""
    if ask.message_id is not None:
        row = tx.one("message", message_id=ask.message_id)
    elif ask.client_id is not None and ask.idempotency_key is not None:
        row = tx.one("message_of_key", client_id=ask.client_id, idempotency_key=ask.idempotency_key)
    else:
        raise InvalidRequest("name message_id, or client_id and idempotency_key", field="message_id")
    if row is None:
        raise NotFound("there is no such message")
    attempts = [
        {"n": one.n, "endpoint_id": one.endpoint_id, "phase": one.phase, "started_at": one.started_at,
         "ended_at": one.ended_at, "outcome": one.outcome, "reason": one.reason}
        for one in tx.all("attempts", message_id=row.message_id)
    ]  # fmt: skip
    return {"message": shown(row, body=ask.include_body) | {"attempts": attempts}}


def history(tx: Transaction, ask: History) -> dict[str, Any]:
    """A page of receipts, cut to what fits on a line. `next` goes on where it ends."""
    up = ask.order == "asc"
    rows = tx.all(
        "history_up" if up else "history_down", after=ask.after or 0, before=ask.before or 2**62,
        limit=ask.limit + 1, target_repo=ask.target_repo, endpoint_id=ask.endpoint_id,
        client_id=ask.client_id, correlation_id=ask.correlation_id, updated_after=ask.updated_after,
        states=f",{','.join(ask.state)}," if ask.state else None,
    )  # fmt: skip
    page: list[dict[str, Any]] = []
    room = ROOM_BYTES
    for row in rows[: ask.limit]:
        one = shown(row, body=ask.include_body)
        room -= len(msgspec.json.encode(one)) + 1
        if room < 0 and page:
            break
        page.append(one)
    more = len(page) < len(rows)
    return {"messages": page, "next": page[-1]["seq"] if more and page else None,
            "high_water": tx.one("last_message").value}  # fmt: skip


def stats(tx: Transaction) -> dict[str, Any]:
    """What the store can count."""
    since = tx.now - HOUR_MS
    oldest = tx.one("oldest_pending").value
    return {
        "by_state": _counts(tx.all("by_state")),
        "oldest_pending_ms": None if oldest is None else max(0, tx.now - oldest),
        "attempts_1h": _counts(tx.all("attempts_since", since=since)),
        "failures_by_reason": _counts(tx.all("reasons_since", since=since)),
        "deferred": _counts(tx.all("deferred")),
        "endpoints": _states(tx),
    }  # fmt: skip


def _states(tx: Transaction) -> dict[str, int]:
    open_ones = tx.all("open_endpoints")
    return {state: sum(row.state == state for row in open_ones) for state in ("live", "stale")}


def _counts(rows: list[Any]) -> dict[str, int]:
    return {row.name: row.number for row in rows}


def events(tx: Transaction, after: int, limit: int) -> list[EventRow]:
    """The log after a number."""
    return tx.all("events_after", after=after, limit=limit)


def event_shown(row: EventRow) -> dict[str, Any]:
    """One line of the log as a subscriber gets it: ids and states, never a body."""
    return {"event": row.type, "seq": row.seq, "at": row.at, "message_id": row.message_id,
            "endpoint_id": row.endpoint_id, "data": msgspec.json.decode(row.data)}  # fmt: skip


def last_event(tx: Transaction) -> int:
    """The number of the newest event."""
    number: int = tx.one("last_event").value
    return number


def fitting(tx: Transaction, rows: list[EventRow], ask: Subscribe) -> list[EventRow]:
    """Those of some lines that a subscriber wants."""
    return [
        row for row in rows
        if (not ask.types or row.type in ask.types) and ask.endpoint_id in (None, row.endpoint_id)
        and (ask.client_id is None or _client_of(tx, row) == ask.client_id)
    ]  # fmt: skip


def _client_of(tx: Transaction, row: EventRow) -> str | None:
    message = None if row.message_id is None else tx.one("message", message_id=row.message_id)
    return None if message is None else message.client_id
