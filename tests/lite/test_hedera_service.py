"""A service whose lite claims go to a network: claims over HTTP, proofs verified behind them."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import tessera
from lite.hedera_stand_in import Network
from lite.on_network import settings
from lite.workshop import ROLE, furnish, put
from tessera.client import Client
from tessera.library import Tessera

PATIENCE = 200  # looks at a claim whose proof is to be verified


Served = tuple[Tessera, list[str]]


@pytest.fixture
def served(network: Network, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Served]:
    """A store on the network, and two services on its file."""
    settings(network, tmp_path, monkeypatch)
    monkeypatch.setenv("TESSERA_REAP_SECONDS", "0.2")
    path = str(tmp_path / "store.db")
    command = [sys.executable, "-m", "tessera.cli.main", "serve", "--store", path, "--port", "0"]
    with tessera.open(path) as store:
        furnish(store, topic_id=store.make_topic())
        services = [
            subprocess.Popen(
                command, env=dict(os.environ), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
            )
            for _ in range(2)
        ]
        try:
            yield (
                store,
                [service.stdout.readline().strip() for service in services if service.stdout],
            )
        finally:
            for service in services:
                service.terminate()
            for service in services:
                service.communicate(timeout=60)


def test_two_services_on_one_topic(served: Served, network: Network) -> None:
    """Claims over HTTP on two services win different tasks, each with its message in the topic; soon the
    proofs are verified, and the rows that a service shows are the mirror's.
    """
    store, urls = served
    for _ in range(4):
        put(store)
    key = store.issue_key(scopes=["agent:runtime"], workspace_id="ws_a").key
    clients = [Client(url, key) for url in urls]
    answers = [
        clients[number % 2].claim_next("drafts", agent, f"key-{number}")
        for number, agent in enumerate(["agt_ann", "agt_bob", "agt_ann", "agt_bob"])
    ]
    states: list[str] = []
    for _ in range(PATIENCE):
        states = [claim.proof.status for claim in clients[0].claims().claims if claim.proof]
        if states == ["verified"] * 4:
            break
        clients[0].topic_messages(ROLE)
    rows = clients[1].topic_messages(ROLE).messages
    for client in clients:
        client.close()

    assert [answer.status for answer in answers] == ["claimed"] * 4
    assert len({answer.task_id for answer in answers}) == 4
    assert states == ["verified"] * 4
    assert [row.sequence_number for row in rows] == [1, 2, 3, 4]
    assert len(network.rows(rows[0].topic_id)) == 4
    (found,) = store.verify_topics().topics
    assert (found.finding, found.claims) == (None, 4)
