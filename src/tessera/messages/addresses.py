"""From what somebody wrote to the one agent that was meant, or a refusal that names the candidates. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from tessera.errors import NotFound
from tessera.messages.agents import Book, Subject
from tessera.messages.errors import AmbiguousAgent

_CANDIDATES_SHOWN_MAX: Final = 10


class AgentId(str):
    """A text that names an agent by its exact id. A plain `str` is an address; neither is ever taken for
    the other.
    """

    __slots__ = ()


def resolve(book: Book, wanted: str, catalog: str) -> Subject:
    """The agent meant: by equality if it is an `AgentId`, else by ordinary address resolution.

    Raises `NotFound`, and `AmbiguousAgent` where more than one agent answers.
    """
    by = _by_id if isinstance(wanted, AgentId) else _by_address
    found = by(book.subjects, wanted)
    if not found:
        detail = f"no agent {wanted!r} found in catalog {catalog}"
        if book.faults:
            detail += f"; {len(book.faults)} declaration(s) cannot be read, the first: {book.faults[0]}"
        raise NotFound(detail)
    if len(found) > 1:
        shown = ", ".join(f"{one.agent.known_id} ({one.place})" for one in found[:_CANDIDATES_SHOWN_MAX])
        raise AmbiguousAgent(f"{wanted!r} could mean {len(found)} agents: {shown}")
    return found[0]


def _by_id(subjects: Iterable[Subject], wanted: str) -> list[Subject]:
    return [subject for subject in subjects if subject.agent.known_id == wanted]


def _by_address(subjects: Iterable[Subject], wanted: str) -> list[Subject]:
    """Whoever is reached there now; of retired agents only if nobody is."""
    split = {(wanted[:dot], wanted[dot + 1 :]) for dot, char in enumerate(wanted) if char == "."}
    found = [one for one in subjects if _answers(one, wanted, split)]
    return [one for one in found if not one.agent.retired] or found


def _answers(subject: Subject, wanted: str, split: set[tuple[str, str]]) -> bool:
    agent = subject.agent
    return agent.local_address == wanted or (agent.host, agent.local_address) in split
