"""The repositories there are: gita's registry, read as gita writes it.

A repository's name is column 2 of `repos.csv`, byte for byte: no folding, no trimming, no path. Gita
rewrites the file in place, so a reader may see half of it: a torn file is read again, and then the last
good copy counts and is called stale. (gita 0.16: `$GITA_PROJECT_HOME/gita`, else `$XDG_CONFIG_HOME/gita`,
else `~/.config/gita`.)
"""

from __future__ import annotations

import csv
import io
import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

from tessera.runtime import Runtime
from tessera.wake.errors import AmbiguousRepo, InvalidRequest, UnknownRepo
from tessera.wake.limits import (
    REGISTRY_BYTES_MAX,
    REGISTRY_SECONDS,
    REGISTRY_TRIES_MAX,
    REGISTRY_YOUNG_SECONDS,
)

LOCAL_SENDERS = frozenset({"operator", "cli", "coordination-engine"})


class _Torn(Exception):
    """The file is being written."""


def registry_path(environ: Mapping[str, str] = os.environ) -> Path:
    """Where the registry is. TESSERA_WAKE_GITA_DIR names its directory for a service, whose environment is
    not that of the user's shell.
    """
    if own := environ.get("TESSERA_WAKE_GITA_DIR"):
        return Path(own) / "repos.csv"
    home = environ.get("GITA_PROJECT_HOME") or environ.get("XDG_CONFIG_HOME")
    return (
        Path(home) if home else Path(environ.get("HOME", "~")).expanduser() / ".config"
    ) / "gita/repos.csv"


class Registry:
    """The names, read again whenever the file has changed."""

    def __init__(self, path: Path, runtime: Runtime) -> None:
        self.path = path
        self.stale = False
        self._runtime = runtime
        self._seen: tuple[int, int, int] | None = None
        self._paths: dict[str, list[str]] = {}

    def count(self) -> int:
        """How many names there are."""
        self._refresh()
        return len(self._paths)

    def require(self, name: str) -> None:
        """Refuses a name that gita does not know (`unknown_repo`) or knows twice (`ambiguous_repo`)."""
        if any(not char.isprintable() for char in name):
            raise InvalidRequest("a repository's name has no control characters", field="repo")
        self._refresh()
        paths = self._paths.get(name)
        if paths is None:
            raise UnknownRepo(self.hint(name), repo=name)
        if len(paths) > 1:
            raise AmbiguousRepo(f"gita's registry has this name {len(paths)} times", repo=name)
        if not _is_repository(Path(paths[0])):
            raise UnknownRepo("the repository's path is missing or no git repository", repo=name,
                              reason="path_missing")  # fmt: skip

    def hint(self, name: str) -> str:
        """That there is no such name, and how to make one."""
        return (
            f"gita's registry {self.path} has no repository {name!r}: add it with `gita add PATH`, "
            "which names it after its folder"
        )

    def require_sender(self, name: str) -> None:
        """The same for a sender, unless it is one of the local names."""
        if name not in LOCAL_SENDERS:
            self.require(name)

    def twice(self) -> list[str]:
        """The names that belong to several paths."""
        self._refresh()
        return sorted(name for name, paths in self._paths.items() if len(paths) > 1)

    def paths(self, name: str) -> list[Path]:
        """Where the repositories of a name are."""
        self._refresh()
        return [Path(path) for path in self._paths.get(name, [])]

    def name_of(self, folder: Path) -> str | None:
        """The name of the repository that holds a folder."""
        self._refresh()
        by_path = {Path(path).resolve(): name for name, paths in self._paths.items() for path in paths}
        folder = folder.resolve()
        return next((by_path[place] for place in (folder, *folder.parents) if place in by_path), None)

    def _refresh(self) -> None:
        for tries_left in reversed(range(REGISTRY_TRIES_MAX)):
            try:
                self._read()
                self.stale = False
                return
            except FileNotFoundError:
                self._seen, self._paths, self.stale = None, {}, False
                return
            except (OSError, _Torn):
                if tries_left:
                    self._runtime.sleep(REGISTRY_SECONDS)
        self.stale = True

    def _read(self) -> None:
        with self.path.open("rb") as file:
            found = os.fstat(file.fileno())
            seen = (found.st_mtime_ns, found.st_size, found.st_ino)
            if seen == self._seen:
                return
            content = file.read(REGISTRY_BYTES_MAX + 1)
        age = self._runtime.now_us() / 1e6 - found.st_mtime
        self._paths = parse(content, young=abs(age) < REGISTRY_YOUNG_SECONDS)
        self._seen = seen


def parse(content: bytes, *, young: bool = False) -> dict[str, list[str]]:
    """Name -> paths of a `repos.csv`. Raises when the content is torn: no UTF-8, an open quote, a last line
    without an end, or nothing at all in a file that was written just now.
    """
    if len(content) > REGISTRY_BYTES_MAX or (young and not content):
        raise _Torn
    if content and not content.endswith(b"\n"):
        raise _Torn
    names: dict[str, list[str]] = {}
    try:
        for row in csv.reader(io.StringIO(content.decode("utf-8"), newline=""), strict=True):
            if not row:
                continue
            if len(row) < 2:
                raise _Torn
            names.setdefault(row[1], []).append(row[0])
    except (UnicodeDecodeError, csv.Error) as error:
        raise _Torn from error
    return names


def _is_repository(path: Path) -> bool:
    """A working tree, a worktree, or a bare repository."""
    if (path / ".git").exists():
        return True
    if not (path / "HEAD").is_file():
        return False
    return (
        subprocess.run(  # noqa: S603 - a fixed command on a path of the user's own registry
            ["git", "-C", str(path), "rev-parse", "--git-dir"],  # noqa: S607
            capture_output=True, timeout=5, check=False,
        ).returncode
        == 0
    )  # fmt: skip
