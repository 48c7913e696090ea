"""How soon a waiting claim has its task, and whether 1,000 of them cost a lease. For `benchmarks.http`."""

from __future__ import annotations

import asyncio
import json
import time
from typing import Any
from urllib.parse import urlsplit

HOLDERS = 20


class Connection:
    """One kept connection of a client that does as little as it can."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, key: str) -> None:
        self._reader = reader
        self._writer = writer
        self._key = key

    @classmethod
    async def open(cls, url: str, key: str) -> Connection:
        """Connect."""
        parts = urlsplit(url)
        return cls(*await asyncio.open_connection(parts.hostname, parts.port), key)

    async def post(self, path: str, **body: Any) -> tuple[int, Any]:
        """Ask, and wait for the status and the value."""
        data = json.dumps(body).encode()
        self._writer.write(
            f"POST {path} HTTP/1.1\r\nhost: h\r\nauthorization: Bearer {self._key}\r\n"
            f"content-length: {len(data)}\r\n\r\n".encode()
            + data
        )
        head = (await self._reader.readuntil(b"\r\n\r\n")).decode()
        status = int(head.split(" ", 2)[1])
        if status == 204:
            return status, None
        length = int(head.partition("content-length: ")[2].split("\r\n")[0])
        return status, json.loads(await self._reader.readexactly(length))

    def close(self) -> None:
        """Hang up."""
        self._writer.close()


async def wake_ms(url: str, key: str, times: int) -> list[float]:
    """Milliseconds from sending an enqueue to the waiting claim's answer, sorted; nothing else runs."""
    asks, waits = await Connection.open(url, key), await Connection.open(url, key)
    await asks.post("/v1/queues/define", name="wakes")
    taken = []
    for _ in range(times):
        waiting = asyncio.create_task(
            waits.post("/v1/tasks/claim", queue="wakes", worker="w", wait_seconds=20)
        )
        await asyncio.sleep(0.01)  # until it waits
        start = time.perf_counter()
        enqueuing = asyncio.create_task(asks.post("/v1/tasks", queue="wakes", kind="k", brief={}))
        status, _ = await waiting
        taken.append((time.perf_counter() - start) * 1e3)
        await enqueuing
        assert status == 200
    asks.close()
    waits.close()
    return sorted(taken)


async def crowd(url: str, key: str, seconds: float = 4, waiting: int = 1_000, leases: int = 200) -> int:
    """How many of so many leases lapse though each has a heartbeat a second, on a queue that forgives two,
    while so many claims wait on it.
    """
    beats = await Connection.open(url, key)
    await beats.post("/v1/queues/define", name="crowd", heartbeat_seconds=1, miss_limit=2, lease_seconds=600)
    spec = {"queue": "crowd", "kind": "k", "brief": {}}
    await beats.post("/v1/tasks/batch", tasks=[spec] * leases)
    held: list[str] = []
    while len(held) < leases:
        _, batch = await beats.post("/v1/tasks/claim-batch", queue="crowd", worker="w", limit=100)
        held += [lease["task_id"] for lease in batch["leases"]]
    crowding = [asyncio.create_task(_wait(url, key, seconds + 1)) for _ in range(waiting)]
    holders = [
        asyncio.create_task(_beat(url, key, held[first::HOLDERS], seconds)) for first in range(HOLDERS)
    ]
    lapsed = sum(await asyncio.gather(*holders))
    for task in crowding:
        task.cancel()
    await asyncio.gather(*crowding, return_exceptions=True)
    beats.close()
    return lapsed


async def _beat(url: str, key: str, held: list[str], seconds: float) -> int:
    """Send each lease's heartbeat once a second; how many were refused."""
    connection = await Connection.open(url, key)
    lapsed, end = 0, time.perf_counter() + seconds
    while (start := time.perf_counter()) < end:
        for task_id in held:
            status, _ = await connection.post("/v1/tasks/heartbeat", task_id=task_id, fencing_token=1)
            lapsed += status != 200
        await asyncio.sleep(max(0.0, 1 - (time.perf_counter() - start)))
    connection.close()
    return lapsed


async def _wait(url: str, key: str, seconds: float) -> None:
    connection = await Connection.open(url, key)
    try:
        await connection.post("/v1/tasks/claim", queue="crowd", worker="w", wait_seconds=seconds)
    finally:
        connection.close()
