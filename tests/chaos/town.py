"""A store under load: its nodes, workers that ask any of them, one who brings work, one who reads the log."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path

import tessera
from chaos.anynode import AnyNode
from chaos.cluster import Cluster
from chaos.nodes import Node, Worker
from chaos.worker import QUEUE
from tessera.models import Event

PATIENCE_SECONDS = 120  # with no progress in that time, something is stuck
PLANS = ("plain", "plain", "slow", "flaky", "parent", "parked", "returned", "dependent")
READY_LOW, READY_STEP = 24, 16  # how much work lies ready at least, and how much is brought at once
BUSY = """select pid, state, wait_event, clock_timestamp() - state_change as idle, pg_blocking_pids(pid),
            left(query, 80) from pg_stat_activity where backend_type = 'client backend'
            and (state <> 'idle' or wait_event <> 'ClientRead') and pid <> pg_backend_pid()"""
LEASES = dict(heartbeat_seconds=1, miss_limit=2, max_attempts=20, backoff_base_seconds=0)


class Aside(threading.Thread):
    """A turn taken again and again until it is told to end; what it failed with is raised then."""

    def __init__(self, turn: Callable[[], None]) -> None:
        super().__init__(daemon=True)
        self._turn = turn
        self._end = threading.Event()
        self._failure: Exception | None = None
        self.start()

    def run(self) -> None:
        """Take turns."""
        try:
            while not self._end.is_set():
                self._turn()
        except Exception as failure:
            self._failure = failure

    def check(self) -> None:
        """Raise what it has failed with."""
        if self._failure is not None:
            raise self._failure

    def stop(self) -> None:
        """Let it end what it is at."""
        self._end.set()
        self.join(PATIENCE_SECONDS)
        assert not self.is_alive()
        self.check()


class Town:
    """Everything that runs, and what each was answered."""

    def __init__(self, store: str, folder: Path, cluster: Cluster | None) -> None:
        self.store = store
        self.cluster = cluster
        self.nodes: list[Node] = []
        self.workers: list[Worker] = []
        self.gone: list[Worker] = []
        self.brought: list[str] = []  # tasks whose enqueue was answered
        self.followed: list[Event] = []
        self._folder = folder
        self._names = count(1)
        self._chance = random.Random(1)
        with tessera.open(store) as opened:
            opened.define_queue(QUEUE, **LEASES)
            self.key = opened.issue_key(name="storm", scopes=["admin", "store"]).key
        (folder / "key").write_text(self.key)

    def open(self, nodes: int, workers: int) -> None:
        """Let everybody begin."""
        for number in range(nodes):
            self.nodes.append(Node(f"node-{number}", self.store, self._folder))
        for _ in range(workers):
            self.hire()
        urls = [node.url for node in self.nodes]
        self._bringer, self._reader = AnyNode(urls, self.key), AnyNode(urls, self.key, first=1)
        self._beside = [Aside(self._bring), Aside(self._follow)]

    def hire(self) -> None:
        """A worker more."""
        self.workers.append(Worker(f"worker-{next(self._names)}", self.nodes, self._folder))

    def fire(self, worker: Worker) -> None:
        """Kill one; what it wrote down still counts."""
        worker.kill()
        self.workers.remove(worker)
        self.gone.append(worker)

    def told(self, what: str) -> Iterator[list[object]]:
        """What every worker, dead ones too, has been answered of a kind."""
        for worker in [*self.workers, *self.gone]:
            worker.look()
            yield [line[what] for line in worker.said if what in line]

    def receipts(self) -> int:
        """How many submits have been answered."""
        return sum(len(answers) for answers in self.told("receipt"))

    def progress(self, receipts: int, seconds: float = PATIENCE_SECONDS) -> None:
        """Wait until so many more submits have been answered; with less patience, or so many seconds."""
        goal, end = self.receipts() + receipts, time.monotonic() + seconds
        while self.receipts() < goal:
            for one in (*self._beside, *self.workers):
                one.check()
            if time.monotonic() > end:
                assert seconds < PATIENCE_SECONDS, f"stuck, {self._state()}"
                return
            time.sleep(0.05)

    def _state(self) -> str:
        """What can be seen of a town that stands still."""
        up = [node.name for node in self.nodes if node.is_up()]
        said = [f"up are {up}, {self.receipts()} receipts, {len(self.followed)} lines"]
        if self.cluster is not None:
            said += map(str, self.cluster.ask(BUSY))
        return "\n".join(said)

    def finish(self) -> None:
        """Bring nothing more, let all work come to its end, then let everybody go."""
        self._beside[0].stop()
        end = time.monotonic() + PATIENCE_SECONDS
        while self._unfinished():
            assert time.monotonic() < end, "the work never came to its end"
            time.sleep(0.1)
        for worker in self.workers:
            worker.stop()
        last = self._bringer.ask(lambda node: node.enqueue(queue=QUEUE, kind="end", brief={}, task_id="end"))
        while not self.followed or self.followed[-1].task_id != last:
            self._beside[1].check()
            assert time.monotonic() < end, "the follower of the log never came to its end"
            time.sleep(0.05)
        self._beside[1].stop()
        self._bringer.close()
        self._reader.close()

    def _unfinished(self) -> int:
        counts = self._bringer.ask(lambda node: node.counts()).queues[QUEUE]
        return counts.ready + counts.leased + counts.waiting

    def _bring(self) -> None:
        """Keep some work ready. A dependent waits for some that was brought before."""
        if self._bringer.ask(lambda node: node.counts()).queues[QUEUE].ready > READY_LOW:
            time.sleep(0.1)
            return
        specs = [self._spec() for _ in range(READY_STEP)]
        self.brought += self._bringer.ask(lambda node: node.enqueue_batch(specs))

    def _spec(self) -> dict[str, object]:
        plan, task_id = self._chance.choice(PLANS), f"task-{next(self._names)}"
        after = self._chance.sample(self.brought, 2) if plan == "dependent" and len(self.brought) > 1 else []
        return {
            "queue": QUEUE, "kind": "storm", "brief": {"plan": plan}, "task_id": task_id, "depends_on": after,
            "priority": self._chance.randrange(3),
        }  # fmt: skip

    def _follow(self) -> None:
        """Read on in the log, wherever the last page ended."""
        after = self.followed[-1].seq if self.followed else 0
        page = self._reader.ask(lambda node: node.events(after=after, limit=1_000))
        self.followed += page
        if not page:
            time.sleep(0.02)


@contextmanager
def town(
    store: str, folder: Path, nodes: int, workers: int, cluster: Cluster | None = None
) -> Iterator[Town]:
    """A town at work. Whatever becomes of the test, none of its processes outlives it."""
    made = Town(store, folder, cluster)
    try:
        made.open(nodes, workers)
        yield made
    finally:
        for worker in made.workers:
            worker.kill()
        for node in made.nodes:
            if node.is_up():
                node.kill()
