"""Verbs on their way through an engine, whichever it is."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from concurrent.futures import Future
from operator import attrgetter
from typing import Any

from tessera.storage.port import Verb

log = logging.getLogger("tessera.storage")
_is_patient = attrgetter("patient")
AGAIN = object()  # an attempt's answer: what is settled stays, run the verb again in the next turn


class Job:
    """A verb on its way: what to run, then what came out."""

    __slots__ = (
        "answer", "args", "number", "outcome", "patient", "presses", "provisional", "settled", "since",
        "until", "verb",
    )  # fmt: skip

    def __init__(
        self, verb: Verb, args: tuple[Any, ...], answer: Callable[[Any], None] | None = None
    ) -> None:
        self.verb = verb
        self.args = args
        self.answer = answer
        self.outcome: Any = None
        self.provisional = getattr(verb, "provisional", False)
        self.patient = getattr(verb, "patient", False)  # others go first
        self.presses = getattr(verb, "presses", False)  # it goes before others
        self.number = 0  # the commit that must be on disk before the answer is given
        self.settled = 0
        self.since: int | None = None  # when it first found the store locked by another process
        self.until: int | None = None  # when it stops waiting for a database that does not answer


def answer(jobs: list[Job]) -> None:
    """Tell those who wait what came out, the patient last. One that cannot be told is no harm to the rest."""
    for job in sorted(jobs, key=_is_patient):
        assert job.answer is not None
        try:
            job.answer(job.outcome)
        except Exception:
            log.exception("the outcome of %s could not be told", getattr(job.verb, "__name__", job.verb))


def resolve(future: Future[Any] | asyncio.Future[Any], outcome: Any) -> None:
    """Give a future its outcome, a refusal as what it raises."""
    if future.done():  # the caller has gone
        return
    if isinstance(outcome, Exception):
        future.set_exception(outcome)
    else:
        future.set_result(outcome)


def run_grouped(jobs: list[Job], run: Callable[[Job, Verb, tuple[Any, ...]], Any]) -> None:
    """Run verbs one after the other and give each its outcome; several of one verb that has a form for many
    callers run as one, on behalf of the first. `run` gives one outcome for all of them, or a list with one
    for each.
    """
    for verb, alike in grouped(jobs):
        if len(alike) == 1:
            alike[0].outcome = run(alike[0], alike[0].verb, alike[0].args)
            continue
        outcomes = run(alike[0], verb, ([job.args for job in alike],))
        each = outcomes if isinstance(outcomes, list) else [outcomes] * len(alike)
        for job, outcome in zip(alike, each, strict=True):
            job.outcome = outcome


def grouped(jobs: list[Job]) -> list[tuple[Verb, list[Job]]]:
    """Jobs whose verb has a form for many callers, together, under that form; the others each alone. The
    callers all wait, so any order is as good as theirs.
    """
    if len(jobs) == 1:
        return [(jobs[0].verb, jobs)]
    groups: dict[object, tuple[Verb, list[Job]]] = {}
    for place, job in enumerate(jobs):
        many = getattr(job.verb, "for_many", None)
        if many is None:
            groups[place] = (job.verb, [job])
        else:
            groups.setdefault(id(job.verb), (many, []))[1].append(job)
    return list(groups.values())
