"""The record of every admitted wake, one line each, from which wakes can be sent again."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import Any

import msgspec

from tessera.canonical import json_text
from tessera.wake.rows import MessageRow
from tessera.wake.sqlite import Transaction

REPLAY_CLIENT = "tamq-replay"
PAGE = 200


class Capture:
    """The file. It follows the store: a line that a death has cut off or left out is written at the next
    start.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    def last(self) -> str | None:
        """The message id of the last whole line. What follows it is cut away."""
        try:
            content = self._path.read_bytes()
        except FileNotFoundError:
            return None
        whole = content[: content.rfind(b"\n") + 1]
        if len(whole) != len(content):
            os.truncate(self._path, len(whole))
        if not whole:
            return None
        last: dict[str, Any] = msgspec.json.decode(whole[whole.rfind(b"\n", 0, -1) + 1 :])
        return str(last["message_id"])

    def append(self, rows: list[MessageRow]) -> None:
        """Add the lines of these messages. The file is its owner's alone."""
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
        descriptor = os.open(self._path, flags, 0o600)
        try:
            os.fchmod(descriptor, 0o600)
            data = b"".join(msgspec.json.encode(_line(row)) + b"\n" for row in rows)
            while data:
                data = data[os.write(descriptor, data) :]
        finally:
            os.close(descriptor)


def missing(tx: Transaction, last: str | None) -> list[MessageRow]:
    """A page of what the store has and the capture has not."""
    row = None if last is None else tx.one("message", message_id=last)
    return tx.all(
        "history_up", after=0 if row is None else row.seq, before=2**62, limit=PAGE, target_repo=None,
        endpoint_id=None, client_id=None, correlation_id=None, updated_after=None, states=None,
    )  # fmt: skip


def _line(row: MessageRow) -> dict[str, Any]:
    return {
        "v": 1, "message_id": row.message_id, "client_id": row.client_id,
        "idempotency_key": row.idempotency_key, "correlation_id": row.correlation_id,
        "sender_repo": row.sender_repo, "target_repo": row.target_repo, "provenance": row.provenance,
        "metadata": msgspec.Raw(row.metadata.encode()), "body": row.body, "created_at": row.created_at,
    }  # fmt: skip


def replay_of(line: dict[str, Any]) -> dict[str, Any]:
    """The send that repeats a captured line: its key is the original message's id, or a digest of what it
    says. Raises KeyError or TypeError when the line is no captured send.
    """
    content = {name: line[name] for name in ("sender_repo", "target_repo", "body")}
    content["metadata"] = line.get("metadata") or {}
    original = line.get("message_id")
    digest = hashlib.sha256(json_text(content).encode()).hexdigest()
    about = {name: line[name] for name in ("correlation_id", "provenance") if line.get(name) is not None}
    return {
        **content, **about, "client_id": REPLAY_CLIENT,
        "idempotency_key": original if isinstance(original, str) and original else f"sha256:{digest}",
    }  # fmt: skip
