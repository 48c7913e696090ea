"""Sizes in bytes, and the table of a task's transitions."""

from __future__ import annotations

import itertools

import pytest

from tessera.errors import InvalidRequest
from tessera.names import EVENT_TYPES
from tessera.rules.sizes import refuse_longer
from tessera.states import ENDED, NEW, STATE_NUMBER, STATES, TASK, WAIT_REASONS


@pytest.mark.parametrize(
    ("text", "size"), [("", 0), ("abcd", 4), ("éé", 4), ("€x", 4), ("\U0001f600", 4), ("e\u0301\x00", 4)]
)
def test_a_size_is_its_bytes(text: str, size: int) -> None:
    """A text as large as the limit passes, one larger is refused with the field and the limit."""
    refuse_longer(text, "field", size)
    refuse_longer(None, "field", 0)
    with pytest.raises(InvalidRequest, match=f"^field: larger than {max(size - 1, 0)} bytes"):
        refuse_longer(text or "x", "field", max(size - 1, 0))


# The diagram of the specification, and one row more: a ready task whose brief is damaged dies.
DIAGRAM = {
    (None, "ready"), (None, "waiting"), ("ready", "leased"), ("leased", "done"), ("leased", "ready"),
    ("leased", "dead"), ("leased", "waiting"), ("waiting", "ready"), ("ready", "cancelled"),
    ("leased", "cancelled"), ("waiting", "cancelled"), ("ready", "dead"),
}  # fmt: skip


def test_the_transitions_are_those_of_the_specification() -> None:
    """No pair is missing from the table and none is there too many."""
    named = {(None if start is None else STATES[start], STATES[end]) for start, end in TASK}
    assert named == DIAGRAM


def test_what_has_ended_has_ended() -> None:
    """From done, dead and cancelled nothing leads on, and everything else leads there."""
    assert {STATES[state] for state in ENDED} == {"done", "dead", "cancelled"}
    assert not any(start in ENDED for start, _ in TASK)
    reachable = {NEW}
    for _ in STATES:
        reachable |= {end for start, end in TASK if start in reachable}
    assert reachable - {NEW} == set(range(len(STATES)))


def test_every_transition_has_its_events() -> None:
    """Each change of state is announced by known events, and no event announces two kinds of change."""
    announced = list(itertools.chain.from_iterable(TASK.values()))
    assert all(TASK.values())
    assert set(announced) <= set(EVENT_TYPES)
    by_event = {event: {end for (_, end), events in TASK.items() if event in events} for event in announced}
    assert {event for event, ends in by_event.items() if len(ends) > 1} == {"enqueued"}


def test_what_is_stored_by_position_keeps_it() -> None:
    """States, wait reasons and event types are numbers in the database: their order is the format."""
    assert STATES == ("ready", "leased", "waiting", "done", "dead", "cancelled")
    assert WAIT_REASONS == ("children", "dependencies", "input")
    assert {name: STATE_NUMBER[name] for name in STATES} == {name: n for n, name in enumerate(STATES)}
    assert EVENT_TYPES[:5] == ("queue_defined", "enqueued", "claimed", "heartbeat", "submitted")
    assert len(set(EVENT_TYPES)) == len(EVENT_TYPES)
