"""What the log tells of each task, held against the table of transitions. Pure: lines in, what is wrong out.

A line alone does not always say what its task has become: a new one is ready or waits, a submit is the end of
its task or the failure of a lease. So a task may be one of several things until the next line tells.
"""

from __future__ import annotations

from collections.abc import Iterator

from tessera.names import EVENT_NUMBER, EVENT_TYPES
from tessera.rows import EventToCheck, TaskToCheck
from tessera.states import DONE, LEASED, STATES, TASK

_FAILING, _NOTHING = "failing", "nothing"
_MAY_BE = (*STATES, _FAILING, _NOTHING)
_BIT = {name: 1 << place for place, name in enumerate(_MAY_BE)}


def _rules() -> dict[int, tuple[int, int]]:
    """Event number -> (what its task may have been, what it may be then)."""
    found: dict[str, tuple[int, int]] = {}
    for (before, after), events in TASK.items():
        came_from = _BIT[_NOTHING if before is None else STATES[before]]
        for event in events:
            was, may_be = found.get(event, (0, 0))
            found[event] = was | came_from, may_be | _BIT[STATES[after]]
    leased, failing = _BIT[STATES[LEASED]], _BIT[_FAILING]
    found["heartbeat"] = leased, leased
    found["lease_lapsed"] = leased, failing
    found["submitted"] = leased, _BIT[STATES[DONE]] | failing
    for event in ("retry_scheduled", "dead_lettered"):  # after a submit or a lapse that said so
        found[event] = found[event][0] | failing, found[event][1]
    return {EVENT_NUMBER[event]: rule for event, rule in found.items()}


_RULES = _rules()
_CLAIMED, _SUBMITTED = EVENT_NUMBER["claimed"], EVENT_NUMBER["submitted"]
_PARKED, _RESTORED = EVENT_NUMBER["parked"], EVENT_NUMBER["store_restored"]
_FAILURES = EVENT_NUMBER["retry_scheduled"], EVENT_NUMBER["dead_lettered"]
_MAY_FAIL = _BIT[STATES[LEASED]] | _BIT[_FAILING]  # a ready task that is buried has not failed


class _History:
    """What the log has told of one task so far, and what its results add to that."""

    __slots__ = ("claims", "failures", "good", "may_be", "parks", "results", "submits", "token")

    def __init__(self) -> None:
        self.may_be = _BIT[_NOTHING]
        self.claims = self.token = self.submits = self.failures = self.parks = self.results = self.good = 0


class Audit:
    """Reads the log line by line, then the results, then the tasks; each gives back what is wrong with it."""

    def __init__(self) -> None:
        self._tasks: dict[int, _History] = {}
        self._seq = 0
        self._at = 0

    def line(self, event: EventToCheck) -> Iterator[tuple[str, str]]:
        """One line of the log, in order."""
        thing = f"event {event.seq}"
        if event.seq != self._seq + 1 and event.type != _RESTORED:  # a restore leaves a gap on purpose
            yield thing, f"follows event {self._seq}: the lines between are missing"
        if event.at < self._at:
            yield thing, "is earlier than the event before it"
        self._seq, self._at = event.seq, event.at
        if not 0 <= event.type < len(EVENT_TYPES):
            yield thing, f"is of a type that does not exist ({event.type})"
        elif event.task_id is not None and event.serial is None:
            yield thing, f"names task {event.task_id}, which does not exist"
        elif event.serial is not None and event.type in _RULES:
            yield from self._move(thing, event, self._tasks.setdefault(event.serial, _History()))

    def result(self, serial: int, ok: bool) -> None:
        """One stored result."""
        told = self._tasks.setdefault(serial, _History())
        told.results += 1
        told.good += ok

    def task(self, task: TaskToCheck) -> Iterator[tuple[str, str]]:
        """One task as it stands, after all lines and results."""
        told, thing = self._tasks.pop(task.serial, _History()), f"task {task.task_id}"
        if not 0 <= task.state < len(STATES):
            yield thing, f"is in a state that does not exist ({task.state})"
            return
        state = STATES[task.state]
        if not told.may_be & _BIT[state]:
            yield thing, f"is {state}, but the log leaves it {_words(told.may_be)}"
        if task.attempts != told.claims:
            yield thing, f"has {task.attempts} attempts, the log has {told.claims} claims"
        if task.failures != told.failures:
            yield thing, f"has {task.failures} failures, the log has {told.failures}"
        if task.parks != told.parks:
            yield thing, f"has {task.parks} parks, the log has {told.parks}"
        if task.fencing_token < told.token:
            yield thing, f"has token {task.fencing_token}, but {told.token} was handed out"
        if told.results != told.submits:
            yield thing, f"has {told.results} results, the log has {told.submits} submits"
        if told.good != (task.state == DONE):
            yield thing, f"is {state} and has {told.good} successful results"

    @staticmethod
    def _move(thing: str, event: EventToCheck, told: _History) -> Iterator[tuple[str, str]]:
        before, after = _RULES[event.type]
        name = EVENT_TYPES[event.type]
        if not before & told.may_be:
            yield thing, f"says {name} of task {event.task_id}, which was {_words(told.may_be)}"
        told.failures += event.type in _FAILURES and bool(told.may_be & _MAY_FAIL)
        told.may_be = after
        told.submits += event.type == _SUBMITTED
        told.parks += event.type == _PARKED
        if event.type == _CLAIMED:
            told.claims += 1
            token = event.fencing_token or 0
            if token <= told.token:
                yield thing, f"hands out token {token} of task {event.task_id} after token {told.token}"
            told.token = max(token, told.token)


def _words(may_be: int) -> str:
    return " or ".join(name for name in _MAY_BE if may_be & _BIT[name])
