"""What mail costs: a send beside the syncs it owes and at any length of history, and the lists of a large
catalog. Run as `python -m benchmarks.messages [--short] [FOLDER]`; the folder says which disk is measured.

Everything is timed in turns in one run, through the library or the command line, as a user meets it.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import msgspec

from tessera import messages
from tessera.messages import Mail, disk, ledger, records

AGENTS = 560
HISTORIES = (20, 20_000)
BODY = "x" * 500


def milliseconds(act: Callable[[], object]) -> float:
    """How long an act takes."""
    start = time.perf_counter()
    act()
    return (time.perf_counter() - start) * 1e3


class Counting:
    """`os`, counting the syncs that the room asks for."""

    def __init__(self) -> None:
        self.files = self.folders = 0

    def __getattr__(self, name: str) -> object:
        return getattr(os, name)

    def fsync(self, fd: int) -> None:
        """Sync, and count what it was."""
        os.fsync(fd)
        if os.path.isdir(f"/proc/self/fd/{fd}"):
            self.folders += 1
        else:
            self.files += 1


def syncs_of_a_send(mail: Mail) -> tuple[int, int]:
    """How many files and folders one send syncs."""
    counting = Counting()
    real, disk.os = disk.os, counting
    try:
        mail.send("h.a0", "h.b", BODY)
    finally:
        disk.os = real
    return counting.files, counting.folders


def bare(folder: Path, files: int, folders: int) -> None:
    """The syncs that a send owes, and nothing else: new files of a message's size, names that come and go."""
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    for number in range(files):
        file = os.open("new", os.O_WRONLY | os.O_CREAT, dir_fd=fd)
        os.write(file, b"x" * 900)
        os.fsync(file)
        os.close(file)
        os.rename("new", f"kept-{number}", src_dir_fd=fd, dst_dir_fd=fd)
        os.fsync(fd)
    for number in range(folders - files):
        os.unlink(f"kept-{number}", dir_fd=fd)
        os.fsync(fd)
    os.close(fd)


def fill(mail: Mail, sender: str, rows: int) -> None:
    """A whole history, written without syncs: only its length is wanted."""
    mail.send(sender, "h.b", BODY)
    with (
        mail.catalog.folder(mail.find(sender)) as home,
        home.sub("resources") as resources,
        resources.sub("sent") as sent,
        ledger.Ledger(sent) as opened,
    ):
        index = opened.index()
        model = None if index is None else opened.tip(index)
        assert index is not None
        assert model is not None
        for number in range(rows - 1):
            ts = 1_500_000_000_000 + number
            row = msgspec.structs.replace(model[1], filename=f"{ts}-aaaaaa.md", ts=ts)
            node = ledger.next_node(index, row)
            name = records.digest(node)
            write(sent, f"messages/{row.filename}", row)
            write(sent, f"commits/{name}", node)
            index = records.Index(1, index.since, node.ordinal, name)
        write(sent, "index", index)


def write(sent: disk.Folder, name: str, document: records.Document) -> None:
    """A file of the ledger, without a sync."""
    (Path(sent.path) / f"{name}.json").write_bytes(records.canonical_bytes(document))


def sends(folder: Path, rounds: int) -> None:
    """A send at two lengths of history beside the bare syncs, in turns."""
    with messages.open(folder / "history") as mail:
        mail.add_agent("h.b")
        for number, rows in enumerate(HISTORIES):
            mail.add_agent(f"h.a{number}")
            fill(mail, f"h.a{number}", rows)
        os.sync()
        files, folders = syncs_of_a_send(mail)
        (folder / "bare").mkdir()
        acts = {
            f"bare: {files} files, {folders} folders synced": lambda: bare(folder / "bare", files, folders),
            **{
                f"send at {rows:,} messages": lambda number=number: mail.send(f"h.a{number}", "h.b", BODY)
                for number, rows in enumerate(HISTORIES)
            },
        }
        measured: dict[str, list[float]] = {name: [] for name in acts}
        for _ in range(rounds):
            for name, act in acts.items():
                measured[name].append(milliseconds(act))
        base = None
        for name, times in measured.items():
            middle = statistics.median(times)
            base = base or middle
            sys.stdout.write(f"{name:42} median {middle:8.2f} ms   {middle / base:5.2f} x bare\n")
        for rows in HISTORIES:
            sys.stdout.write(f"reading {rows:,} messages: ")
            sender = f"h.a{HISTORIES.index(rows)}"
            sys.stdout.write(f"{milliseconds(lambda sender=sender: mail.sent(sender)):.0f} ms\n")


def lists(folder: Path, rounds: int) -> None:
    """`sent --json` beside `ls --json` on a large catalog in which somebody's inbox is no folder."""
    path = folder / "catalog"
    with messages.open(path) as mail:
        for number in range(AGENTS):
            mail.add_agent(f"h.agent-{number}")
        for _ in range(20):
            mail.send("h.agent-1", "h.agent-2", BODY)
            mail.send("h.agent-2", "h.agent-1", BODY)
    broken = path / "agents" / "h" / "agent-3" / "resources" / "inbox"
    broken.rmdir()
    broken.write_bytes(b"")
    tessera = str(Path(sys.executable).parent / "tessera")
    times: dict[str, list[float]] = {"sent": [], "ls": []}
    for round_ in range(1 + rounds):
        for command, measured in times.items():
            args = [tessera, "message", command, "h.agent-1", "--json", "--catalog", str(path)]
            took = milliseconds(lambda args=args: subprocess.run(args, stdout=subprocess.DEVNULL, check=True))
            if round_:  # the first warms up
                measured.append(took)
    worst = {command: sorted(measured)[-1 - len(measured) // 20] for command, measured in times.items()}
    for command, took in worst.items():
        sys.stdout.write(f"{command + ' --json, ' + str(AGENTS) + ' agents':42} p95    {took:8.0f} ms\n")
    sys.stdout.write(f"{'sent beside ls':42} {worst['sent'] / worst['ls']:.2f} x\n")


def main() -> None:
    """Measure in a temporary folder on the disk of the folder that is given."""
    args = [arg for arg in sys.argv[1:] if arg != "--short"]
    short = "--short" in sys.argv
    with tempfile.TemporaryDirectory(dir=args[0] if args else None) as name:
        sends(Path(name), 20 if short else 100)
        lists(Path(name), 10)


if __name__ == "__main__":
    main()
