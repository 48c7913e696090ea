"""Processes of the cases about operations."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence

DRAIN = """
import sys, tessera
with tessera.open(sys.argv[1]) as store:
    sys.stdin.readline()
    while lease := store.claim("q", sys.argv[2]):
        store.heartbeat(lease.task_id, lease.fencing_token)
        store.submit(lease.task_id, lease.fencing_token, sys.argv[2], "key-" + lease.task_id)
"""


def started(code: str, *args: str) -> subprocess.Popen[str]:
    """A Python process with pipes."""
    return subprocess.Popen(
        [sys.executable, "-c", code, *args],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def ended_well(processes: Sequence[subprocess.Popen[str]]) -> None:
    """Let them begin and wait for them; none may have failed."""
    for process in processes:
        process.stdin.write("go\n")
        process.stdin.flush()
    said = [process.communicate(timeout=120)[1] for process in processes]
    assert [(process.returncode, text) for process, text in zip(processes, said, strict=True)] == [
        (0, "") for _ in processes
    ]
