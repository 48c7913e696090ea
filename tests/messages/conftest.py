"""A catalog with three agents on a scripted clock."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from messages.ground import ALICE, BOB, CAROL, Sent
from tessera import messages
from tessera.messages import Mail
from tessera.testing import World


@pytest.fixture(autouse=True)
def _own_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing of the user's environment reaches a test."""
    for name in (
        "TESSERA_CATALOG",
        "TESSERA_AGENT",
        "ST_AGENT",
        "TESSERA_EVAL_REQUESTER",
        "TESSERA_CRASH_AT",
    ):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def catalog(tmp_path: Path) -> Path:
    """Where the catalog is."""
    return tmp_path / "catalog"


@pytest.fixture
def mail(catalog: Path, world: World) -> Iterator[Mail]:
    """The catalog, open, with Alice, Bob and Carol on host h."""
    with messages.open(catalog, runtime=world.runtime()) as mail:
        for address in (ALICE, BOB, CAROL):
            mail.add_agent(address)
        yield mail


@pytest.fixture
def alice(mail: Mail, catalog: Path) -> Sent:
    """Alice's ledger, by hand."""
    return Sent(catalog, ALICE)


@pytest.fixture
def bob(mail: Mail, catalog: Path) -> Sent:
    """Bob's folders, by hand."""
    return Sent(catalog, BOB)
