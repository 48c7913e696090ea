"""Telling one process from a later one with the same number: by when it started."""

from __future__ import annotations

import subprocess
from pathlib import Path

_PROC = Path("/proc/self/stat")


def started(pid: int) -> str | None:
    """When a process started, as the platform writes it; None if there is none. Two answers for one
    number are equal only if it is the same process.
    """
    stat = Path(f"/proc/{pid}/stat")
    try:
        fields = stat.read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
    except FileNotFoundError:
        return None if _PROC.exists() else _ps(pid, "lstart=") or None
    except OSError:
        return None
    return None if fields[0] in ("Z", "X") else fields[19]  # field 22 of proc(5): start in clock ticks


def parent_of(pid: int) -> int | None:
    """The process that started a process."""
    said = _stat(pid)[1] if _PROC.exists() else _ps(pid, "ppid=")
    return int(said) if said.isdigit() else None


def name_of(pid: int) -> str:
    """The name of the program that a process runs."""
    said = _stat(pid)[0] if _PROC.exists() else _ps(pid, "comm=")
    return said.rpartition("/")[2].lstrip("-")


def _stat(pid: int) -> tuple[str, str]:
    """Name and parent out of /proc, whose name is in brackets and may hold anything."""
    try:
        before, _, after = (
            Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")
        )
    except OSError:
        return "", ""
    return before.partition("(")[2], after.split()[1]


def _ps(pid: int, column: str) -> str:
    return subprocess.run(  # noqa: S603 - a fixed command on a number
        ["ps", "-o", column, "-p", str(pid)],  # noqa: S607
        capture_output=True, text=True, timeout=3, check=False,
    ).stdout.strip()  # fmt: skip
