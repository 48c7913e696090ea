"""Folders among the machine's temporary ones: a killed process's are removed, a living one's are not."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from tessera.scratch import Scratch, sweep
from tessera.testing_postgres import Server

HOLD = """
import sys
from tessera.scratch import Scratch
from tessera.testing_postgres import Server
made = Scratch("mine-"), Server()
(made[0].path / "file").write_text("x")
print("made", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder in which this process and its children make theirs."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def test_what_a_killed_process_has_left_is_removed(temporary: Path) -> None:
    """While a process lives its folders stay, whoever sweeps; once it is killed the next sweep removes them.
    A cluster for tests sweeps before it makes its folder.
    """
    with subprocess.Popen([sys.executable, "-c", HOLD], stdin=-1, stdout=-1, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "made\n"
        left = set(temporary.iterdir())
        sweep("mine-")
        own = Server()
        assert left < set(temporary.iterdir())
        process.kill()
    sweep("mine-")
    assert sorted(one.name[:11] for one in temporary.iterdir()) == ["tessera-pg."] * 2
    other = Server()
    assert set(temporary.iterdir()) == {own.folder, other.folder}
    own.throw_away()
    other.throw_away()
    assert list(temporary.iterdir()) == []


def test_what_is_no_folder_of_ours_stays(temporary: Path) -> None:
    """Neither other names nor files and links of that name are touched, nor what a link points to."""
    (temporary / "elsewhere").mkdir()
    (temporary / "mine-file").write_text("x")
    (temporary / "mine-link").symlink_to(temporary / "elsewhere")
    sweep("mine-")
    assert {one.name for one in temporary.iterdir()} == {"elsewhere", "mine-file", "mine-link"}


def test_a_folder_is_for_its_user_and_its_time(temporary: Path) -> None:
    """Nobody else can enter it; it is gone after its context, and removing it again does nothing."""
    scratch = Scratch("mine-")
    with scratch as path:
        assert path.stat().st_mode & 0o777 == 0o700
        (path / "file").write_text("x")
        assert path.name.startswith("mine-")
    assert not path.exists()
    scratch.remove()
