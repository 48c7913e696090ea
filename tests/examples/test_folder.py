"""The demo's folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from examples.stdlib_swarm.folder import NotOurs, demo_folder


def test_a_new_folder(tmp_path: Path) -> None:
    """A folder that is missing or empty is taken, with its parents."""
    (tmp_path / "empty").mkdir()
    for path in (tmp_path / "a" / "b", tmp_path / "empty"):
        with demo_folder(path) as folder:
            assert folder == path


def test_the_folder_of_an_earlier_run_is_emptied(tmp_path: Path) -> None:
    """What an earlier run left is gone; a link is removed, not what it points at."""
    precious = tmp_path / "precious"
    precious.mkdir()
    (precious / "file").touch()
    with demo_folder(tmp_path / "demo") as folder:
        (folder / "store.db").touch()
        (folder / "deep" / "er").mkdir(parents=True)
        (folder / "link").symlink_to(precious)

    with demo_folder(tmp_path / "demo") as folder:
        assert sorted(entry.name for entry in folder.iterdir()) == [".gitignore", ".tessera-demo"]
    assert (precious / "file").exists()


@pytest.mark.parametrize("kind", ["folder", "file"])
def test_anything_else_is_refused(tmp_path: Path, kind: str) -> None:
    """A folder with something in it that has no marker, or a file, is left as it is."""
    path = tmp_path / "work"
    held = path if kind == "file" else path / "thesis.txt"
    held.parent.mkdir(exist_ok=True)
    held.write_text("years")

    with pytest.raises(NotOurs), demo_folder(path):
        pass
    assert held.read_text() == "years"


def test_two_at_once_are_refused(tmp_path: Path) -> None:
    """While a run uses the folder, another keeps its hands off."""
    with demo_folder(tmp_path) as folder:
        (folder / "store.db").touch()
        with pytest.raises(NotOurs), demo_folder(tmp_path):
            pass
        assert (folder / "store.db").exists()
