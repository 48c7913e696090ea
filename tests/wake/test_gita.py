"""Gita's registry, as the real gita writes it and as a careless reader might see it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from wake.conftest import Room, repositories

from tessera.runtime import real_runtime
from tessera.testing import World
from tessera.wake.errors import AmbiguousRepo, InvalidRequest, UnknownRepo
from tessera.wake.gita import Registry, registry_path


def gita(home: Path, *words: str) -> None:
    """Run the real gita with a registry of its own."""
    subprocess.run(
        [sys.executable, "-m", "gita", *words], check=True, capture_output=True,
        env=os.environ | {"GITA_PROJECT_HOME": str(home), "PYTHONWARNINGS": "ignore"},
    )  # fmt: skip


def git_repository(path: Path, *options: str) -> Path:
    subprocess.run(["git", "init", "-q", *options, str(path)], check=True)
    return path


@pytest.mark.parametrize("name", ["plain", "with space", "com,ma", "Gr\u00f6\u00dfe", 'quo"te'])
def test_what_gita_writes_is_read(folder: Path, name: str) -> None:
    """A repository that gita adds is known by exactly the name gita gave it, and by no other spelling."""
    repository = git_repository(folder / name)
    gita(folder, "add", str(repository))
    registry = Registry(registry_path({"GITA_PROJECT_HOME": str(folder)}), real_runtime())

    registry.require(name)
    assert registry.count() == 1
    assert registry.paths(name) == [repository]
    assert registry.name_of(repository / "deep" / "er") == name
    for other in (name.upper(), f"{name} ", str(repository)):
        with pytest.raises(UnknownRepo):
            registry.require(other)


def test_renames_and_removals_are_seen(folder: Path) -> None:
    """What gita changes counts from the next look on; groups are no repositories; bare ones are."""
    for name in ("one", "two"):
        gita(folder, "add", str(git_repository(folder / name)))
    bare = git_repository(folder / "bare.git", "--bare")
    gita(folder, "add", "-b", str(bare))
    registry = Registry(registry_path({"GITA_PROJECT_HOME": str(folder)}), real_runtime())
    registry.require("one")
    registry.require(registry.name_of(bare))
    gita(folder, "rename", "one", "uno")
    gita(folder, "group", "add", "two", "-n", "crew")
    registry.require("uno")
    for gone in ("one", "crew"):
        with pytest.raises(UnknownRepo):
            registry.require(gone)


def test_a_torn_file_leaves_the_last_good_copy(folder: Path, world: World) -> None:
    """Half a rewrite is read again, then the copy before it counts and is called stale, until it is whole."""
    path = repositories(folder, "api", "web")
    whole = path.read_bytes()
    registry = Registry(path, world.runtime())
    registry.require("api")
    for torn in (whole[:-20], b'"open quote,x\r\n', b"\xff\xfe,api,,\r\n", b"no columns\r\n"):
        path.write_bytes(torn)
        registry.require("api")
        assert registry.stale
    path.write_bytes(whole)
    registry.require("web")
    assert not registry.stale


def test_an_empty_file_counts_once_it_is_old(folder: Path, world: World) -> None:
    """A file that was emptied a moment ago is being rewritten; an old empty one is a registry without
    names.
    """
    path = repositories(folder, "api")
    registry = Registry(path, world.runtime())
    registry.require("api")
    now = world.now_us / 1e6
    path.write_bytes(b"")
    os.utime(path, (now, now))
    world.u = 0
    registry.require("api")
    assert registry.stale
    os.utime(path, (now - 60, now - 60))
    with pytest.raises(UnknownRepo):
        registry.require("api")


def test_names_that_are_no_names(folder: Path, world: World) -> None:
    """A name that is there twice is ambiguous, one whose path is gone unknown, one with a control character
    refused.
    """
    path = repositories(folder, "api", "web")
    path.write_text(path.read_text() + f"{folder / 'repos' / 'web'},api,,\n{folder / 'away'},lost,,\n")
    registry = Registry(path, world.runtime())
    assert registry.twice() == ["api"]
    with pytest.raises(AmbiguousRepo):
        registry.require("api")
    with pytest.raises(UnknownRepo) as refused:
        registry.require("lost")
    assert refused.value.extra["reason"] == "path_missing"
    with pytest.raises(InvalidRequest):
        registry.require("a\x1bpi")


def test_where_the_registry_is() -> None:
    """The service's own setting goes first, then gita's, then the desktop's, then the home folder."""
    every = {"TESSERA_WAKE_GITA_DIR": "/a", "GITA_PROJECT_HOME": "/b", "XDG_CONFIG_HOME": "/c", "HOME": "/d"}
    expected = ["/a/repos.csv", "/b/gita/repos.csv", "/c/gita/repos.csv", "/d/.config/gita/repos.csv"]
    for path in expected:
        assert str(registry_path(every)) == path
        every.pop(next(iter(every)))


def test_the_service_reads_it_anew_at_each_send(room: Room) -> None:
    """A repository that gita forgets takes no more wakes, without a restart."""
    room.file_endpoint()
    room.send()
    room.registry.write_text("")
    os.utime(room.registry, (1_000, 1_000))
    with pytest.raises(UnknownRepo):
        room.send("k2")
