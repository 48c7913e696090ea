"""How a worker ends: by a signal, by a call, with handlers that listen and handlers that do not."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import tessera
from tessera.client import Client

PROGRAM = Path(__file__).with_name("program.py")
PATIENCE_SECONDS = 20


@contextmanager
def program(place, folder: Path) -> Iterator[subprocess.Popen[str]]:
    """The worker's program at a place, killed at the end if it is still there."""
    remote = isinstance(place.store, Client)
    url = place.store.url if remote else str(folder / "store.db")
    key = place.owner.issue_key(queues=["q"], effect_classes=["read"]).key
    env = {**os.environ, "TESSERA_KEY": key, "PYTHONWARNINGS": "error"}
    with subprocess.Popen(
        [sys.executable, str(PROGRAM), url, str(folder)], env=env, text=True, stderr=subprocess.PIPE
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def begun(folder: Path, *task_ids: str) -> None:
    """Wait until handlers have begun with these tasks."""
    end = time.monotonic() + PATIENCE_SECONDS
    while not all((folder / task_id).exists() for task_id in task_ids):
        assert time.monotonic() < end, "no handler has begun"
        time.sleep(0.01)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("kind", ["wait", "deaf"])
def test_a_signal_gives_the_task_back(place, tmp_path, kind, number) -> None:
    """A handler that waits is told, one that does not listen is left behind after the grace; either way the
    task is ready again without a failure, and the program ends well.
    """
    task_id = place.enqueue(kind=kind)
    with program(place, tmp_path) as process:
        begun(tmp_path, task_id)
        process.send_signal(number)
        _, said = process.communicate(timeout=PATIENCE_SECONDS)

    task = place.owner.task(task_id)
    assert (process.returncode, said) == (0, "")
    assert (task.state, task.failures, task.attempts) == ("ready", 0, 1)


def test_what_is_finished_in_time_is_handed_in(place, tmp_path) -> None:
    """A handler that comes to its end within the grace has its output stored."""
    task_id = place.enqueue(kind="finish")
    with program(place, tmp_path) as process:
        begun(tmp_path, task_id)
        process.terminate()
        process.communicate(timeout=PATIENCE_SECONDS)

    assert place.owner.results(task_id)[0].output == "just in time"


def test_an_idle_worker_ends_at_once(place) -> None:
    """A worker that waits for work hears `stop`, hangs up and claims nothing on its way out."""
    worker = place.worker(parallel=3, wait_seconds=30, poll_seconds=600)
    worker.handles()(print)
    began = place.enqueue()
    running = threading.Thread(target=worker.run)
    running.start()
    end = time.monotonic() + PATIENCE_SECONDS
    while place.owner.task(began).state != "done":
        assert time.monotonic() < end
        time.sleep(0.01)
    worker.stop()
    running.join(PATIENCE_SECONDS)

    assert not running.is_alive()
    late = place.enqueue()
    assert place.owner.task(late).attempts == 0


def test_a_second_call_gives_back_at_once(place) -> None:
    """`stop(at_once=True)` waits for no grace."""
    task_id, at_work = place.enqueue(), threading.Event()
    worker = place.worker(grace_seconds=600)

    @worker.handles()
    def deaf(lease, context):
        at_work.set()
        over.wait(PATIENCE_SECONDS)

    over, running = threading.Event(), threading.Thread(target=worker.run)
    running.start()
    assert at_work.wait(PATIENCE_SECONDS)
    worker.stop()
    worker.stop(at_once=True)
    running.join(PATIENCE_SECONDS)
    over.set()

    assert not running.is_alive()
    assert place.owner.task(task_id).state == "ready"


def test_a_cancelled_worker_gives_back(place) -> None:
    """On somebody's own loop, cancelling `serve` interrupts the handlers and returns what they held."""
    task_id = place.enqueue()

    async def serve_for_a_while() -> None:
        worker, at_work = place.worker(grace_seconds=600), asyncio.Event()

        @worker.handles()
        async def work(lease, context):
            at_work.set()
            await asyncio.sleep(600)

        serving = asyncio.create_task(worker.serve())
        await at_work.wait()
        serving.cancel()
        with pytest.raises(asyncio.CancelledError):
            await serving

    asyncio.run(serve_for_a_while())
    task = place.owner.task(task_id)
    assert (task.state, task.failures) == ("ready", 0)


def test_a_worker_is_at_one_work_only(place) -> None:
    """A worker that runs already does not run twice; afterwards it may run again."""
    place.enqueue()
    worker = place.worker()

    @worker.handles()
    def again(lease, context):
        with pytest.raises(RuntimeError, match="at work already"):
            worker.run(once=True)

    worker.run(once=True)
    assert worker._listener.reports[-1].word == "done"
    assert worker.run_once() is None


def test_signals_are_as_they_were_afterwards(place) -> None:
    """A run in the main thread leaves the process's handlers as it found them."""
    former = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    place.enqueue()
    worker = place.worker()
    worker.handles()(print)
    worker.run(drain=True)

    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)] == former
    assert tessera.Worker is type(worker)
