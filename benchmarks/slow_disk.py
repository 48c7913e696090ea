"""The command line on a disk as slow as a file says, for measurements and tests of a service under load.

    python -m benchmarks.slow_disk FILE serve ...

FILE holds milliseconds that every sync takes more; it is read before each. With a second number in it, the
limit of claims in the engine is fixed there, to compare it with the one that adapts.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

from tessera.cli.main import main
from tessera.rules.admission import Admission
from tessera.storage import wal


def slow_down(file: Path) -> None:
    """From now on this process's disk is as slow as the file says."""
    adapting = Admission.limit

    def fdatasync(fd: int) -> None:
        time.sleep(float(file.read_text().split()[0]) / 1_000)
        os.fdatasync(fd)

    def limit(self: Admission, now_us: int) -> int:
        words = file.read_text().split()
        return int(words[1]) if len(words) > 1 else adapting(self, now_us)

    wal.fdatasync = fdatasync
    if len(file.read_text().split()) > 1:
        Admission.limit = limit  # type: ignore[method-assign]


if __name__ == "__main__":
    slow_down(Path(sys.argv[1]))
    sys.argv[1:] = sys.argv[2:]
    main()
