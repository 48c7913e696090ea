"""The small examples."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.mark.parametrize(
    ("name", "lines"),
    [
        ("hello.py", ["Hello, world!", "is done; its receipt is"]),
        ("human_approval.py", ["Send this to the team?", "may not answer itself", "the task is done"]),
    ],
)
def test_small_examples_run(name: str, lines: list[str], tmp_path: Path) -> None:
    """Each runs from anywhere, says what it shows, and leaves nothing behind."""
    ran = subprocess.run(
        [sys.executable, "-W", "error", EXAMPLES / name],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )

    assert (ran.returncode, ran.stderr) == (0, "")
    assert all(line in ran.stdout for line in lines)
    assert list(tmp_path.iterdir()) == []


def test_hello_is_short() -> None:
    """The first example fits on a screen."""
    assert len((EXAMPLES / "hello.py").read_text().splitlines()) <= 30
