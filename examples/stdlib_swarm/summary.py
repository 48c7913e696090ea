"""The end: what happened, and whether all that was promised holds. Evidence is read from the store once;
each check is pure, so a test can show that it notices a lie.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple

from examples.stdlib_swarm.plan import REPORT
from examples.stdlib_swarm.report import sha256
from examples.stdlib_swarm.swarm import Strike
from tessera.canonical import canonical, strict_json
from tessera.library import Tessera
from tessera.models import Counts, Event, Result, TaskView

PAGE: Final = 1_000
DOCUMENT_BYTES_MAX: Final = 4 << 20  # larger than any outcome the store accepts
ENDS: Final = {"lease_lapsed": "lapsed", "split": "split", "parked": "parked", "released": "released"}


class Check(NamedTuple):
    """A promise with its figures, and whether it was kept."""

    claim: str
    holds: bool


@dataclass(frozen=True, slots=True)
class Run:
    """What the parent knows of the run beside what is in the store."""

    expected: int  # tasks
    strike: Strike | None
    reviewer_id: str
    seconds: float


@dataclass(frozen=True, slots=True)
class Evidence:
    """What the store says of the run."""

    tasks: list[TaskView]
    results: list[Result]
    events: list[Event]
    counts: Counts


def evidence(owner: Tessera) -> Evidence:
    """Read all of it, page by page."""
    tasks: list[TaskView] = []
    after: str | None = None
    while True:
        page = owner.tasks(limit=PAGE, after=after)
        tasks += page.tasks
        if (after := page.next) is None:
            break
    events: list[Event] = []
    while more := owner.events(after=events[-1].seq if events else 0, limit=PAGE):
        events += more
    results = [result for task in tasks for result in owner.results(task.task_id)]
    return Evidence(tasks, results, events, owner.counts(recount=True))


def checks(seen: Evidence, run: Run, folder: Path) -> Iterator[Check]:
    """Every promise, in the order in which a doubter would ask."""
    yield _all_done(seen, run.expected)
    yield Check("the counts equal a recount of the tasks", seen.counts.agree is True)
    yield _receipts(seen)
    yield _one_winner(seen)
    yield _none_lost(seen)
    yield _one_success(seen)
    yield _taken_over(seen, run.strike)
    yield _retried(seen)
    yield _approved(seen, run.reviewer_id)
    yield _report_files(seen, folder)


def figures(seen: Evidence, run: Run) -> dict[str, str]:
    """The run in numbers."""
    states = Counter(task.state for task in seen.tasks)
    failures = sum(task.failures for task in seen.tasks)
    killed = f"{run.strike.worker} while at {run.strike.what}" if run.strike else "nobody"
    rate = len(seen.results) / run.seconds
    return {
        "tasks": _listed(states),
        "attempts": f"{sum(task.attempts for task in seen.tasks)}: {_listed(_ends(seen))}",
        "failures": f"{failures}, each tried again",
        "killed": killed,
        "time": f"{run.seconds:.1f} s, {rate:.0f} results a second, {len(seen.events):,} events in the log",
    }


def receipt(result: Result) -> str:
    """A receipt's hash computed again from what is stored, by the formula of the specification alone."""
    document = {
        "task_id": result.task_id,
        "fencing_token": result.fencing_token,
        "ok": result.ok,
        "output": result.output,
        "error": result.error,
    }
    return hashlib.sha256(
        canonical(strict_json(document), "outcome", DOCUMENT_BYTES_MAX).encode()
    ).hexdigest()


def _all_done(seen: Evidence, expected: int) -> Check:
    done = sum(task.state == "done" for task in seen.tasks)
    return Check(f"{done} of {expected} tasks are done", done == expected == len(seen.tasks))


def _receipts(seen: Evidence) -> Check:
    verified = sum(receipt(result) == result.sha256 for result in seen.results)
    submits = sum(event.type == "submitted" for event in seen.events)
    return Check(f"{verified} of {submits} receipts verify", verified == submits == len(seen.results))


