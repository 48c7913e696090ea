"""What a worker makes of what its handlers answer, the same over a file and over a service."""

from __future__ import annotations

import asyncio
import threading
import traceback

import pytest

from tessera.errors import NotFound, StaleLease, Unauthorized
from tessera.limits import ERROR_BYTES_MAX
from tessera.worker import Failed, Park, Release, Split, Unfit, Worker


def test_an_output_is_handed_in(place) -> None:
    """What a handler returns is the output, under the key TASK:TOKEN and the worker's name."""
    task_id = place.enqueue(brief={"n": 2})
    worker = place.worker()

    @worker.handles("k")
    def double(lease, context):
        assert context.store is place.store
        return lease.brief["n"] * 2

    report = worker.run_once()

    [result] = place.owner.results(task_id)
    assert (result.ok, result.output, result.worker) == (True, 4, "w")
    assert result.idempotency_key == f"{task_id}:1"
    assert (report.word, report.lease.task_id, report.receipt.sha256) == ("done", task_id, result.sha256)
    assert worker.run_once() is None


def test_a_handler_may_be_a_coroutine(place) -> None:
    """A coroutine function works on the worker's loop, a callable object with one too."""
    one, two = place.enqueue(kind="a"), place.enqueue(kind="b")
    worker = place.worker()

    @worker.handles("a")
    async def answer(lease, context):
        await asyncio.sleep(0)
        return threading.current_thread() is threading.main_thread()

    class Caller:
        async def __call__(self, lease, context):
            return "called"

    worker.handles("b")(Caller())
    worker.run(drain=True)

    assert [place.owner.results(task_id)[0].output for task_id in (one, two)] == [True, "called"]


def test_only_kinds_with_a_handler_are_claimed(place) -> None:
    """Without a handler for every kind, the others stay; with one, it gets what no other handles."""
    known, other = place.enqueue(kind="known"), place.enqueue(kind="other")
    worker = place.worker()
    worker.handles("known", "known-too")(lambda lease, context: "by kind")
    assert worker.run_once().lease.task_id == known
    assert worker.run_once() is None

    worker.handles()(lambda lease, context: "any")
    assert worker.run_once().lease.task_id == other
    assert place.owner.results(other)[0].output == "any"


def test_what_cannot_work_is_refused(place) -> None:
    """A worker without a handler, a kind with two, no slot at all."""
    worker = place.worker()
    with pytest.raises(ValueError, match="needs a handler"):
        worker.run()
    worker.handles("k")(print)
    with pytest.raises(ValueError, match="has a handler already"):
        worker.handles("k")(print)
    with pytest.raises(ValueError, match="at least 1"):
        Worker("q", place.store, parallel=0)


def test_a_task_is_split_and_merged(place) -> None:
    """A `Split` lets the children be done first; the lease that comes back holds their outputs."""
    parent = place.enqueue(brief={"parts": [1, 2, 3]})
    worker = place.worker(parallel=2)

    @worker.handles("k")
    def sum_up(lease, context):
        if not lease.children:
            return Split([{"kind": "part", "brief": {"n": n}} for n in lease.brief["parts"]])
        return sum(child.output for child in lease.children)

    worker.handles("part")(lambda lease, context: lease.brief["n"] ** 2)
    worker.run(drain=True)

    assert place.owner.results(parent)[0].output == 14


def test_a_task_is_parked_and_resumed(place) -> None:
    """A `Park` waits for input of the form it asks for; the next lease holds the answer."""
    task_id = place.enqueue()
    worker = place.worker()

    @worker.handles("k")
    def ask(lease, context):
        if not lease.inputs:
            return Park("may I?", resume_within=60, input_schema={"type": "boolean"})
        return lease.inputs[-1].input

    assert worker.run_once().word == "parked"
    assert place.owner.task(task_id).park_reason == "may I?"
    place.owner.resume(task_id, True)
    worker.run_once()

    assert place.owner.results(task_id)[0].output is True


def test_a_task_is_given_back(place) -> None:
    """A `Release` counts no failure and keeps the task away for its delay."""
    task_id = place.enqueue()
    worker = place.worker()
    worker.handles()(lambda lease, context: Release(delay_seconds=600))

    assert worker.run_once().word == "released"
    assert worker.run_once() is None
    task = place.owner.task(task_id)
    assert (task.state, task.failures) == ("ready", 0)


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (KeyError("colour"), "KeyError: 'colour'"),
        (Failed("it rained"), "it rained"),
        (StopIteration("over"), "RuntimeError: StopIteration: over"),
        (ValueError("€" * ERROR_BYTES_MAX), "ValueError: " + "€" * ((ERROR_BYTES_MAX - 12) // 3)),
        (ValueError("\ud800"), "ValueError: ?"),
        (SystemExit(3), "SystemExit: 3"),
    ],
)
def test_an_exception_fails_the_attempt(place, error, text) -> None:
    """What a handler raises is the failure's text, at most 8 KiB of it; the worker goes on."""
    task_id = place.enqueue()
    worker = place.worker()

    @worker.handles()
    def fail(lease, context):
        if not lease.failures:
            raise error

    assert worker.run_once().word == "failed"
    assert worker.run_once().word == "done"
    assert place.owner.results(task_id)[0].error == text


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        ("x" * (1 << 20), "the output was refused: output: more than"),
        (Split([]), "cannot be split: "),
        (Split([{"brief": {}, "queue": "nowhere"}]), "cannot be split: "),
        (Park("why", input_schema={"type": "no-type"}), "cannot be parked: "),
        (Release(-1), "cannot be released: delay_seconds: "),
        (object(), "the output was refused: "),
        (float("nan"), "the output was refused: output: "),
    ],
    ids=["large", "no children", "no queue", "no schema", "no delay", "no JSON", "no number"],
)
def test_an_answer_that_the_store_refuses_fails_the_attempt(place, answer, why) -> None:
    """What the store will not take is the handler's failure, told in the store's words."""
    task_id = place.enqueue()
    worker = place.worker()
    worker.handles()(lambda lease, context: answer)

    assert worker.run_once().word == "failed"
    assert (place.owner.task(task_id).last_error or "").startswith(why)


