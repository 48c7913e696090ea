"""A catalog on the disk: where the agents are, and the way into one agent's folders."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Final

from tessera.errors import NotFound
from tessera.messages import addresses, agents, collisions, lock
from tessera.messages.agents import Book, Subject
from tessera.messages.disk import Folder, make_path
from tessera.messages.errors import LedgerDamaged
from tessera.runtime import Runtime

RESOURCES: Final = "resources"
INBOX: Final = "inbox"
ARCHIVE: Final = "archive"
SENT: Final = "sent"


class Catalog:
    """An open catalog. Opening makes nothing; a catalog that is not there holds no agents."""

    def __init__(self, path: str | Path, runtime: Runtime) -> None:
        self.path = str(path)
        self.runtime = runtime
        try:
            self._root: Folder | None = Folder.open(self.path, runtime.token)
        except FileNotFoundError:
            self._root = None
        except OSError as error:
            raise LedgerDamaged(f"the catalog {self.path} cannot be opened: {error.strerror}") from error

    def __enter__(self) -> Catalog:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the catalog's folder."""
        if self._root is not None:
            self._root.__exit__(None, None, None)
            self._root = None

    @property
    def root(self) -> Folder:
        """The catalog's folder. Raises `NotFound` if there is none."""
        if self._root is None:
            raise NotFound(
                f"no catalog at {self.path}: make it with `tessera message agents add HOST.ADDRESS`"
            )
        return self._root

    def make(self) -> Folder:
        """The catalog's folder, made if it is missing, for its owner alone: mail is private."""
        make_path(self.path, 0o700)
        if self._root is None:
            self._root = Folder.open(self.path, self.runtime.token)
        return self._root

    def book(self) -> Book:
        """All agents, as of one instant: a move or a retirement is seen whole or not at all."""
        root = self.root
        try:
            with lock.shared(root, self.runtime) as held:
                book = agents.read_book(root)
            if not held and root.has(lock.NAME):  # somebody began to change agents meanwhile
                with lock.shared(root, self.runtime):
                    book = agents.read_book(root)
        except OSError as error:
            raise LedgerDamaged(f"the catalog {self.path} cannot be read: {error.strerror}") from error
        return book

    def find(self, wanted: str) -> Subject:
        """The agent meant by an address, or by an `AgentId`. Raises `NotFound` or `AmbiguousAgent`."""
        return addresses.resolve(self.book(), wanted, self.path)

    def contested(self) -> collisions.Contested:
        """The legacy identities that denote more than one agent."""
        return collisions.read(self.root)

    def folder(self, subject: Subject, temps: Callable[[], str] | None = None) -> Folder:
        """An agent's folder, open, no link on the way. Raises OSError."""
        with self.root.sub(agents.AGENTS) as all_hosts, all_hosts.sub(subject.host_folder) as host:
            return host.sub(subject.folder, temps)

    def temps_of(self, subject: Subject) -> Callable[[], str]:
        """Endings of temporary names that tell whose they are, so that their owner may sweep them."""
        owner = owner_tag(subject)
        return lambda: f"{owner}-{self.runtime.token()}"


def owner_tag(subject: Subject) -> str:
    """Sixteen hex digits that stand for one agent's folder in the names of temporary files."""
    return hashlib.sha256(subject.place.encode()).hexdigest()[:16]
