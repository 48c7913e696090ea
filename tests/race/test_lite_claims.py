"""Two services on one store race for the tasks of a workspace, each on one log."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from lite.workshop import assert_sound, claims, furnish, log_rows, put

import tessera
from race.crew import LONG
from tessera.errors import Unavailable
from tessera.lite.running_hash import GENESIS, entity, nanoseconds, running_hash
from tessera.lite.winner import winners
from tessera.models import Claimed, NoTasks
from tessera.testing import serving

TASKS = 1_000 if LONG else 200
AGENTS = 4  # of each service


def drain(url: str, key: str, agent: str, won: list[Claimed]) -> None:
    """Claim until nothing is left; a service that is busy with the other's transaction is asked again."""
    with tessera.open(url, key=key) as store:
        for number in range(10 * TASKS):
            answer: Any = None
            while answer is None:
                with suppress(Unavailable):
                    answer = store.claim_next("drafts", agent, f"{agent}-{number}")
            if isinstance(answer, Claimed):
                won.append(answer)
            elif isinstance(answer, NoTasks) and answer.retry_after_seconds > 1:
                return


@pytest.fixture
def path(tmp_path: Path) -> str:
    """A store with a workspace, its agents and its tasks."""
    path = str(tmp_path / "store.db")
    with tessera.open(path) as store:
        furnish(store, "ws_a", "drafts", *(f"agt_{side}{n}" for side in "ab" for n in range(AGENTS)))
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(lambda n: put(store, title=f"number {n}"), range(TASKS)))
    return path


def test_two_services_race(path: str) -> None:
    """Every task has one winner, every proof is the log's own row, and who lost a task got another."""
    won: list[Claimed] = []
    with tessera.open(path) as store:
        key = store.issue_key(scopes=["agent:runtime"], workspace_id="ws_a").key
        with serving(path) as one, serving(path) as two, ThreadPoolExecutor(2 * AGENTS) as pool:
            list(
                pool.map(
                    lambda who: drain(who[0].url, key, f"agt_{who[1]}{who[2]}", won),
                    [(service, side, n) for service, side in ((one, "a"), (two, "b")) for n in range(AGENTS)],
                )
            )

        assert len({answer.task_id for answer in won}) == len(won) == TASKS
        (topic,) = {one.topic_id for one in claims(store)}
        rows = log_rows(store, topic)
        assert chain_breaks(rows) == []
        decided = winners(rows, {row.payer_account_id for row in rows})
        places = {row.sequence_number: row for row in rows}
        for answer in won:
            row = places[answer.proof.sequence_number]
            assert answer.proof.consensus_timestamp == row.consensus_timestamp
            assert answer.claim_id in row.message.decode()
        assert {found.claim.claim_id for found in decided.values()} >= {answer.claim_id for answer in won}
        assert_sound(store)


def chain_breaks(rows: list[Any]) -> list[int]:
    """The sequence numbers at which the running hash does not follow from the row before."""
    broken, previous = [], GENESIS
    for number, row in enumerate(rows, 1):
        previous = running_hash(
            previous, entity(row.payer_account_id), entity(row.topic_id),
            nanoseconds(row.consensus_timestamp), row.sequence_number, row.message,
        )  # fmt: skip
        if row.sequence_number != number or previous != row.running_hash:
            broken.append(number)
    return broken
