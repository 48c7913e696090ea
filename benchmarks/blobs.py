"""What bytes cost: storing and reading 16 MiB against a plain file, and what that does to memory.

The yardsticks are the least that would be safe: a file written and synced, with its SHA-256; a file read,
with its SHA-256. Each round takes all in turns, so that a slow phase of the machine meets them all. Prints
medians, means and ratios of both: a put in three has to copy the log into the store's file.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import mean, median

import tessera

MIB = 1 << 20
SIZE = 16 * MIB
ROUNDS = 15
MEMORY = {
    "put, from bytes": ("data = os.urandom(size)", "store.put_blob(data)"),
    "put, from a file": ("file = Limited(size)", "store.put_blob(file)"),
    "get, as bytes": ("name = stored()", "store.get_blob(name)"),
    "get, in pieces": ("name = stored()", "store.blob_content(name)"),
    "get, a range of 64 KiB": ("name = stored()", "store.get_blob(name, -65536)"),
}
PROGRAM = """
import os, subprocess, sys, tessera

def status(field):
    with open("/proc/self/status") as lines:
        return next(int(line.split()[1]) for line in lines if line.startswith(field))

class Limited:
    def __init__(self, left):
        self.file, self.left = open("/dev/urandom", "rb"), left
    def read(self, size):
        piece = self.file.read(min(size, self.left))
        self.left -= len(piece)
        return piece

def stored():
    put = "import os, sys, tessera; print(tessera.open(sys.argv[1]).put_blob(os.urandom(int(sys.argv[2]))))"
    command = [sys.executable, "-c", put, sys.argv[1], str(size)]
    return subprocess.check_output(command, text=True).strip()

size = {size}
store = tessera.open(sys.argv[1])
store.get_blob(store.put_blob(b"warm"))
{before}
with open("/proc/self/clear_refs", "w") as clear:
    clear.write("5")
start = status("VmRSS")
answer = {act}
print((status("VmHWM") - start) / 1024)
"""


def timed(act: Callable[[], object]) -> float:
    """Seconds that something takes."""
    start = time.perf_counter()
    act()
    return time.perf_counter() - start


def plain_write(path: Path, data: bytes) -> None:
    """Write a file so that it survives a power cut, and hash it."""
    with path.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    hashlib.sha256(data).hexdigest()


def plain_read(path: Path) -> None:
    """Read a file and hash it."""
    hashlib.sha256(path.read_bytes()).hexdigest()


def speed(folder: Path) -> None:
    """Medians over the rounds, and ratios to the yardsticks."""
    took: dict[str, list[float]] = {}
    with tessera.open(str(folder / "store.db")) as store:
        for number in range(ROUNDS):
            data, plain = os.urandom(SIZE), folder / f"plain-{number}"
            name = hashlib.sha256(data).hexdigest()
            acts = {
                "plain write": lambda plain=plain, data=data: plain_write(plain, data),
                "put": lambda data=data: store.put_blob(data),
                "put again": lambda data=data: store.put_blob(data),
                "plain read": lambda plain=plain: plain_read(plain),
                "get": lambda name=name: store.get_blob(name),
                "get 64 KiB": lambda name=name: store.get_blob(name, 5 * MIB, 5 * MIB + 65_536),
            }
            for label, act in acts.items():
                took.setdefault(label, []).append(timed(act))
            plain.unlink()
    for label, times in took.items():
        yardstick = "plain write" if "put" in label or "write" in label else "plain read"
        middle, middle_of_it = median(times), median(took[yardstick])
        print(
            f"  {label:12} {middle * 1e3:7.1f} ms   {middle / middle_of_it:5.2f} x {yardstick}"
            f"   (mean {mean(times) / mean(took[yardstick]):5.2f} x)"
        )


def memory(folder: Path) -> None:
    """How much a fresh process grows, at its peak, by one put or get of 16 MiB. (Linux.)"""
    for label, (before, act) in MEMORY.items():
        program = PROGRAM.format(size=SIZE, before=before, act=act)
        store = str(folder / f"{label}.db")
        ran = subprocess.run(
            [sys.executable, "-c", program, store], stdout=subprocess.PIPE, text=True, check=True
        )
        print(f"  {label:24} {float(ran.stdout):5.1f} MiB")


def main() -> None:
    """Speed, then memory."""
    with tempfile.TemporaryDirectory(prefix="tessera-blobs-") as folder:
        print(f"{SIZE // MIB} MiB, {ROUNDS} rounds")
        speed(Path(folder))
        print("growth of the process at its peak")
        memory(Path(folder))


if __name__ == "__main__":
    main()
