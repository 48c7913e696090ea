"""Where the output goes when it cannot go on: a reader that has enough, a disk that is full."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from pathlib import Path

# Unbuffered, Python takes no notice of the part of a write that was not taken.
BUFFERED = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
LONG = [sys.executable, "-m", "tessera.cli.main", "openapi"]  # prints more than a pipe holds


def test_a_reader_that_has_enough() -> None:
    """Whoever closes the pipe early hears nothing more, on standard error neither."""
    with subprocess.Popen(LONG, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=BUFFERED) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.read(1) == b"{"
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 1


def test_a_disk_that_is_full(tmp_path: Path) -> None:
    """What the machine refuses is one line with a code, as what the store refuses is."""
    with (tmp_path / "out").open("wb") as file:
        process = subprocess.run(
            LONG, stdout=file, stderr=subprocess.PIPE, text=True, check=False, env=BUFFERED,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100)),
        )  # fmt: skip
    said = "error: internal: this machine refused: File too large\n"
    assert (process.returncode, process.stderr) == (1, said)
