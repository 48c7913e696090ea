"""Hundreds of callers on one event loop, some of whose verbs break, beside a second process that writes."""

from __future__ import annotations

import asyncio
import os
import random
import subprocess
import sys
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import Any

import apsw
import pytest

import tessera
from tessera.canonical import receipt_hash, strict_json
from tessera.errors import InvalidState, StaleLease, TesseraError
from tessera.models import decode
from tessera.names import EVENT_NUMBER
from tessera.rules.grants import OWNER
from tessera.runtime import real_runtime
from tessera.storage.loop import LoopEngine
from tessera.surface import SURFACE

CALLERS = 300
ACTS = 60 if "TESSERA_LONG" in os.environ else 16
VERBS = {name: row.run() for name, row in SURFACE.items()}
NEIGHBOUR = """
import sys, tessera
with tessera.open(sys.argv[1]) as store:
    print("open", flush=True)
    for number in range(int(sys.argv[2])):
        store.enqueue(queue="q", kind="k", brief={"from": "neighbour"})
        lease = store.claim("q", "neighbour")
        if lease is not None:
            store.submit(lease.task_id, lease.fencing_token, number, f"{lease.task_id}:{lease.fencing_token}")
"""


class Caller:
    """One agent: what it holds, what it was answered."""

    def __init__(self, engine: LoopEngine, name: str, receipts: dict[str, str]) -> None:
        self.engine = engine
        self.name = name
        self.receipts = receipts
        self.chance = random.Random(name)
        self.leases: list[Any] = []
        self.parked: list[str] = []

    async def ask(self, verb: str, **fields: Any) -> Any:
        """A verb through the event loop's engine."""
        return await self.engine.submit(VERBS[verb], OWNER, decode(strict_json(fields), SURFACE[verb].ask))

    async def live(self) -> None:
        """Do one thing after the other; being told no is part of it."""
        acts = (self.enqueue, self.claim, self.claim, self.hand_in, self.hand_in, self.split, self.park,
                self.resume, self.release, self.cancel, self.heartbeat, self.break_something)  # fmt: skip
        for _ in range(ACTS):
            with suppress(StaleLease, InvalidState):
                await self.chance.choice(acts)()

    async def enqueue(self) -> None:
        specs = [
            dict(queue="q", kind=f"k{n}", brief={"by": self.name}) for n in range(self.chance.choice((1, 4)))
        ]
        if len(specs) == 1:
            await self.ask("enqueue", **specs[0])
        else:
            await self.ask("enqueue_batch", tasks=specs)

    async def claim(self) -> None:
        if self.chance.random() < 0.7:
            lease = await self.ask("claim", queue="q", worker=self.name)
            self.leases += [lease] if isinstance(lease, SURFACE["claim"].answer) else []
        else:
            answer = await self.ask("claim_batch", queue="q", worker=self.name, limit=3)
            self.leases += getattr(answer, "leases", [])

    async def hand_in(self) -> None:
        if not self.leases:
            return
        lease = self.leases.pop(self.chance.randrange(len(self.leases)))
        key = f"{lease.task_id}:{lease.fencing_token}"
        ask = dict(task_id=lease.task_id, fencing_token=lease.fencing_token, output={"by": self.name},
                   ok=self.chance.random() < 0.8, idempotency_key=key)  # fmt: skip
        receipt = await self.ask("submit", **ask)
        again = await self.ask("submit_batch", submits=[ask])
        assert again.results[0].replayed
        assert again.results[0].sha256 == receipt.sha256
        self.receipts[key] = receipt.sha256

    async def split(self) -> None:
        if self.leases and self.leases[-1].depth < 2:
            lease = self.leases.pop()
            await self.ask("split", task_id=lease.task_id, fencing_token=lease.fencing_token,
                           children=[{"brief": {}}, {"brief": {}, "after": [0]}])  # fmt: skip

    async def park(self) -> None:
        if self.leases:
            lease = self.leases.pop()
            await self.ask("park", task_id=lease.task_id, fencing_token=lease.fencing_token, reason="why")
            self.parked.append(lease.task_id)

    async def resume(self) -> None:
        if self.parked:
            await self.ask("resume", task_id=self.parked.pop(), input={"go": True})

    async def release(self) -> None:
        if self.leases:
            lease = self.leases.pop()
            await self.ask("release", task_id=lease.task_id, fencing_token=lease.fencing_token)

    async def cancel(self) -> None:
        if self.leases and self.chance.random() < 0.3:
            await self.ask("cancel", task_id=self.leases[-1].task_id, reason="no more")

    async def heartbeat(self) -> None:
        if self.leases:
            lease = self.leases[-1]
            await self.ask("heartbeat", task_id=lease.task_id, fencing_token=lease.fencing_token)

    async def break_something(self) -> None:
        with pytest.raises(TesseraError, match="unforeseen"):
            await self.engine.submit(breaks)


def breaks(tx: Any, runtime: Any) -> None:
    """A verb with a bug: it writes, then fails, in the middle of everybody's transaction."""
    tx.write("set_meta", name="broken", value=1)
    raise ZeroDivisionError


async def play(path: str, receipts: dict[str, str]) -> None:
    """Let all of them live at once, with a neighbour in another process."""
    engine = LoopEngine(path, real_runtime(), asyncio.get_running_loop())
    ask = decode(b'{"name":"q","backoff_base_seconds":0,"max_attempts":2}', SURFACE["define_queue"].ask)
    await engine.submit(VERBS["define_queue"], OWNER, ask)
    neighbour = subprocess.Popen(
        [sys.executable, "-c", NEIGHBOUR, path, str(ACTS * 5)], stdout=subprocess.PIPE, text=True
    )
    assert neighbour.stdout is not None
    await asyncio.to_thread(neighbour.stdout.readline)
    await asyncio.gather(*(Caller(engine, f"w{n}", receipts).live() for n in range(CALLERS)))
    assert await asyncio.to_thread(neighbour.wait, 120) == 0
    neighbour.stdout.close()
    engine.close()


def test_a_swarm_on_the_loop(tmp_path: Path) -> None:
    """After all of it nothing answered is missing, nothing is doubled, and everything agrees."""
    path, receipts = str(tmp_path / "s.db"), {}
    asyncio.run(play(path, receipts))

    connection = apsw.Connection(path)
    assert connection.execute("pragma integrity_check").get == "ok"
    assert connection.execute("select count(*) from meta where name = 'broken'").get == 0
    leased = set(connection.execute("select serial, fencing_token from tasks where state = 1"))
    assert leased == set(connection.execute("select serial, fencing_token from leases"))
    claimed = connection.execute(
        "select task_id, fencing_token from events where type = ?", (EVENT_NUMBER["claimed"],)
    ).fetchall()
    assert max(Counter(claimed).values()) == 1
    tokens = dict(connection.execute("select task_id, fencing_token from tasks where fencing_token > 0"))
    assert Counter(task_id for task_id, _ in claimed) == tokens
    connection.close()
    with tessera.open(path) as store:
        assert store.counts(recount=True).agree
        stored = {one.idempotency_key: one for task_id in tokens for one in store.results(task_id)}
        for one in stored.values():
            output = strict_json(one.output).decode()
            assert one.sha256 == receipt_hash(one.task_id, one.fencing_token, one.ok, output, one.error)
        assert {key: stored[key].sha256 for key in receipts} == receipts
        assert len(receipts) > CALLERS // 3
