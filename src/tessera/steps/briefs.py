"""Briefs: canonical when they come in, whole when they are handed out."""

from __future__ import annotations

import hashlib

from tessera.canonical import canonical
from tessera.errors import InvalidRequest
from tessera.limits import BRIEF_BYTES_MAX
from tessera.models import Raw
from tessera.rows import BriefRow, TaskRow
from tessera.storage.port import Transaction


def accepted(document: Raw, where: str) -> str:
    """A brief's canonical text, or a refusal: it must be an object."""
    brief = canonical(document, where, BRIEF_BYTES_MAX)
    if not brief.startswith("{"):
        raise InvalidRequest(f"{where}: must be an object")
    return brief


def digest(brief: str) -> str:
    """The SHA-256 of a brief's canonical bytes, in hex."""
    return _digest(brief.encode())


def intact(tx: Transaction, task: TaskRow) -> str | None:
    """The task's brief as it was stored; None if it is damaged, so that nobody works on half a brief."""
    stored: BriefRow | None = tx.one("brief_of", serial=task.serial)
    return stored.brief.decode() if stored is not None and _digest(stored.brief) == stored.sha256 else None


def for_holder(tx: Transaction, task: TaskRow) -> str:
    """The brief for a lease's holder, who was given it before: `null` if it has been damaged since."""
    return intact(tx, task) or "null"


def _digest(brief: bytes) -> str:
    return hashlib.sha256(brief).hexdigest()
