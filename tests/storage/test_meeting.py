"""Threads that stand in line at an engine: who leads, who is woken, who is waited for."""

from __future__ import annotations

import threading

from tessera.storage.jobs import Job
from tessera.storage.meeting import Meeting, Place

PATIENCE = 10.0  # seconds; more than any of these threads needs


def a_place() -> Place:
    """A thread's place with a job."""
    return Place(Job(lambda tx, runtime: None, ()))


class Sleeper(threading.Thread):
    """A thread that joins a meeting, and notes whether it leads once it goes on."""

    def __init__(self, meeting: Meeting, place: Place) -> None:
        super().__init__(daemon=True)
        self.meeting, self.place = meeting, place
        self.leads: bool | None = None
        waiting = len(meeting)
        self.start()
        while len(meeting) == waiting and self.is_alive():
            self.join(0.001)

    def run(self) -> None:
        """Join."""
        self.leads = self.meeting.join(self.place)

    def went_on(self) -> bool | None:
        """Wait until it has; whether it leads."""
        self.join(PATIENCE)
        return self.leads


def test_a_leader_works_for_those_in_line() -> None:
    """Whoever finds nobody leads; it takes the others, in order, and wakes them with their work done."""
    meeting, own = Meeting(), a_place()
    assert meeting.join(own)
    sleepers = [Sleeper(meeting, a_place()) for _ in range(3)]
    assert meeting.take(a_place(), 0) == [sleeper.place for sleeper in sleepers]
    meeting.leave(own)
    assert meeting.join(own)
    for sleeper in sleepers:
        sleeper.place.wake()
        assert sleeper.went_on() is False


def test_the_first_in_line_leads_next() -> None:
    """A leader that leaves hands over to the first that came since, and leaving twice hands over once."""
    meeting, own = Meeting(), a_place()
    assert meeting.join(own)
    first, second = Sleeper(meeting, a_place()), Sleeper(meeting, a_place())
    meeting.leave(own)
    meeting.leave(own)
    assert first.went_on() is True
    assert meeting.take(a_place(), 0) == [second.place]
    second.place.wake()
    assert second.went_on() is False


def test_one_without_a_job_leads_alone() -> None:
    """Nobody is taken together with a place that has no job; those before and after it are."""
    meeting, own = Meeting(), a_place()
    assert meeting.join(own)
    before, alone, after = (Sleeper(meeting, place) for place in (a_place(), Place(None), a_place()))
    assert meeting.take(a_place(), 0) == [before.place]
    meeting.leave(own)
    assert alone.went_on() is True
    meeting.leave(alone.place)
    assert after.went_on() is True
    before.place.wake()


def test_one_without_a_job_gives_up() -> None:
    """A place without a job waits only so long, and is not in line any more."""
    meeting = Meeting()
    assert meeting.join(a_place())
    assert not meeting.join(Place(None), 0.001)
    assert len(meeting) == 0


def test_who_was_here_is_waited_for() -> None:
    """A leader waits for as many as were taken last time, and no longer than they take to come; when they do
    not, it goes without them, and the next does not wait.
    """
    meeting, own = Meeting(), a_place()
    assert meeting.join(own)
    known = Sleeper(meeting, a_place())
    assert meeting.take(a_place(), 0) == [known.place]

    comes_back = a_place()
    later = threading.Timer(0.01, lambda: meeting.join(comes_back))
    later.start()
    assert meeting.take(a_place(), PATIENCE) == [comes_back]
    assert meeting.take(a_place(), 0.001) == []
    assert meeting.take(a_place(), PATIENCE) == []
    known.place.wake()
    comes_back.wake()
    later.join(PATIENCE)


def test_an_interrupted_sleeper_leaves() -> None:
    """A place that leaves while it waits is neither taken nor handed the lead."""
    meeting, own = Meeting(), a_place()
    assert meeting.join(own)
    gone, stays = Sleeper(meeting, a_place()), Sleeper(meeting, a_place())
    meeting.leave(gone.place)
    meeting.leave(own)
    assert stays.went_on() is True
    gone.place.wake()
    assert gone.went_on() is False
