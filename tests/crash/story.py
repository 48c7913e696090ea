"""A story in which every verb has its part, and everything that time and bad luck can do to a task happens.

python story.py STORE ANSWERS
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parent.parent))

import raw_sql

from crash.shelf import Shelf

SCHEMA = {"type": "object", "required": ["go"]}


class Story(Shelf):
    """Told from its beginning, or from wherever it was broken off."""

    def tell(self) -> None:
        """All of it."""
        self.settings()
        self.keys()
        self.failing_and_trying_again()
        self.waiting_for_people()
        self.a_family()
        self.dead_letters()
        self.cancelling()
        self.damage()
        self.reaping()
        self.batches()
        self.model_jobs()
        self.documents()
        self.files()

    def settings(self) -> None:
        store = self.store
        settings = dict(heartbeat_seconds=10, miss_limit=1, lease_seconds=60, backoff_base_seconds=2)
        self.step("define", lambda: store.define_queue("q", max_attempts=2, **settings))
        self.step("define another", lambda: store.define_queue("other"))
        self.step("define again", lambda: store.define_queue("q", weight=2))
        self.step("pause", lambda: store.pause_queue("q"))
        self.step("pause again", lambda: store.pause_queue("q"))
        self.step("enqueue a", lambda: store.enqueue(queue="q", kind="k", brief={"a": 1}, task_id="a"))
        self.step("claim while paused", lambda: store.claim("q", "w"))
        self.step("go on", lambda: store.resume_queue("q"))

    def keys(self) -> None:
        """A public key, a plain one, and one that is revoked."""
        store, public = self.store, ["read", "public"]
        self.step("approval", lambda: store.issue_approval(effect_classes=public))

        def issue_public() -> Any:
            if self.forget_lost("loud"):  # and with it went the approval
                approval = store.issue_approval(effect_classes=public).approval
            else:
                approval = self.answers["approval"]["approval"]
            return store.issue_key(name="loud", effect_classes=public, approval=approval)

        self.step("issue loud", issue_public)
        for name in ("plain", "doomed"):
            self.step(f"issue {name}", lambda n=name: (self.forget_lost(n), store.issue_key(name=n))[1])
        doomed = self.answers["issue doomed"]["grant"]["key_id"]
        self.step("revoke doomed", lambda: store.revoke_key(doomed))
        self.step("revoke doomed again", lambda: store.revoke_key(doomed))

    def forget_lost(self, name: str) -> bool:
        """A key whose secret was lost with the answer is no use to anybody."""
        keys = self.store.keys()
        lost = [key.key_id for key in keys if key.name == name and not key.revoked_at]
        for key_id in lost:
            self.store.revoke_key(key_id)
        return bool(lost)

    def failing_and_trying_again(self) -> None:
        """a fails once; b waits for it, c has a delay of its own."""
        store = self.store
        self.step("enqueue a again", lambda: store.enqueue(queue="q", kind="k", brief={}, task_id="a"))
        b = dict(queue="q", kind="k", brief={"b": 1}, task_id="b", depends_on=["a"])
        self.step("enqueue b", lambda: store.enqueue(b))
        c = dict(queue="other", kind="k", brief={"c": 1}, task_id="c", delay_seconds=5)
        self.step("enqueue c", lambda: store.enqueue(c))
        token = self.claim("a")
        self.step("heartbeat a", lambda: store.heartbeat("a", token))
        self.step("fail a", lambda: store.submit("a", token, {"n": 1}, "a-fails", False, "oh"))
        self.seconds_pass("backoff of a", 3)
        self.finish("a")
        self.step("replay a", lambda: store.submit("a", 9, None, "a-done"))
        self.seconds_pass("delay of c", 5)
        self.finish("c", queue="other")

    def waiting_for_people(self) -> None:
        """b is parked, answered, parked again, and wakes by itself; then it is given back."""
        store = self.store
        token = self.claim("b")
        self.step("park b", lambda: store.park("b", token, "why?", input_schema=SCHEMA), self.parked("b", 1))
        self.step("resume b", lambda: store.resume("b", {"go": True}, 1), self.is_ready("b"))
        token = self.claim("b")
        self.step("park b again", lambda: store.park("b", token, "why?", 5), self.parked("b", 2))
        self.seconds_pass("patience of b", 6)
        self.refused("resume b late", "invalid_state", lambda: store.resume("b", {}, 2))
        token = self.claim("b")
        self.step("release b", lambda: store.release("b", token, 1), self.is_ready("b"))
        self.seconds_pass("rest of b", 1)

    def a_family(self) -> None:
        """b splits; a lease on one child lapses, and its holder hears of it."""
        store = self.store
        token = self.claim("b")
        children = [
            {"brief": {"x": 1}, "task_id": "b.x"},
            {"brief": {"y": 1}, "task_id": "b.y", "after": [0], "kind": "other"},
        ]
        self.step(
            "split b", lambda: store.split("b", token, children), lambda: bool(store.task("b").children)
        )
        token = self.claim("b.x")
        self.seconds_pass("silence", 11)
        self.refused("heartbeat of a lapsed lease", "stale_lease", lambda: store.heartbeat("b.x", token))
        self.seconds_pass("backoff of b.x", 3)
        self.finish("b.x")

    def dead_letters(self) -> None:
        """b.y fails for good, its parent goes on, its work is tried anew."""
        store = self.store
        for attempt in (1, 2):
            token = self.claim("b.y")
            key = f"b.y-fails-{attempt}"
            self.step(key, lambda token=token, key=key: store.submit("b.y", token, None, key, False, "no"))
            self.seconds_pass(f"after {key}", 5)
        self.finish("b")
        self.step("requeue b.y", lambda: store.requeue("b.y"))

    def cancelling(self) -> None:
        """A family is cancelled while a child is held, and one that something waits for."""
        store, again = self.store, self.answers["requeue b.y"]
        self.step("cancel again", lambda: store.cancel(again, "no need"), self.is_cancelled(again))
        self.step("enqueue d", lambda: store.enqueue(queue="q", kind="k", brief={}, task_id="d"))
        e = dict(queue="other", kind="k", brief={}, task_id="e", depends_on=["d"])
        self.step("enqueue e", lambda: store.enqueue(e))
        token = self.claim("d")
        children = [{"brief": {}, "task_id": "d.x"}, {"brief": {}, "task_id": "d.y", "after": [0]}]
        self.step(
            "split d", lambda: store.split("d", token, children), lambda: bool(store.task("d").children)
        )
        self.claim("d.x")
        self.step("cancel d", lambda: store.cancel("d", "enough"), self.is_cancelled("d"))
        self.finish("e", queue="other")

    def damage(self) -> None:
        """A brief rots on disk; what waited for that task goes on without it."""
        store = self.store
        self.step("enqueue f", lambda: store.enqueue(queue="q", kind="k", brief={"f": 1}, task_id="f"))
        g = dict(queue="q", kind="k", brief={}, task_id="g", depends_on=["f"])
        self.step("enqueue g", lambda: store.enqueue(g))
        self.step("rot", self.rot)
        self.finish("g")

    def reaping(self) -> None:
        """The reaper finds a lapsed lease and a park whose time is up."""
        store = self.store
        for name in ("h", "i"):
            self.step(
                f"enqueue {name}", lambda n=name: store.enqueue(queue="q", kind="k", brief={}, task_id=n)
            )
        self.claim("h")
        token = self.claim("i")
        self.step("park i", lambda: store.park("i", token, "why?", 20), self.parked("i", 1))
        self.seconds_pass("a while", 30)
        self.step("reap", store.reap)
        self.step("reap again", store.reap)
        self.seconds_pass("backoff of h", 5)
        self.finish("h")
        self.finish("i")

    def batches(self) -> None:
        """Three tasks come together; two of them are claimed together and handed in together."""
        store = self.store
        specs = [dict(queue="q", kind="k", brief={"n": n}, task_id=f"k{n}") for n in range(3)]
        specs[2]["depends_on"] = ["k0"]
        self.step("enqueue batch", lambda: store.enqueue_batch(specs))
        leases = self.step("claim batch", lambda: store.claim_batch("q", "w", 3, idempotency_key="batch"))
        submits = [
            dict(task_id=one["task_id"], fencing_token=1, idempotency_key=f"batch-{one['task_id']}", ok=ok)
            for one, ok in zip(leases, (True, False), strict=True)
        ]
        self.step("submit batch", lambda: store.submit_batch(submits))
        self.seconds_pass("backoff of k1", 5)
        self.finish("k1")
        self.finish("k2")

    def model_jobs(self) -> None:
        """A model job is cancelled under its lease, another one is asked to stop when the task is parked."""
        store = self.store
        self.step("enqueue j", lambda: store.enqueue(queue="q", kind="k", brief={}, task_id="j"))
        token = self.claim("j")
        self.step("register job", lambda: store.register_job("j", token, "job-1", "muse"))
        self.step("job goes on", lambda: store.update_job("job-1", "in_progress", {"tokens": 5}))
        self.step("job is cancelled", lambda: store.update_job("job-1", "cancelled", {"tokens": 7}, 0.5))
        self.seconds_pass("backoff of j", 5)
        token = self.claim("j")
        self.step("register another", lambda: store.register_job("j", token, "job-2", "muse"))
        self.step("park j", lambda: store.park("j", token, "why?"), self.parked("j", 1))
        self.step("job stops", lambda: store.update_job("job-2", "incomplete"))
        self.step("resume j", lambda: store.resume("j", "go on"), self.is_ready("j"))
        self.finish("j")

    # Turns of phrase

    def claim(self, task_id: str, queue: str = "q") -> int:
        """The token of the next lease, which must be on this task. A lost answer comes again for the key."""
        self.times[task_id] += 1
        name = f"claim {task_id} {self.times[task_id]}"
        key = name.replace(" ", "-")
        lease = self.step(name, lambda: self.store.claim(queue, "w", idempotency_key=key))
        assert lease["task_id"] == task_id, lease
        return int(lease["fencing_token"])

    def finish(self, task_id: str, queue: str = "q") -> None:
        """Claim and hand in."""
        token = self.claim(task_id, queue)
        self.step(
            f"finish {task_id}",
            lambda: self.store.submit(task_id, token, {"done": task_id}, f"{task_id}-done"),
        )

    def parked(self, task_id: str, park: int) -> Any:
        return lambda: self.store.task(task_id).parks == park

    def is_ready(self, task_id: str) -> Any:
        return lambda: self.store.task(task_id).state == "ready"

    def is_cancelled(self, task_id: str) -> Any:
        return lambda: self.store.task(task_id).state == "cancelled"

    def rot(self) -> None:
        """What a bad disk does."""
        connection = raw_sql.connect(self.path)
        connection.execute(
            "update briefs set brief = '{' where serial = (select serial from tasks where task_id = 'f')"
        )
        connection.close()


if __name__ == "__main__":
    Story(*sys.argv[1:4]).tell()
