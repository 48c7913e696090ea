"""Claim admission under a crowd: 500 connections that claim as fast as they are answered, on a disk that a
script makes slow, while one client sends heartbeats and another submits.

    python -m benchmarks.admission [SYNC_MS...]

For each disk: the limit as it adapts, beside fixed ones, each in a service of its own; then how soon the
service is as it was once the crowd has gone. Needs `wrk` (Debian: apt install wrk).
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import tessera
from benchmarks.http import Served, seen, served, wrk
from benchmarks.queue import fill
from benchmarks.waiting import Connection

CROWD = 500
SECONDS = 8
WARM_SECONDS = 4  # until the limit has settled
FIXED = (24, 128, 500)
TASKS = 60_000
HELD = 600
BACK_SECONDS_MAX = 30


@dataclass
class Run:
    """What one service did under the crowd."""

    claims: float  # a second
    claim_ms: float  # the slowest but one in a hundred
    beat_ms: tuple[float, float]  # idle, in the crowd: the same share
    submit_ms: tuple[float, float]
    back_seconds: float  # until heartbeats are as quick as idle ones again


async def paced(service: Served, held: list[tuple[str, int]], seconds: float) -> tuple[list[float], ...]:
    """Milliseconds of heartbeats and of submits that one client each sends, a pause apart."""
    beats, submits = (
        await Connection.open(service.url, service.key),
        await Connection.open(service.url, service.key),
    )
    end = time.perf_counter() + seconds

    async def beat() -> list[float]:
        task_id, token = held[0]
        taken = []
        while (start := time.perf_counter()) < end:
            status, _ = await beats.post("/v1/tasks/heartbeat", task_id=task_id, fencing_token=token)
            assert status == 200
            taken.append((time.perf_counter() - start) * 1e3)
            await asyncio.sleep(0.01)
        return taken

    async def submit() -> list[float]:
        taken = []
        while (start := time.perf_counter()) < end and len(held) > 1:
            task_id, token = held.pop()
            one = {"task_id": task_id, "fencing_token": token, "idempotency_key": f"{task_id}:{token}"}
            status, _ = await submits.post("/v1/tasks/submit-batch", submits=[one])
            assert status == 200
            taken.append((time.perf_counter() - start) * 1e3)
            await asyncio.sleep(0.03)
        return taken

    try:
        return tuple(await asyncio.gather(beat(), submit()))
    finally:
        beats.close()
        submits.close()


def under(folder: Path, sync_ms: float, fixed: int | None) -> Run:
    """One service, idle and then in the crowd."""
    store, disk = folder / f"{sync_ms}-{fixed}.db", folder / "disk"
    disk.write_text("0")
    fill(store, TASKS)
    disk.write_text(f"{sync_ms}" + ("" if fixed is None else f" {fixed}"))
    with served(store, "-m", "benchmarks.slow_disk", str(disk)) as service:
        with tessera.open(str(store)) as direct:
            claim = direct.as_key(service.key).claim_batch
            held = [
                (one.task_id, one.fencing_token) for _ in range(HELD // 100) for one in claim("q", "h", 100)
            ]
        idle = asyncio.run(paced(service, held, 4))
        wrk(service, CROWD, WARM_SECONDS, MODE="claims").communicate()
        crowd = wrk(service, CROWD, SECONDS, MODE="claims")
        busy = asyncio.run(paced(service, held, SECONDS - 1))
        loaded = seen(crowd, 0)
        back = asyncio.run(_back(service, held[0], p99(idle[0])))
    return Run(loaded.rate, loaded.p99_ms, (p99(idle[0]), p99(busy[0])), (p99(idle[1]), p99(busy[1])), back)


async def _back(service: Served, lease: tuple[str, int], idle_ms: float) -> float:
    """Seconds after which ten heartbeats in a row are slower than idle ones by no more than half."""
    start, since, good = time.perf_counter(), 0.0, 0
    connection = await Connection.open(service.url, service.key)
    while good < 10 and since < BACK_SECONDS_MAX:
        one = time.perf_counter()
        await connection.post("/v1/tasks/heartbeat", task_id=lease[0], fencing_token=lease[1])
        good += 1
        if (time.perf_counter() - one) * 1e3 > 1.5 * idle_ms:
            good, since = 0, time.perf_counter() - start
    connection.close()
    return since


def p99(taken: list[float]) -> float:
    """What all but one in a hundred stay below."""
    return sorted(taken)[int(len(taken) * 0.99)]


def main(disks: list[float]) -> None:
    """Measure, and print a table for each disk."""
    say = sys.stdout.write
    for sync_ms in disks:
        say(f"\na sync takes {sync_ms:g} ms more; {CROWD} connections claim\n")
        say(
            "  limit     claims/s  claim p99 ms   heartbeat p99 ms, x idle   submit p99 ms, x idle   back s\n"
        )
        best = polite = adapts = 0.0
        for fixed in (*FIXED, None):
            with tempfile.TemporaryDirectory(prefix="tessera-admission-", dir=".") as folder:
                run = under(Path(folder), sync_ms, fixed)
            say(
                f"  {fixed or 'adapts':6}  {run.claims:10,.0f}  {run.claim_ms:12.1f}   "
                f"{run.beat_ms[1]:12.1f} ({run.beat_ms[1] / run.beat_ms[0]:4.2f})        "
                f"{run.submit_ms[1]:12.1f} ({run.submit_ms[1] / run.submit_ms[0]:4.2f})       "
                f"{run.back_seconds:5.2f}\n"
            )
            adapts = run.claims
            if fixed:
                best = max(best, run.claims)
                holds = run.beat_ms[1] <= 3 * run.beat_ms[0]
                polite = max(polite, run.claims if holds else 0.0)
        say(f"  adapting / best fixed: {adapts / best:.2f}   (goal: at least 0.9)\n")
        if polite:
            say(f"  adapting / best fixed that keeps heartbeats within 3 x idle: {adapts / polite:.2f}\n")


if __name__ == "__main__":
    main([float(word) for word in sys.argv[1:]] or [20.0, 50.0])
