"""A service for the suite: `tessera serve` as it is, on a wall clock that the suite may push forward.

python -m conformance.backends.served STORE CLOCK

Leases lapse by the wall clock, so pushing it is enough for every test that lets time pass; nothing has to
sleep. CLOCK is a file of eight bytes, the microseconds to add, shared with whoever pushes.
"""

from __future__ import annotations

import mmap
import sys
from dataclasses import replace
from pathlib import Path

from tessera import app
from tessera.runtime import real_runtime


class Clock:
    """The file, in the memory of both processes."""

    def __init__(self, path: Path) -> None:
        if not path.exists():
            path.write_bytes(bytes(8))
        with path.open("r+b") as file:
            self._shared = mmap.mmap(file.fileno(), 8)

    @property
    def ahead_us(self) -> int:
        """How far the service's clock is ahead of the machine's."""
        return int.from_bytes(self._shared[:], "big")

    def push(self, seconds: float) -> None:
        """Put it further ahead."""
        self._shared[:] = (self.ahead_us + int(seconds * 1_000_000)).to_bytes(8, "big")


def main(store: str, clock: str) -> None:
    """Serve on a free port of the loopback until SIGTERM; the first line says where."""
    pushed, real = Clock(Path(clock)), real_runtime()
    runtime = replace(real, now_us=lambda: real.now_us() + pushed.ahead_us, scripted=True)

    def say(url: str) -> None:
        sys.stdout.write(f"{url}\n")
        sys.stdout.flush()

    app.serve(started=say, runtime=runtime, store=store, port=0)


if __name__ == "__main__":
    main(*sys.argv[1:])
