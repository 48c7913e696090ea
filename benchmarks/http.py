"""Verbs over HTTP against the same verbs in process, in turns, with a compiled load client (wrk).

    python -m benchmarks.http [ROUNDS]

Needs `wrk` on the path (Debian: apt install wrk). Ratios are of medians; the disk's rate of syncs is printed
beside them. The load client, the service and whatever else runs share this machine's cores.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import tessera
from benchmarks import plain
from benchmarks.queue import TASKS, disk, fill, loop, median
from benchmarks.waiting import crowd, wake_ms
from tessera.service import answers, requests
from tessera.surface import SURFACE

SECONDS = 2
CONNECTIONS = 64
SCRIPT = Path(__file__).with_name("claim_submit.lua")
TICKS = os.sysconf("SC_CLK_TCK")


@dataclass
class Served:
    """A service of one scene."""

    url: str
    key: str
    pid: int

    def cpu_seconds(self) -> float:
        """What the service's process has used so far."""
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / TICKS


@contextmanager
def served(path: Path, *program: str) -> Iterator[Served]:
    """A service on a store: of the command line, or of another program that takes its words."""
    with tessera.open(str(path)) as store:
        key = store.issue_key(scopes=["admin"]).key
    words = program or ("-m", "tessera.cli.main")
    command = [sys.executable, *words, "serve", "--store", str(path), "--port", "0"]
    with path.with_suffix(".log").open("w") as log:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True)
    try:
        assert process.stdout is not None
        yield Served(process.stdout.readline().strip(), key, process.pid)
    finally:
        process.terminate()
        process.communicate()


@dataclass
class Loaded:
    """What wrk saw, and what the service used."""

    rate: float  # requests a second
    cpu_us: float  # of the service, a request
    p50_ms: float
    p99_ms: float


def wrk(
    service: Served, connections: int = CONNECTIONS, seconds: int = SECONDS, nice: int = 0, **env: str
) -> subprocess.Popen[str]:
    """The load, running."""
    given = {**os.environ, "TESSERA_KEY": service.key, "OUTPUT": plain.OUTPUT, **env}
    command = ["nice", "-n", str(nice), "wrk", "-t1", f"-c{connections}", f"-d{seconds}s", "--latency"]
    command += ["-s", str(SCRIPT), service.url]
    return subprocess.Popen(command, env=given, stdout=subprocess.PIPE, text=True)


def seen(running: subprocess.Popen[str], cpu: float) -> Loaded:
    """What a load saw, once it has ended."""
    out, _ = running.communicate()
    line = next(line for line in out.splitlines() if line.startswith("RESULT "))
    count, micros, p50, _, p99 = map(int, line.split()[1:])
    return Loaded(count / micros * 1e6, cpu / max(1, count) * 1e6, p50 / 1e3, p99 / 1e3)


def under(service: Served, **env: str) -> Loaded:
    """One load, from its start to its end."""
    before = service.cpu_seconds()
    running = wrk(service, **env)
    running.wait()
    return seen(running, service.cpu_seconds() - before)


def beats_beside_claims(service: Served) -> tuple[Loaded, Loaded]:
    """64 connections that claim, and one that sends heartbeats meanwhile: what both see. The claiming client
    gives way to the other, or on two cores that one would time how long it waits to run. Some are claimed
    before: the first sync of a file writes what it was filled with, and wrk counts a stall as many times as
    the connection would have asked in it.
    """
    wrk(service, seconds=1, MODE="claims").wait()
    with tessera.open(service_store(service)) as store:
        lease = store.as_key(service.key).claim("q", "holder")
    assert lease is not None
    claims = wrk(service, nice=10, MODE="claims")
    beats = wrk(service, 1, MODE="beat", TASK=lease.task_id, TOKEN=str(lease.fencing_token))
    return seen(claims, 0), seen(beats, 0)


def service_store(service: Served) -> str:
    """The file that a service serves."""
    words = Path(f"/proc/{service.pid}/cmdline").read_text().split("\0")
    return words[words.index("--store") + 1]


def shares() -> dict[str, float]:
    """Microseconds of the service's own parts of one submit, each run alone."""
    row = SURFACE["submit"]
    body = json.dumps({"task_id": "t" * 34, "fencing_token": 1, "output": json.loads(plain.OUTPUT)}).encode()
    headers = requests.Headers([(b"idempotency-key", b"k" * 36), (b"content-type", b"application/json")])
    receipt = row.answer(
        task_id="t" * 34, fencing_token=1, ok=True, sha256="0" * 64, idempotency_key="k" * 36,
        submitted_at="2026-11-30T09:00:00.000000Z", replayed=False, state="done",
    )  # fmt: skip
    return {
        "decoding": micros(lambda: requests.ask_of_body(row, {}, b"", headers, body)),
        "encoding": micros(lambda: answers.answered(row, receipt)),
    }


