"""A crowd of claims on a slow disk."""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from service.running import Running, serving

from tessera.limits import CLAIMS_AT_ONCE

SYNC_MS = 200
CROWD = 500
SECONDS = 5.0
DEADLINE_SECONDS = 3.0


@dataclass
class Told:
    """What the crowd was told, and how long it took."""

    statuses: Counter[int] = field(default_factory=Counter)
    slowest: float = 0
    come_back: set[str] = field(default_factory=set)


class Client:
    """One kept connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, key: str) -> None:
        self._reader, self._writer, self._key = reader, writer, key

    async def post(self, path: str, body: dict[str, Any], *headers: str) -> tuple[int, str, float]:
        """Status, head and seconds of a request."""
        data = json.dumps(body).encode()
        lines = [f"POST {path} HTTP/1.1", "host: h", f"authorization: Bearer {self._key}", *headers]
        start = time.monotonic()
        self._writer.write("\r\n".join([*lines, f"content-length: {len(data)}", "", ""]).encode() + data)
        head = (await self._reader.readuntil(b"\r\n\r\n")).decode().lower()
        if "content-length: " in head:
            await self._reader.readexactly(int(head.partition("content-length: ")[2].split("\r\n")[0]))
        return int(head[9:12]), head, time.monotonic() - start

    def close(self) -> None:
        """Hang up."""
        self._writer.close()


async def connected(service: Running) -> Client:
    """A new connection."""
    return Client(*await asyncio.open_connection("127.0.0.1", service.port), service.admin)


async def protected(service: Running, held: list[str], seconds: float) -> list[float]:
    """Seconds that heartbeats and submits take, one after the other."""
    client, taken = await connected(service), []
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        beat = await client.post("/v1/tasks/heartbeat", {"task_id": held[0], "fencing_token": 1})
        task_id = held.pop()
        ask = {"task_id": task_id, "fencing_token": 1}
        submit = await client.post("/v1/tasks/submit", ask, f"idempotency-key: {task_id}")
        assert (beat[0], submit[0]) == (200, 200)
        taken += [beat[2], submit[2]]
    client.close()
    return sorted(taken)


async def claim_again_and_again(service: Running, told: Told, end: float) -> None:
    """One of the crowd."""
    client = await connected(service)
    while time.monotonic() < end:
        status, head, took = await client.post("/v1/tasks/claim", {"queue": "q", "worker": "w"})
        told.statuses[status] += 1
        told.slowest = max(told.slowest, took)
        if status == 429:
            told.come_back.add(head.partition("retry-after: ")[2].split("\r\n")[0])
    client.close()


async def crowded(service: Running, held: list[str], told: Told) -> list[float]:
    """What heartbeats and submits take beside the crowd, once it is there."""
    end = time.monotonic() + SECONDS
    crowd = [asyncio.create_task(claim_again_and_again(service, told, end)) for _ in range(CROWD)]
    await asyncio.sleep(1.5)
    taken = await protected(service, held, SECONDS - 2)
    await asyncio.gather(*crowd)
    return taken


def test_heartbeats_and_submits_do_not_wait_behind_claims(tmp_path: Path) -> None:
    """While 500 connections claim without a pause, on a disk that takes a fifth of a second for a sync,
    heartbeats and submits take in the middle at most three times as long as idle ones (behind the claims in
    line it would be more); no claim waits longer than its deadline and its syncs, those that would are told
    whole seconds; and afterwards all is as before.
    """
    disk = tmp_path / "disk"
    disk.write_text("0")
    program = [sys.executable, "-m", "benchmarks.slow_disk", str(disk), "serve"]
    with serving(tmp_path, program=program, TESSERA_CLAIM_DEADLINE_SECONDS=str(DEADLINE_SECONDS)) as service:
        service.queue("q", heartbeat_seconds=60)
        for _ in range(15):
            specs = [{"queue": "q", "kind": "k", "brief": {}}] * 1_000
            assert service.post("/v1/tasks/batch", {"tasks": specs}).status == 201
        batch = {"queue": "q", "worker": "h", "limit": 100}
        leases = [service.post("/v1/tasks/claim-batch", batch).json["leases"] for _ in range(2)]
        held = [lease["task_id"] for some in leases for lease in some]
        disk.write_text(str(SYNC_MS))
        told = Told()

        idle = asyncio.run(protected(service, held, 2.5))
        taken = asyncio.run(crowded(service, held, told))
        after = asyncio.run(protected(service, held, 1))

        assert taken[len(taken) // 2] <= 3 * idle[len(idle) // 2]
        assert told.statuses[200] > 4 * CLAIMS_AT_ONCE  # how many more is for the machine to say
        assert set(told.statuses) <= {200, 429}
        assert all(1 <= int(seconds) <= 30 for seconds in told.come_back)
        assert told.slowest < DEADLINE_SECONDS + 3 * SYNC_MS / 1_000 + 1
        assert after[len(after) // 2] <= 1.5 * idle[len(idle) // 2]
