"""A network that misbehaves only when told, and a log on it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from lite.hedera_stand_in import Network, running
from lite.on_network import log_of
from tessera.lite.hedera import HederaLog
from tessera.testing import World


@pytest.fixture(scope="module")
def beside() -> Iterator[Network]:
    """The network, one for all tests of this file."""
    with running() as network:
        yield network


@pytest.fixture
def network(beside: Network) -> Iterator[Network]:
    """The network, behaving."""
    beside.faults.clear()
    beside.mute, beside.shown, beside.mirror_status, beside.submits = False, 1 << 60, 200, 0
    yield beside
    beside.mute, beside.shown, beside.mirror_status, beside.stuck = False, 1 << 60, 200, False


@pytest.fixture
def log(network: Network, world: World) -> Iterator[HederaLog]:
    """A log on the network."""
    log = log_of(network, world)
    yield log
    log.close()
