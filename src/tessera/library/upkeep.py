"""The library's methods for a store as a whole. (`store.py` says how methods are.)"""

from __future__ import annotations

from collections.abc import Callable
from os import PathLike, fsdecode
from typing import Any, Protocol

from tessera import models
from tessera.errors import InvalidRequest

Tell = Callable[[str, int, int], None]  # what is being done, how much of it, out of how much


def quietly(what: str, done: int, of: int) -> None:
    """Tell nobody how far it is."""


class Keeper(Protocol):
    """Who looks after a store on its own machine."""

    def verify(self, tell: Tell) -> models.Verified:
        """Everything that the store claims about itself, computed again."""

    def backup(self, file: str, *, force: bool, unsound: bool, tell: Tell) -> models.BackedUp:
        """A copy of the store, checked."""

    def new_epoch(self) -> models.Epoch:
        """From now on nothing counts that was handed out before."""


class UpkeepVerbs:
    """What a store's owner can do on its machine."""

    _door: Any

    def verify(self, *, tell: Tell = quietly) -> models.Verified:
        """Compute receipts, hashes, counts, chains, leases and the log again, all of one instant, while
        others work. What is wrong is in the answer.
        """
        return self._keeper().verify(tell)

    def backup(
        self, file: str | PathLike[str], *, force: bool = False, unsound: bool = False, tell: Tell = quietly
    ) -> models.BackedUp:
        """Copy the store into a file, as of one instant, while others work; the copy is verified before it
        gets its name. An existing file is replaced only with `force`; a store with something wrong in it is
        copied only with `unsound`. `tessera.restore` brings it back.
        """
        return self._keeper().backup(fsdecode(file), force=force, unsound=unsound, tell=tell)

    def _keeper(self) -> Keeper:
        keeper = getattr(self._door, "keeper", None)
        if keeper is None:
            raise InvalidRequest("this is done on the store's own machine: open its file")
        return keeper()
