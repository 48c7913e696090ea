"""A log on the network that the tests start, and what comes of its acts."""

from __future__ import annotations

from typing import Any

from lite.hedera_stand_in import ACCOUNT, Network
from tessera.acts.act import Act, Answer
from tessera.lite.hedera import HederaLog
from tessera.lite.mirror import Mirror
from tessera.lite.network import Network as Nodes
from tessera.testing import World


def log_of(network: Network, world: World, **more: Any) -> HederaLog:
    """A log on the network, with its own connections; no second of waiting is real."""
    keys = {"key": network.key.to_string_raw(), "submit_key": network.submit_key.to_string_raw(), **more}
    nodes = Nodes(network.nodes, ACCOUNT, **keys)
    return HederaLog(nodes, Mirror(network.mirror_url), world.runtime())


def done(act: Act[Answer]) -> Answer:
    """What comes of an act whose every step is work outside the store."""
    try:
        step = next(act)
        while True:
            assert step.outside
            try:
                came = step.compute()
            except Exception as error:
                step = act.throw(error)
            else:
                step = act.send(came)
    except StopIteration as end:
        return end.value
