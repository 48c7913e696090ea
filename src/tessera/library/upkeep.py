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

    def make_topic(self) -> models.MadeTopic:
        """A topic for a role, on the network that lite claims go to."""

    def verify_topics(self, topic_id: str | None, mirror: str | None, tell: Tell) -> models.TopicsVerified:
        """The topics of lite claims, followed from their first rows and compared with the claims."""

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

    def make_topic(self) -> str:
        """Make a topic on the network that lite claims go to, for a role to use; its id. Refused with
        `invalid_request` where they go to the store's own log, which makes its topics by itself.
        """
        return self._keeper().make_topic().topic_id

    def verify_topics(
        self, topic_id: str | None = None, *, mirror: str | None = None, tell: Tell = quietly
    ) -> models.TopicsVerified:
        """Follow the topics of lite claims, or one, from their first rows: recompute running hashes and
        winners, and compare every claim. The rows are read from the store's log, or from a mirror node by its
        URL. What is wrong is in the answer. `tell(topic, done, of)` hears how far it is, in rows.
        """
        return self._keeper().verify_topics(topic_id, mirror, tell)

    def _keeper(self) -> Keeper:
        keeper = getattr(self._door, "keeper", None)
        if keeper is None:
            raise InvalidRequest("this is done on the store's own machine: open its file")
        return keeper()
