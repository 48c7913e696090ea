"""A story in which every verb that writes has its part, safe to begin again from anywhere.

Run as `python story.py STORE ANSWERS ENGINE`. Each answer is in ANSWERS, on disk, before the next verb.
"""

from __future__ import annotations

import json
import os
import sys
from dataclasses import replace
from itertools import count
from typing import Any

import apsw

import tessera
from tessera.errors import IdempotencyConflict, InvalidState, StaleLease
from tessera.runtime import real_runtime
from tessera.testing import open_on_loop

TICK_US = 40_000  # every look at the clock takes so long, so that leases lapse without waiting


class Story:
    """The store, and who writes down what it answers."""

    def __init__(self, path: str, answers: str, engine: str) -> None:
        clock = count(1_800_000_000_000_000 + os.getpid() * 1_000_000, TICK_US)
        runtime = replace(real_runtime(), now_us=clock.__next__, elapsed_us=clock.__next__)
        opened = open_on_loop if engine == "loop" else tessera.open
        self.path = path
        self.store = opened(path, runtime=runtime)
        self._answers = os.open(answers, os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def told(self, verb: str, *facts: Any) -> None:
        """Somebody has been answered: from here on it must be there."""
        os.write(self._answers, (json.dumps([verb, *facts]) + "\n").encode())
        os.fsync(self._answers)

    def lease(self, task_id: str) -> int:
        """Hold a task by a claim of its own kind, whatever became of it before."""
        while True:
            lease = self.store.claim("q", "w", kinds=[task_id], idempotency_key=f"claim-{task_id}")
            if lease is not None:
                self.told("claim", lease.task_id, lease.fencing_token)
                return lease.fencing_token

    def add(self, task_id: str, **fields: Any) -> None:
        """A task of a kind of its own."""
        self.told("task", self.store.enqueue(queue="q", kind=task_id, brief={}, task_id=task_id, **fields))

    def state(self, task_id: str) -> str:
        """Where a task is."""
        return self.store.task(task_id).state

    def hand_in(self, task_id: str, *, ok: bool = True) -> None:
        """Claim and submit until the task is where it shall be."""
        while self.state(task_id) not in ("done", "dead"):
            token = self.lease(task_id)
            try:
                receipt = self.store.submit(task_id, token, {}, f"{task_id}:{token}", ok=ok, error=None)
            except StaleLease:
                continue
            self.told("receipt", task_id, receipt.idempotency_key, receipt.sha256)

    # The chapters

    def queues(self) -> None:
        """Queues are made, changed, paused and resumed."""
        self.store.define_queue(
            "q", heartbeat_seconds=5, miss_limit=2, backoff_base_seconds=0, max_attempts=9
        )
        self.store.pause_queue("q")
        self.store.resume_queue("q")
        self.store.define_queue("once", max_attempts=1, heartbeat_seconds=5, miss_limit=2)
        self.told("queue", "once")

    def keys(self) -> None:
        """Keys are issued, one with an approval, and revoked."""
        approval = self.store.issue_approval(effect_classes=["public"]).approval
        key = self.store.issue_key(effect_classes=["public"], approval=approval).grant
        self.told("key", key.key_id)
        self.store.revoke_key(key.key_id)
        self.told("revoked", key.key_id)

    def family(self) -> None:
        """A task is kept alive, parked, resumed, given back, split in waves and merged."""
        self.add("p")
        if self.store.task("p").parks == 0:
            token = self.lease("p")
            self.store.heartbeat("p", token)
            self.store.release("p", token)
            self.store.park("p", self.lease("p"), "why", input_schema={"type": "object"})
        if self.store.task("p").wait_reason == "input":
            self.store.resume("p", {"yes": True})
        if not self.store.task("p").children:
            children = [
                {"brief": {}, "kind": f"c{n}", "task_id": f"c{n}", "after": [n - 1][:n]} for n in (0, 1)
            ]
            self.told("children", *self.store.split("p", self.lease("p"), children))
        for task_id in ("c0", "c1", "p"):
            self.hand_in(task_id)

    def batches(self) -> None:
        """Several tasks are added, claimed and handed in together; one lapses first."""
        specs = [{"queue": "q", "kind": "b", "brief": {}, "task_id": f"b{n}"} for n in range(3)]
        self.told("tasks", *self.store.enqueue_batch(specs))
        self.store.claim_batch("q", "w", 1, kinds=["b"])
        while any(self.state(f"b{n}") != "done" for n in range(3)):
            self.store.reap()
            submits = [
                dict(task_id=one.task_id, fencing_token=one.fencing_token, output=1,
                     idempotency_key=f"{one.task_id}:{one.fencing_token}")
                for one in self.store.claim_batch("q", "w", 3, kinds=["b"])
            ]  # fmt: skip
            if submits:
                self.store.submit_batch(submits)

    def jobs(self) -> None:
        """A model job is registered and cancelled under its lease: the task fails, and is done later."""
        self.add("j")
        if self.state("j") != "done":
            token = self.lease("j")
            try:
                self.store.register_job("j", token, f"job-{token}", "muse")
                self.store.update_job(f"job-{token}", "cancelled", {"tokens": 1}, 0.5)
            except (StaleLease, InvalidState, IdempotencyConflict):
                pass
        self.hand_in("j")

    def ends(self) -> None:
        """One tree is cancelled, one task dies and is requeued, one has a damaged brief."""
        self.add("x")
        if self.state("x") not in ("cancelled", "waiting"):
            self.store.split("x", self.lease("x"), [{"brief": {}, "kind": "never", "task_id": "x0"}])
        if self.state("x") != "cancelled":
            self.store.cancel("x", "no more")
            self.told("cancelled", "x", "x0")
        self.store.enqueue(queue="once", kind="k", brief={}, task_id="d")
        while self.state("d") != "dead":
            lease = self.store.claim("once", "w", kinds=["k"], idempotency_key="d")
            if lease is not None and lease.task_id == "d":
                self.store.submit("d", lease.fencing_token, None, f"d:{lease.fencing_token}", ok=False)
        self.told("dead", "d")
        self.told("task", self.store.requeue("d"))
        self.store.enqueue(queue="once", kind="u", brief={}, task_id="u")
        with apsw.Connection(self.path) as file:
            file.execute(
                "update briefs set brief = '!' where serial = (select serial from tasks where task_id = 'u')"
            )
        while self.state("u") != "dead":
            self.store.claim("once", "w", kinds=["u"])

    def tell(self) -> None:
        """All of it."""
        for chapter in (self.queues, self.keys, self.family, self.batches, self.jobs, self.ends):
            chapter()
        self.store.close()


if __name__ == "__main__":
    Story(*sys.argv[1:4]).tell()
