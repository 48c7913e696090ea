"""Threads that meet: one leads and works for those that stand in line with it; the others sleep.

Whoever has led hands over to the first that came since, before it waits for the disk: so the next one works
meanwhile. A thread that sleeps is woken once, to lead or with its work done. Threads that were woken together
are likely to come back together: a leader lets them, else it would work for itself and the disk once more for
the others.
"""

from __future__ import annotations

import threading
from collections import deque

from tessera.storage.jobs import Job


class Place:
    """A thread's place in line, with the job to be done. One without a job wants to be alone."""

    __slots__ = ("asleep", "job", "others")

    def __init__(self, job: Job | None) -> None:
        self.job = job
        self.asleep: threading.Lock | None = None  # held until the thread shall go on
        self.others: list[Place] = []  # that it works for

    def wake(self) -> None:
        """Let the thread go on, if it sleeps."""
        asleep, self.asleep = self.asleep, None
        if asleep is not None:
            asleep.release()


class Meeting:
    """Where threads of one engine meet. Safe from any thread."""

    def __init__(self) -> None:
        self._gate = threading.Lock()  # held for a few instructions only
        self._leader: Place | None = None
        self._waiting: deque[Place] = deque()
        self._met = 0  # how many the last leader took
        self._complete: threading.Lock | None = None  # held until so many wait for this one

    def __len__(self) -> int:
        """How many threads wait for the one that leads."""
        return len(self._waiting)

    def join(self, place: Place, seconds: float = -1) -> bool:
        """Return True when the calling thread leads: it may `take`, and has to `leave`. Return False when
        another one has done its job; or, without a job, when so many seconds (-1: no limit) were not enough.
        """
        with self._gate:
            if self._leader is None:
                self._leader = place
                return True
            place.asleep = asleep = _held()
            self._waiting.append(place)
            if self._complete is not None and len(self._waiting) >= self._met:
                self._complete.release()
                self._complete = None
        if not asleep.acquire(timeout=seconds):
            with self._gate:
                if place in self._waiting:
                    self._waiting.remove(place)
        return self._leader is place

    def take(self, leader: Place, seconds: float) -> list[Place]:
        """All that stand in line, up to the first that wants to be alone, are the leader's `others` to work
        for: it wakes them once it is done. Those that were here last time are waited for, until so many
        seconds have brought none of them.
        """
        if len(self._waiting) < self._met:
            self._wait(seconds)
        if self._waiting:
            with self._gate:
                while self._waiting and self._waiting[0].job is not None:
                    leader.others.append(self._waiting[0])  # first there, then gone from here: see `leave`
                    self._waiting.popleft()
        self._met = len(leader.others)
        return leader.others

    def leave(self, place: Place) -> None:
        """Stand in line no more. If the place leads, the first in line leads from here on. An interrupt may
        have cut off any of this before: leaving again does the rest.
        """
        with self._gate:
            if self._leader is place:
                if self._waiting and self._waiting[0] in place.others:
                    self._waiting.popleft()
                self._leader = self._waiting[0] if self._waiting else None
            elif place in self._waiting:
                self._waiting.remove(place)
            leader = self._leader
            if leader is not None and leader.asleep is not None:
                if self._waiting and self._waiting[0] is leader:
                    self._waiting.popleft()
                leader.wake()

    def _wait(self, seconds: float) -> None:
        with self._gate:
            if len(self._waiting) >= self._met:
                return
            self._complete = complete = _held()
        seen = -1
        while seen < len(self._waiting):
            seen = len(self._waiting)
            if complete.acquire(timeout=seconds):
                return
        with self._gate:
            self._complete = None


def _held() -> threading.Lock:
    lock = threading.Lock()
    lock.acquire()
    return lock
