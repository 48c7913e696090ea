"""The worker processes as their parent sees them: start, strike one down, replace it, end them all."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self

from tessera.library import Tessera

ROOT: Final = Path(__file__).parents[2]  # where `examples` can be imported from
GRACE_SECONDS: Final = 5  # between asking a worker to end and killing it
FREEZE_SECONDS: Final = 0.05  # until a stopped process stands still


@dataclass(frozen=True, slots=True)
class Strike:
    """A worker that was killed, and the lease it held then."""

    worker: str
    task_id: str
    fencing_token: int
    what: str


class WorkerDied(Exception):
    """A worker ended although nobody asked it to."""


class Swarm:
    """Some worker processes at one service. Leaving the `with` block ends and reaps every one."""

    def __init__(self, url: str, key: str, pace: float, log_path: Path) -> None:
        self._url = url
        self._key = key
        self._pace = pace
        self._log_path = log_path
        self._processes: dict[str, subprocess.Popen[bytes]] = {}
        self._started = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    @property
    def workers(self) -> list[str]:
        """The names of those that live."""
        return list(self._processes)

    def start_worker(self) -> str:
        """Start one more worker and return its name."""
        self._started += 1
        name = f"worker-{self._started}"
        command = [sys.executable, "-m", "examples.stdlib_swarm.worker", "--store", self._url,
                   "--name", name, "--pace", str(self._pace)]  # fmt: skip
        with self._log_path.open("ab") as log:
            self._processes[name] = subprocess.Popen(
                command,
                cwd=ROOT,
                env={**os.environ, "TESSERA_KEY": self._key},  # arguments show in the list of processes
                stdin=subprocess.PIPE,  # a worker ends when this does: should we be killed, it is not left
                stdout=log,
                stderr=log,
                start_new_session=True,  # so that Ctrl-C reaches the parent alone, which ends them in order
            )
        return name

    def check(self) -> None:
        """Raise if a worker has ended by itself."""
        for name, process in self._processes.items():
            if process.poll() is not None:
                raise WorkerDied(f"{name} ended with {process.returncode}; see {self._log_path}")

    def strike(self, owner: Tessera) -> Strike | None:
        """Kill a worker in the middle of a lease on a file, and start another. None when there is none now.

        The process is stopped first and looked at second: what it holds while it stands still, it holds when
        it dies.
        """
        for task in owner.tasks(state="leased", kind="file").tasks:
            process = self._processes.get(task.worker or "")
            if process is None or (task.brief["stumble"] and not task.failures):
                continue  # the staged failure is another part of the story
            process.send_signal(signal.SIGSTOP)
            time.sleep(FREEZE_SECONDS)
            now = owner.task(task.task_id)
            if (now.worker, now.fencing_token) != (task.worker, task.fencing_token):
                process.send_signal(signal.SIGCONT)
                continue
            process.kill()
            _reap(process)
            assert task.worker is not None
            del self._processes[task.worker]
            self.start_worker()
            return Strike(task.worker, task.task_id, task.fencing_token, task.brief["file"])
        return None

    def end(self) -> None:
        """Ask every worker to end, kill those that do not, and reap them all."""
        for process in self._processes.values():
            process.terminate()
            process.send_signal(signal.SIGCONT)  # one that stands still would not hear it
        deadline = time.monotonic() + GRACE_SECONDS
        for process in self._processes.values():
            try:
                process.wait(max(0, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                process.kill()
            _reap(process)
        self._processes.clear()


def _reap(process: subprocess.Popen[bytes]) -> None:
    process.wait()
    assert process.stdin is not None
    process.stdin.close()
