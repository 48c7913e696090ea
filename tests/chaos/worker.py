"""A worker of the storm: it claims and does what each brief plans, and writes down what it was answered.

    python -m chaos.worker NAME DIARY URL...

A line of the diary is written before the next request, so a death leaves at most one answer untold. It ends
when its input does.
"""

from __future__ import annotations

import json
import random
import select
import sys
import zlib
from pathlib import Path
from typing import Any

from chaos.anynode import AnyNode, is_unknown
from tessera.errors import NotFound, StaleLease, TesseraError, VersionConflict
from tessera.models import Lease

QUEUE = "storm"
TALLY = "tally"  # two records of this store always change together
TALLIES = ("left", "right")
PARK_SECONDS = 0.3
TALLY_SHARE = 0.2  # of the tasks, after which the tally is raised


class Life:
    """One worker's life."""

    def __init__(self, name: str, diary: Path, urls: list[str]) -> None:
        seed = zlib.crc32(name.encode())
        self._name = name
        self._nodes = AnyNode(urls, first=seed)
        self._diary = diary.open("a", encoding="utf-8")
        self._chance = random.Random(seed)

    def claim(self, number: int) -> Lease | None:
        """A lease; the same however often it is asked for, and of whichever node."""
        key = f"{self._name}:{number}"
        lease = self._nodes.ask(
            lambda node: node.claim_or_wait(QUEUE, self._name, idempotency_key=key, wait_seconds=0.5)
        )
        return lease if isinstance(lease, Lease) else None

    def work(self, lease: Lease) -> None:
        """What the brief plans for where the task stands. Whoever lost the lease has nothing more to say."""
        held = (lease.task_id, lease.fencing_token)
        self._write("lease", held)
        try:
            if not self._pass_on(lease, lease.brief["plan"]):
                self._submit(lease)
        except StaleLease:
            self._write("stale", held)
        except TesseraError as refusal:
            if not is_unknown(refusal):
                raise
            self._write("unknown", held)  # it holds the lease or not: either way time will tell
        if self._chance.random() < TALLY_SHARE:
            self._raise_tally()

    def _pass_on(self, lease: Lease, plan: str) -> bool:
        """End the lease in another way than by a success, where that is planned; whether it did."""
        held = (lease.task_id, lease.fencing_token)
        if plan == "parent" and not lease.children:
            children = [{"brief": {"plan": "plain"}}] * 2
            self._nodes.ask(lambda node: node.split(*held, children), again=False)
        elif plan == "parked" and not lease.parks:
            self._nodes.ask(lambda node: node.park(*held, "later", PARK_SECONDS), again=False)
        elif plan == "returned" and lease.attempts == 1:
            self._nodes.ask(lambda node: node.release(*held), again=False)
        elif plan == "flaky" and not lease.failures:
            self._hand_in(lease, None, ok=False, error="as planned")
        else:
            return False
        return True

    def _submit(self, lease: Lease) -> None:
        if lease.brief["plan"] == "slow":
            for _ in range(3):
                self._nodes.ask(lambda node: node.heartbeat(lease.task_id, lease.fencing_token))
        self._hand_in(lease, {"by": self._name, "of": [child.output for child in lease.children]})

    def _hand_in(self, lease: Lease, output: Any, **how: Any) -> None:
        held = (lease.task_id, lease.fencing_token)
        key = f"{self._name}:{lease.task_id}:{lease.fencing_token}"
        receipt = self._nodes.ask(lambda node: node.submit(*held, output, key, **how))
        self._write("receipt", (*held, receipt.ok, receipt.sha256))

    def _raise_tally(self) -> None:
        """Change both records in one batch, in either order."""
        order = self._chance.sample(TALLIES, 2)
        writes = [
            {"store": TALLY, "key": key, "value": {"by": self._name}, "expected_version": self._version(key)}
            for key in order
        ]
        self._write("tally_asked", order)
        try:
            versions = self._nodes.ask(lambda node: node.put_records(writes), again=False)
        except VersionConflict:
            return
        except TesseraError as refusal:
            if not is_unknown(refusal):
                raise
            return
        self._write("tally", [one.version for one in versions])

    def _version(self, key: str) -> int | None:
        try:
            return self._nodes.ask(lambda node: node.get_record(TALLY, key)).version
        except NotFound:
            return None

    def _write(self, what: str, value: Any) -> None:
        self._diary.write(json.dumps({what: value}) + "\n")
        self._diary.flush()


def main(name: str, diary: str, urls: list[str]) -> None:
    """Work until the input ends."""
    life, number = Life(name, Path(diary), urls), 0
    while not select.select([sys.stdin], [], [], 0)[0]:
        number += 1
        if lease := life.claim(number):
            life.work(lease)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3:])
