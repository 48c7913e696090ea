"""A load of plain clients that claim and submit, and remember what they were answered."""

from __future__ import annotations

import http.client
import json
import threading
import time
from pathlib import Path
from typing import Any

from service.running import HOST, Running

import tessera
from conformance.receipts import receipt as receipt_of

QUEUE = "load"
RETRYABLE = (429, 503)


class Load:
    """Clients in threads, each on one connection that it opens again when it has to."""

    def __init__(self, service: Running, clients: int, tasks: int = 2_000) -> None:
        self._service = service
        self._end = threading.Event()
        self._lock = threading.Lock()
        self.receipts: dict[str, dict[str, Any]] = {}  # task -> what a submit of it was answered
        self.unexpected: list[str] = []
        self._threads = [threading.Thread(target=self._work, args=(n,)) for n in range(clients)]
        if tasks:
            service.queue(QUEUE, heartbeat_seconds=1, miss_limit=1, backoff_base_seconds=0, max_attempts=20)
            for _ in range(0, tasks, 1_000):
                specs = [{"queue": QUEUE, "kind": "k", "brief": {}}] * min(tasks, 1_000)
                assert service.post("/v1/tasks/batch", {"tasks": specs}).status == 201

    def start(self) -> None:
        """Let them work."""
        for thread in self._threads:
            thread.start()

    def reach(self, receipts: int) -> None:
        """Wait until so many submits were answered, or nothing is left to do."""
        end = time.monotonic() + 30
        while len(self.receipts) < receipts and any(thread.is_alive() for thread in self._threads):
            assert time.monotonic() < end, "the load is too slow"
            time.sleep(0.01)

    def finish(self) -> None:
        """Wait until every task has ended."""
        end = time.monotonic() + 40
        while self._service.get("/v1/counts").json["queues"][QUEUE]["done"] < self._all():
            assert time.monotonic() < end, "the work never came to its end"
            time.sleep(0.05)
        self.stop()

    def _all(self) -> int:
        return sum(self._service.get("/v1/counts").json["queues"][QUEUE].values())

    def stop(self) -> None:
        """Let them stop after what they are at."""
        self._end.set()

    def join(self) -> None:
        """Wait for their end."""
        for thread in self._threads:
            thread.join(30)
            assert not thread.is_alive()

    def remember(self, folder: Path) -> None:
        """Keep the receipts for a later life of the service, and take up those of an earlier one."""
        file = folder / "receipts.json"
        earlier = json.loads(file.read_text()) if file.exists() else {}
        assert not {
            task for task in earlier if task in self.receipts and earlier[task] != self.receipts[task]
        }
        self.receipts.update(earlier)
        file.write_text(json.dumps(self.receipts))

    def check(self, path: Path) -> None:
        """Every receipt is stored, once, and holds; counts recount."""
        with tessera.open(str(path)) as store:
            assert store.counts(recount=True).agree
            for task_id, receipt in self.receipts.items():
                (result,) = [one for one in store.results(task_id) if one.ok]
                assert result.sha256 == receipt["sha256"]
                assert result.sha256 == receipt_of(task_id, result.fencing_token, True, result.output, None)

    def _work(self, number: int) -> None:
        worker, held = f"worker-{number}", None
        connection = http.client.HTTPConnection(HOST, self._service.port, timeout=20)
        while not self._end.is_set():
            try:
                held = self._step(connection, worker, held)
            except (http.client.HTTPException, OSError):  # closed before an answer: try again, or the end
                connection.close()
                if self._service.process.poll() is not None:
                    return
        connection.close()

    def _step(self, connection: http.client.HTTPConnection, worker: str, held: Any) -> Any:
        """Claim, or hand in what is held; what is held afterwards."""
        if held is None:
            body = {"queue": QUEUE, "worker": worker, "wait_seconds": 0.2}
            reply = self._service.on(connection, "POST", "/v1/tasks/claim", body)
            if reply.status == 200:
                return reply.json
            self._expect(reply.status, 204, *RETRYABLE)
            return None
        task_id, token = held["task_id"], held["fencing_token"]
        body = {"task_id": task_id, "fencing_token": token, "output": {"by": worker}}
        headers = {"idempotency-key": f"{task_id}:{token}"}
        reply = self._service.on(connection, "POST", "/v1/tasks/submit", body, headers=headers)
        if reply.status in RETRYABLE:
            return held
        self._expect(reply.status, 200, 409)
        if reply.status == 200:
            with self._lock:
                self.receipts[task_id] = reply.json
        return None

    def _expect(self, status: int, *expected: int) -> None:
        if status not in expected:
            self.unexpected.append(f"status {status}")
