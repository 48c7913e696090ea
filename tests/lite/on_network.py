"""A log on the network that the tests start, what comes of its acts, and a store whose claims go there."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import tessera
from lite.hedera_stand_in import ACCOUNT, Network
from lite.workshop import furnish
from tessera.acts.act import Act, Answer
from tessera.library import Tessera
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


def settings(network: Network, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The environment of a store on the network."""
    for name, key in (("key", network.key), ("submit", network.submit_key)):
        (folder / name).write_text(key.to_string_raw() + "\n")
    nodes = ",".join(f"{account}={place}" for place, account in network.nodes.items())
    for name, value in {
        "LITE_LOG": "hedera", "HEDERA_NETWORK": nodes, "HEDERA_ACCOUNT": ACCOUNT,
        "HEDERA_KEY_FILE": str(folder / "key"), "HEDERA_SUBMIT_KEY_FILE": str(folder / "submit"),
        "LITE_MIRROR": network.mirror_url,
    }.items():  # fmt: skip
        monkeypatch.setenv(f"TESSERA_{name}", value)


@contextmanager
def store_on(
    network: Network, folder: Path, world: World, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Tessera]:
    """A store with a role whose topic is on the network; at the end its counts must agree."""
    settings(network, folder, monkeypatch)
    monkeypatch.setattr("tessera.lite.claiming.CLAIM_RESTS_MAX", 5)  # looks at a mirror that is behind
    with tessera.open(str(folder / "store.db"), runtime=world.runtime()) as store:
        furnish(store, topic_id=store.make_topic())
        yield store
        assert store.counts(recount=True).agree


def topic_of(store: Tessera) -> str:
    """Where the role's claims go."""
    return store.workspace("ws_a").roles[0].topic_id