@pytest.mark.parametrize("answer", [None, 7])
def test_a_handler_may_end_its_lease_itself(place, answer) -> None:
    """A handler that submits, by the worker's own key or another, has handed back; nothing is added."""
    task_id = place.enqueue()
    worker = place.worker()

    @worker.handles()
    def submit(lease, context):
        context.store.submit(lease.task_id, lease.fencing_token, "mine", f"{lease.task_id}:1")
        return answer

    assert worker.run_once().word == "handed back"
    assert [result.output for result in place.owner.results(task_id)] == ["mine"]


def test_a_machine_that_cannot_work_ends_the_worker(place) -> None:
    """`Unfit` gives the task back unharmed and is raised by the worker, which claims nothing more."""
    one, two = place.enqueue(), place.enqueue()
    worker = place.worker()

    @worker.handles()
    def give_up(lease, context):
        raise Unfit("no compiler here")

    with pytest.raises(Unfit, match="no compiler"):
        worker.run()
    tasks = [place.owner.task(task_id) for task_id in (one, two)]
    assert [(task.state, task.failures) for task in tasks] == [("ready", 0)] * 2
    assert sum(task.attempts for task in tasks) == 1


def test_a_refused_claim_ends_the_worker(place) -> None:
    """A queue that is not there, or not the key's, is told and not asked for again."""
    worker = Worker("absent", place.owner, listener=place.worker()._listener)
    worker.handles()(print)

    with pytest.raises(NotFound):
        worker.run()


def test_a_refusal_is_told_without_the_way_it_took(served) -> None:
    """A worker takes its store's URL and its key; a key that is no key ends it with the refusal, and the
    traceback leads no further than to `run`.
    """
    _, url = served
    worker = Worker("q", url, key="tessera_none")
    worker.handles()(print)

    with pytest.raises(Unauthorized) as raised:
        worker.run()
    shown = "".join(traceback.format_exception(raised.value))
    assert len(shown.splitlines()) < 12
    assert shown.splitlines()[-1].startswith("tessera.errors.Unauthorized: ")
    assert "tessera_none" not in shown
    with pytest.raises(ValueError, match="has its key"):
        Worker("q", served[0], key="tessera_none")


def test_handlers_work_at_the_same_time(place) -> None:
    """With `parallel` 3 three handlers meet, and `drain` ends when the last is done."""
    ids = [place.enqueue() for _ in range(3)]
    worker, meeting = place.worker(parallel=3), threading.Barrier(3)
    worker.handles()(lambda lease, context: meeting.wait(20) >= 0)

    worker.run(drain=True)

    assert [place.owner.task(task_id).state for task_id in ids] == ["done"] * 3


def test_a_lost_lease_is_told_to_a_thread(place) -> None:
    """When its task is cancelled, a handler's `wait` raises, and what it answers is dropped."""
    task_id, seen = place.enqueue(), []
    worker = place.worker()

    @worker.handles()
    def work(lease, context):
        assert 0 < context.seconds_left <= 1
        place.owner.cancel(task_id, "enough")
        try:
            context.wait(30)
        except StaleLease:
            seen.append(context.lost)
        return "too late"

    assert worker.run_once().word == "lost"
    assert seen == [True]
    assert place.owner.results(task_id) == []


def test_a_lost_lease_interrupts_a_coroutine(place) -> None:
    """A coroutine is cancelled where it waits, and may clean up."""
    task_id, seen = place.enqueue(), []
    worker = place.worker()

    @worker.handles()
    async def work(lease, context):
        await asyncio.to_thread(place.owner.cancel, task_id, "enough")
        try:
            await asyncio.sleep(30)
        finally:
            seen.append(context.lost)

    assert worker.run_once().word == "lost"
    assert seen == [True]


def test_heartbeats_keep_a_lease(place) -> None:
    """A handler may take longer than its lease lives without a sign of life."""
    task_id = place.enqueue()
    worker = place.worker()

    @worker.handles()
    def work(lease, context):
        while place.owner.task(task_id).expires_at <= lease.expires_at:
            context.wait(0.02)
        context.wait(1)
        return place.owner.claim("q", "thief")

    assert worker.run_once().word == "done"
    assert place.owner.results(task_id)[0].output is None
    assert place.owner.task(task_id).attempts == 1
