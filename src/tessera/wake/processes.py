"""Telling one process from a later one with the same number: by when it started."""

from __future__ import annotations

import subprocess
from pathlib import Path


def started(pid: int) -> str | None:
    """When a process started, as the platform writes it; None if there is none. Two answers for one
    number are equal only if it is the same process.
    """
    stat = Path(f"/proc/{pid}/stat")
    try:
        fields = stat.read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
    except FileNotFoundError:
        return None if Path("/proc/self/stat").exists() else _asked(pid)
    except OSError:
        return None
    return None if fields[0] in ("Z", "X") else fields[19]  # field 22 of proc(5): start in clock ticks


def _asked(pid: int) -> str | None:
    """The same on a platform without /proc."""
    answer = subprocess.run(  # noqa: S603 - a fixed command on a number
        ["ps", "-o", "lstart=", "-p", str(pid)],  # noqa: S607
        capture_output=True, text=True, timeout=3, check=False,
    )  # fmt: skip
    return answer.stdout.strip() or None
