"""What the wake room promises of its speed: an answer to a send, text on a pane, a start with a full queue.

python -m benchmarks.wake [FOLDER]      (needs tmux; FOLDER says which disk is measured)
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from wake.conftest import Daemon, Tmux

SENDS = 300
DELIVERIES = 20
QUEUED = 1_000


def median(times: list[float]) -> float:
    """The middle one, in milliseconds."""
    return sorted(times)[len(times) // 2] * 1e3


def timed(act: Callable[[], Any]) -> float:
    """Seconds that something takes."""
    begin = time.perf_counter()
    act()
    return time.perf_counter() - begin


def disk(folder: Path) -> float:
    """One small write and fdatasync in that folder: the median in milliseconds."""
    with open(folder / "probe", "wb", buffering=0) as file:

        def once() -> None:
            file.write(b"x" * 4_096)
            os.fdatasync(file.fileno())

        return median([timed(once) for _ in range(100)])


def sends(daemon: Daemon) -> float:
    """From a send to its answer, one client, one connection each."""
    daemon.register("file", {"path": str(daemon.folder / "out.txt")}, delivery_ack_mode="injected")
    numbers = iter(range(SENDS))
    return median([timed(lambda: daemon.send(f"s{next(numbers)}", "x" * 200)) for _ in range(SENDS)])


def deliveries(daemon: Daemon, tmux: Tmux) -> float:
    """From a send to the text submitted in a pane's application."""
    pane, log = tmux.composer()
    words = ("attach", "--repo", "web", "--pane", pane, "--tmux-socket", tmux.socket, "--bracketed")
    daemon.run(*words, "--ack-mode", "injected")
    times = []
    for number in range(DELIVERIES):

        def once(number: int = number) -> None:
            daemon.send(f"d{number}", "x" * 200, target_repo="web")
            while len(log.submitted()) <= number:
                time.sleep(0.002)

        times.append(timed(once))
    return median(times)


def full_start(daemon: Daemon, tmux: Tmux) -> float:
    """From the start of a service with a full queue to the first text in its pane, process start included."""
    pane, log = tmux.composer()
    words = ("attach", "--repo", "web", "--pane", pane, "--tmux-socket", tmux.socket, "--bracketed")
    endpoint = daemon.run(*words, "--ack-mode", "injected", "--name", "full").stdout.strip()
    tmux("copy-mode", "-t", pane)  # nothing is typed now: all of them wait
    for number in range(QUEUED):
        daemon.send(f"q{number}", "x" * 200, target_repo="web", endpoint_id=endpoint)
    daemon.stop()
    tmux("copy-mode", "-q", "-t", pane)

    def first() -> None:
        daemon.start()
        while not log.submitted():
            time.sleep(0.002)

    return timed(first) * 1e3


def main() -> None:
    """Measure on the disk of the folder that was named; print one line for each promise."""
    place = sys.argv[1] if len(sys.argv) > 1 else None
    with tempfile.TemporaryDirectory(prefix="tw", dir=place) as name:
        folder = Path(name)
        daemon, tmux = Daemon(folder), Tmux(folder)
        try:
            sync = disk(folder)
            daemon.start()
            report("one fdatasync", sync, None)
            report("send to answer", sends(daemon), 3 * sync + 2)
            report("send to text submitted in a pane", deliveries(daemon, tmux), 400)
            report(f"start with {QUEUED} queued to first text", full_start(daemon, tmux), 1_000)
        finally:
            daemon.close()
            tmux.close()


def report(what: str, found: float, bound: float | None) -> None:
    """One line."""
    promised = "" if bound is None else f"   promised: {bound:.1f} ms"
    sys.stdout.write(f"{what:44} median {found:7.2f} ms{promised}\n")


if __name__ == "__main__":
    main()
