"""Briefs: canonical when they come in, whole when they are handed out."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from msgspec import Struct

from tessera.canonical import canonical, json_text
from tessera.errors import InvalidRequest
from tessera.limits import BRIEF_BYTES_MAX
from tessera.models import Raw
from tessera.rows import BriefRow, TaskRow
from tessera.runtime import Runtime
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


class Brief(Struct, frozen=True):
    """A brief as it was stored, and the trace of its task."""

    text: str
    traceparent: str | None


def intact(tx: Transaction, task: TaskRow) -> Brief | None:
    """The task's brief as it was stored; None if it is damaged, so that nobody works on half a brief."""
    return each_intact(tx, [task]).get(task.serial)


def each_intact(tx: Transaction, tasks: Sequence[TaskRow]) -> dict[int, Brief]:
    """The same for several, by serial; a damaged one is left out."""
    if len(tasks) == 1:
        only = tx.one("brief_of", serial=tasks[0].serial)
        stored: list[BriefRow] = [] if only is None else [only]
    else:
        stored = tx.all("briefs_of", serials=json_text([task.serial for task in tasks]))
    return {
        one.serial: Brief(one.brief.decode(), one.traceparent)
        for one in stored
        if _digest(one.brief) == one.sha256
    }


def for_holder(tx: Transaction, task: TaskRow) -> Brief:
    """The brief for a lease's holder, who was given it before: `null` if it has been damaged since."""
    return intact(tx, task) or Brief("null", None)


def trace_of(tx: Transaction, _runtime: Runtime, task_id: str) -> str | None:
    """A look: the trace that a task was enqueued in, None without one or without a task."""
    found = tx.one("traceparent_of", task_id=task_id)
    trace: str | None = None if found is None else found.value
    return trace


def _digest(brief: bytes) -> str:
    return hashlib.sha256(brief).hexdigest()
