"""What a workspace's tasks ask of whoever claims them: one number for each role and set of capabilities."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from tessera.canonical import json_text
from tessera.rows import RequirementRow, TaskRow
from tessera.rules.moves import NewTask
from tessera.storage.port import Transaction

Wanted = tuple[int, str, str]  # a queue's number, a role, capabilities as a JSON array


def capabilities_text(capabilities: Iterable[str]) -> str:
    """A set of capabilities in one form, so that equal sets have equal text."""
    return json_text(sorted(set(capabilities)))


def numbered(tx: Transaction, wanted: Iterable[Wanted]) -> tuple[dict[Wanted, int], list[RequirementRow]]:
    """The numbers of some requirements, and those among them that are new and to be added."""
    numbers: dict[Wanted, int] = {}
    missing: list[RequirementRow] = []
    for queue, role_id, capabilities in sorted(set(wanted)):
        known: RequirementRow | None = tx.one(
            "requirement_like", queue=queue, role_id=role_id, capabilities=capabilities
        )
        if known is None:
            number = tx.one("next_requirement").value + len(missing)
            known = RequirementRow(number, queue, role_id, capabilities)
            missing.append(known)
        numbers[queue, role_id, capabilities] = known.requirement
    return numbers, missing


def inherited(
    tx: Transaction, parent: TaskRow, children: list[NewTask]
) -> tuple[list[NewTask], list[RequirementRow]]:
    """A parent's children, each asking in its own queue for what the parent does; and what is new."""
    if parent.requirement is None:
        return children, []
    asked: RequirementRow = tx.one("requirement_numbered", requirement=parent.requirement)
    wants = [(child.queue, asked.role_id, asked.capabilities) for child in children]
    numbers, missing = numbered(tx, wants)
    return [
        replace(child, requirement=numbers[want]) for child, want in zip(children, wants, strict=True)
    ], missing


def add(tx: Transaction, missing: Sequence[RequirementRow]) -> None:
    """Add what tasks ask for the first time."""
    for one in missing:
        tx.save("add_requirement", one)