def _one_winner(seen: Evidence) -> Check:
    """Each claim of a task has a token above all before it, so no two workers ever had the same lease."""
    tokens: dict[str, list[int]] = {}
    for event in seen.events:
        if event.type == "claimed":
            tokens.setdefault(event.task_id or "", []).append(event.fencing_token or 0)
    rising = all(given == sorted(set(given)) for given in tokens.values())
    claims = sum(map(len, tokens.values()))
    attempts = sum(task.attempts for task in seen.tasks)
    return Check(f"{claims} claims had one winner each", rising and claims == attempts)


def _none_lost(seen: Evidence) -> Check:
    """A lease ends in one of a few ways and never silently, so what began adds up to what ended."""
    claims = sum(event.type == "claimed" for event in seen.events)
    ended = _ends(seen).total()
    return Check(f"{ended} of {claims} leases have an end in the log", ended == claims)


def _ends(seen: Evidence) -> Counter[str]:
    """How leases ended, as the log tells it."""
    ends: Counter[str] = Counter()
    for event in seen.events:
        if event.type == "submitted":
            ends["succeeded" if event.data["ok"] else "failed"] += 1
        elif event.type in ENDS:
            ends[ENDS[event.type]] += 1
    return ends


def _listed(counts: Counter[str]) -> str:
    return ", ".join(f"{count} {word}" for word, count in counts.most_common())


def _one_success(seen: Evidence) -> Check:
    successes = Counter(result.task_id for result in seen.results if result.ok)
    done = {task.task_id for task in seen.tasks if task.state == "done"}
    return Check(
        "every done task has exactly one success",
        successes.keys() == done and set(successes.values()) <= {1},
    )


def _taken_over(seen: Evidence, strike: Strike | None) -> Check:
    """The killed worker's lease lapsed, and somebody else finished the task with a higher token."""
    if strike is None:
        return Check("a worker was killed in the middle of a lease", False)
    lapsed = {
        event.fencing_token
        for event in seen.events
        if event.type == "lease_lapsed" and event.task_id == strike.task_id
    }
    winner = next((one for one in seen.results if one.task_id == strike.task_id and one.ok), None)
    holds = (
        strike.fencing_token in lapsed
        and winner is not None
        and winner.fencing_token > strike.fencing_token
        and winner.worker != strike.worker
    )
    finisher = f"{winner.worker} with token {winner.fencing_token}" if winner else "nobody"
    return Check(
        f"{strike.worker} was killed with token {strike.fencing_token} on {strike.what}; {finisher} finished",
        holds,
    )


def _retried(seen: Evidence) -> Check:
    failed = {result.task_id for result in seen.results if not result.ok}
    recovered = failed & {result.task_id for result in seen.results if result.ok}
    return Check(
        f"{len(recovered)} of {len(failed)} tasks with a failed attempt succeeded later",
        bool(failed) and failed == recovered,
    )


def _approved(seen: Evidence, reviewer_id: str) -> Check:
    parked = [event for event in seen.events if event.type == "parked"]
    resumed = [event for event in seen.events if event.type == "resumed"]
    holds = (
        len(parked) == len(resumed) == 1
        and parked[0].task_id == resumed[0].task_id
        and parked[0].key_id != resumed[0].key_id == reviewer_id
    )
    return Check("1 task was parked by one key and resumed by another", holds)


def _report_files(seen: Evidence, folder: Path) -> Check:
    """What lies in the folder is what the receipt of the report vouches for."""
    handed_in = next((one.output for one in seen.results if one.task_id == REPORT and one.ok), None)
    files = handed_in["files"] if handed_in else {}
    same = [sha256((folder / name).read_bytes()) == file["sha256"] for name, file in files.items()]
    return Check(f"{sum(same)} report files have the hashes in their receipt", len(same) == 2 and all(same))
