"""How long `tessera --help` takes beside `python -c "import click"`, in turns, in one run."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

ROUNDS = 15
TESSERA = str(Path(sys.executable).parent / "tessera")
COMMANDS = {
    'python -c "import click"': [sys.executable, "-c", "import click"],
    "tessera --help": [TESSERA, "--help"],
    "tessera queues --help": [TESSERA, "queues", "--help"],
    "tessera message --help": [TESSERA, "message", "--help"],
}


def main() -> None:
    """Measure in turns; print the median of each and the ratios."""
    measured: dict[str, list[float]] = {name: [] for name in COMMANDS}
    for _ in range(ROUNDS):
        for name, command in COMMANDS.items():
            start = time.perf_counter()
            subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
            measured[name].append((time.perf_counter() - start) * 1e3)
    base = sorted(measured['python -c "import click"'])[ROUNDS // 2]
    for name, times in measured.items():
        middle = sorted(times)[ROUNDS // 2]
        sys.stdout.write(f"{name:28} median {middle:6.1f} ms   {middle / base:4.2f} x\n")


if __name__ == "__main__":
    main()