def micros(act: object, times: int = 20_000) -> float:
    """How long one call takes, the least of five runs."""
    assert callable(act)
    least = 1e9
    for _ in range(5):
        start = time.process_time()
        for _ in range(times // 5):
            act()
        least = min(least, (time.process_time() - start) / (times // 5) * 1e6)
    return least


class Table:
    """Every scene's figures, a value a round."""

    def __init__(self) -> None:
        self.values: dict[str, list[float]] = defaultdict(list)

    def add(self, name: str, value: float) -> None:
        """One more value."""
        self.values[name].append(value)

    def __getitem__(self, name: str) -> float:
        return median(self.values[name])


def one_round(table: Table, folder: Path) -> None:
    """Every scene once, each on a fresh store."""
    fresh = iter(range(1_000))

    def store() -> Path:
        path = folder / f"{next(fresh)}.db"
        fill(path, TASKS)
        return path

    cpu = time.process_time()
    pairs = loop(store(), CONNECTIONS, [])
    table.add("in process, verbs/s", 2 * pairs)
    table.add("in process, CPU us a verb", (time.process_time() - cpu) / pairs / 2 * 1e6)
    with served(store()) as service:
        empty = under(service, MODE="empty")
        loaded = under(service)
        table.add("empty answers, requests/s", empty.rate)
        table.add("empty answer, CPU us", empty.cpu_us)
        table.add("claim and submit, verbs/s", loaded.rate)
        table.add("claim and submit, CPU us a verb", loaded.cpu_us)
        table.add("claim and submit, p50 ms", loaded.p50_ms)
        table.add("claim and submit, p99 ms", loaded.p99_ms)
    with served(store()) as service:
        table.add("batches of 100, verbs/s", under(service, SIZE="100").rate * 100)
    with served(store()) as service:
        claims, beats = beats_beside_claims(service)
        table.add("claims beside heartbeats, p50 ms", claims.p50_ms)
        table.add("claims beside heartbeats, p99 ms", claims.p99_ms)
        table.add("heartbeats beside claims, p50 ms", beats.p50_ms)
        table.add("heartbeats beside claims, p99 ms", beats.p99_ms)
    with served(folder / "waiting.db") as service:
        waits = asyncio.run(wake_ms(service.url, service.key, 200))
        table.add("a waiting claim's task, p50 ms", waits[100])
        table.add("a waiting claim's task, p95 ms", waits[190])
        table.add("lapses of 200 beats/s beside 1,000 waiting", asyncio.run(crowd(service.url, service.key)))


def main(rounds: int) -> None:
    """Measure in turns, then print what was measured and the ratios."""
    if shutil.which("wrk") is None:
        sys.exit("this needs wrk, a load client: apt install wrk")
    table, syncs = Table(), []
    for _ in range(rounds):
        with tempfile.TemporaryDirectory(prefix="tessera-http-", dir=".") as folder:
            syncs.append(disk(Path(folder)))
            one_round(table, Path(folder))
    say = sys.stdout.write
    say(f"disk: {median(syncs):,.0f} fdatasync a second, {1e3 / median(syncs):.2f} ms each\n\n")
    for name in table.values:
        say(f"  {name:45} {table[name]:10,.2f}\n")
    verb, empty = table["in process, CPU us a verb"], table["empty answer, CPU us"]
    whole = table["claim and submit, CPU us a verb"]
    say(f"\nof {whole:.0f} us a verb: HTTP and sending {empty:.0f}, verb and commit in process {verb:.0f}")
    for name, part in shares().items():
        say(f", {name} {part:.1f}")
    say("\n")
    for label, ratio, goal in (
        ("claim and submit / in process", table["claim and submit, verbs/s"] / table["in process, verbs/s"],
         "at least 0.4"),
        ("CPU beyond an empty answer / in process", (whole - empty) / verb, "at most 2"),
        ("heartbeat p99 / claim p50",
         table["heartbeats beside claims, p99 ms"] / table["claims beside heartbeats, p50 ms"],
         "at most 0.5"),
        ("batches of 100 / single requests",
         table["batches of 100, verbs/s"] / table["claim and submit, verbs/s"], "at least 3"),
    ):  # fmt: skip
        say(f"\n{label:45} {ratio:6.2f}   ({goal})")
    say("\n")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 3)
