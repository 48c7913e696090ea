"""A disk that is full, broken or read-only: an error to the caller, the old state whole, later it works."""

from __future__ import annotations

import errno
from itertools import count
from pathlib import Path

import pytest

from messages.ground import ALICE, BOB, Sent
from messages.noted import Failing
from tessera import messages
from tessera.errors import Unavailable
from tessera.messages import Mail, disk
from tessera.runtime import real_runtime

TROUBLES = {
    "full": (errno.ENOSPC, True, ("unlink", "fsync")),
    "over quota": (errno.EDQUOT, True, ("unlink", "fsync")),
    "broken once": (errno.EIO, False, ()),
    "broken from then on": (errno.EIO, True, ()),
    "read-only": (errno.EROFS, True, ("fsync",)),
}


def in_trouble(
    patch: pytest.MonkeyPatch, failing: Failing, catalog: Path, body: str, key: str | None
) -> str | None:
    """Send on a disk in trouble; None if the send said that it may not have worked."""
    patch.setattr(disk, "os", failing)
    with messages.open(catalog, runtime=real_runtime()) as hurt:
        try:
            return hurt.send(ALICE, BOB, body, idempotency_key=key)
        except Unavailable:
            return None


@pytest.mark.parametrize("keyed", [True, False], ids=["keyed", "unkeyed"])
@pytest.mark.parametrize("trouble", TROUBLES)
def test_at_every_change_of_the_disk(
    mail: Mail, catalog: Path, alice: Sent, bob: Sent, monkeypatch: pytest.MonkeyPatch, trouble: str,
    keyed: bool,
) -> None:  # fmt: skip
    """Whichever call fails, the send says so or has succeeded, and the ledgers read meanwhile. The same send
    after the trouble goes on under the name that the first try gave it; the copies are the rows.
    """
    number, lasting, spared = TROUBLES[trouble]
    for nth in count(1):
        body, key, before = f"message {nth}", f"k{nth}" if keyed else None, {*bob.inbox()}
        failing = Failing(nth, number, lasting=lasting, spared=spared)
        with monkeypatch.context() as patch:
            answered = in_trouble(patch, failing, catalog, body, key)
        begun = {*bob.inbox()} - before
        committed = begun & {row.filename for row in mail.sent(ALICE).messages}
        assert all(report.ok for report in mail.verify())
        assert answered is None or {answered} == committed
        if not failing.failed:
            break
        again = mail.send(ALICE, BOB, body, idempotency_key=key)
        resumed = keyed or not committed
        assert begun <= {again} if resumed else again not in begun
        assert {*bob.inbox()} - before == {*begun, again}
        assert [row["filename"] for row in alice.rows()] == bob.inbox()
    assert nth > 20
    assert answered is not None


def test_what_could_not_be_removed_is_swept(
    mail: Mail, catalog: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a read-only disk kept of temporary files is gone after the next send."""
    mail.send(ALICE, BOB, "the first makes the folders")
    for nth in range(1, 40):
        with monkeypatch.context() as patch:
            failing = Failing(nth, errno.EROFS, lasting=True, spared=("fsync",))
            in_trouble(patch, failing, catalog, "hello", None)
        mail.send(ALICE, BOB, "hello")
        assert [path.name for path in catalog.rglob(f"{disk.TEMP_PREFIX}*")] == []
