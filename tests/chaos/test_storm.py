"""A store whose nodes, workers and database are killed and frozen under load.

Short here; `make chaos BACKEND=store` or `BACKEND=postgres` goes on for minutes. TESSERA_CHAOS_SEED repeats
the order of the blows of an earlier run.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from chaos import storm
from chaos.checks import assert_whole
from chaos.cluster import cluster
from chaos.town import town

LONG = os.environ.get("TESSERA_LONG") == "1"
SEEDS = [int(os.environ.get("TESSERA_CHAOS_SEED", 7))]


@pytest.mark.parametrize("seed", SEEDS)
def test_n01_store_one_node_on_a_file(tmp_path: Path, seed: int) -> None:
    """N01: a service on a file and its workers are killed and frozen again and again: nothing is lost,
    nothing is doubled, counts are a recount, every receipt can be computed again, the log was followed
    without a gap.
    """
    workers, rounds = (16, 20) if LONG else (3, 1)
    with town(str(tmp_path / "store.db"), tmp_path, nodes=1, workers=workers) as there:
        storm.blow(there, storm.ON_ONE_FILE, rounds, seed)
        there.finish()
        assert_whole(there)


@pytest.mark.parametrize("seed", SEEDS)
def test_n01_postgres_nodes_on_one_database(tmp_path: Path, seed: int) -> None:
    """N01: the same for several nodes on one database, whose connections are ended and which is itself
    restarted, in order, at once and as if its machine had died.
    """
    nodes, workers, rounds = (3, 16, 10) if LONG else (2, 4, 1)
    with cluster() as (server, dsn), town(dsn, tmp_path, nodes, workers, server) as there:
        storm.blow(there, storm.ON_A_DATABASE, rounds, seed)
        there.finish()
        assert_whole(there)
