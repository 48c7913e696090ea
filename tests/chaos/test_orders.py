"""Batches of two nodes that touch the same rows in opposite order all come to an end."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack
from functools import partial
from itertools import count
from typing import Any

import pytest
from race.crew import together

import tessera
from tessera.library import Tessera
from tessera.models import Receipt, RecordVersion

ROUNDS = 200 if os.environ.get("TESSERA_LONG") == "1" else 15
KEYS = [f"key-{n}" for n in range(6)]
TREES = 3


@pytest.fixture
def nodes(dsn: str) -> Iterator[list[Tessera]]:
    """Four nodes on one database."""
    with ExitStack() as stack:
        yield [stack.enter_context(tessera.open(dsn)) for _ in range(4)]


def put(node: Tessera, keys: list[str], versions: dict[str, int | None]) -> list[RecordVersion]:
    """One batch of writes, in that order."""
    return node.put_records(
        [{"store": "s", "key": key, "value": {}, "expected_version": versions[key]} for key in keys]
    )


def test_n04_postgres_records_in_opposite_order(nodes: list[Tessera]) -> None:
    """N04: of batches that write the same records forwards and backwards at the same moment one is carried
    out and the others are told of a conflict; none hangs, none is given up as unavailable.
    """
    versions: dict[str, int | None] = dict.fromkeys(KEYS)
    for number in range(1, ROUNDS + 1):
        orders = [KEYS, KEYS[::-1], KEYS[3:] + KEYS[:3], KEYS[::-1]]
        outcomes = together(
            [partial(put, node, order, versions) for node, order in zip(nodes, orders, strict=True)]
        )
        done = [outcome for outcome in outcomes if isinstance(outcome, list)]
        assert len(done) == 1, outcomes
        assert [outcome for outcome in outcomes if outcome not in done] == ["version_conflict"] * 3
        versions = dict.fromkeys(KEYS, number)

    assert all(nodes[0].get_record("s", key).version == ROUNDS for key in KEYS)


def hand_in(node: Tessera, leases: list[Any], names: Iterator[int]) -> list[Receipt]:
    """One batch of submits, in that order."""
    outcomes = node.submit_batch(
        [
            dict(task_id=lease.task_id, fencing_token=lease.fencing_token, output={},
                 idempotency_key=f"{next(names)}")
            for lease in leases
        ]
    )  # fmt: skip
    assert all(isinstance(outcome, Receipt) for outcome in outcomes), outcomes
    return [outcome for outcome in outcomes if isinstance(outcome, Receipt)]


def test_n04_postgres_children_in_opposite_order(nodes: list[Tessera]) -> None:
    """N04: batches that end children of the same parents in opposite order are all carried out, whole, and
    each parent comes back when its last child has ended.
    """
    names = count()
    nodes[0].define_queue("q", lease_seconds=3_600, heartbeat_seconds=600)
    for _ in range(ROUNDS):
        parents = [nodes[0].enqueue(queue="q", kind="parent", brief={}) for _ in range(TREES)]
        for lease in nodes[0].claim_batch("q", "w", TREES):
            nodes[0].split(lease.task_id, lease.fencing_token, [{"brief": {}, "kind": "child"}] * len(nodes))
        children: dict[str, list[Any]] = {parent: [] for parent in parents}
        for lease in nodes[0].claim_batch("q", "w", TREES * len(nodes), kinds=["child"]):
            children[lease.parent_id].append(lease)
        batches = [
            [children[parent][place] for parent in (parents if place % 2 else parents[::-1])]
            for place in range(len(nodes))
        ]
        together([partial(hand_in, node, batch, names) for node, batch in zip(nodes, batches, strict=True)])
        assert {nodes[0].task(parent).state for parent in parents} == {"ready"}
        hand_in(nodes[0], nodes[0].claim_batch("q", "w", TREES), names)

    counts = nodes[0].counts(recount=True)
    assert counts.agree
    assert counts.queues["q"].done == ROUNDS * TREES * (1 + len(nodes))
