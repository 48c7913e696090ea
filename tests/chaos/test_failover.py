"""The primary dies under load, its synchronous standby takes over."""

from __future__ import annotations

import os
from pathlib import Path

from chaos.checks import assert_whole
from chaos.cluster import Cluster, pair, stand_by
from chaos.storm import AFTER
from chaos.town import Town, town

ROUNDS = 10 if os.environ.get("TESSERA_LONG") == "1" else 1


def fail_over(there: Town, primary: Cluster, standby: Cluster) -> None:
    """Kill the one, promote the other. It follows nobody, so it waits for nobody."""
    there.progress(AFTER)
    primary.kill()
    standby.promote()
    standby.ask("alter system reset synchronous_standby_names")
    standby.ask("select pg_reload_conf()")
    there.progress(4 * AFTER)


def test_n02_postgres_failover_loses_nothing(tmp_path: Path) -> None:
    """N02: nodes and workers go on without a restart when the primary is killed under load and its
    synchronous standby is promoted: every submit that was answered is there, once, and every receipt can be
    computed again.
    """
    with pair() as (primary, standby, dsn), town(dsn, tmp_path, nodes=2, workers=3) as there:
        pids = [node.pid for node in there.nodes]
        for _ in range(ROUNDS - 1):
            fail_over(there, primary, standby)
            primary, standby = standby, primary
            stand_by(standby, primary)
        fail_over(there, primary, standby)
        there.finish()
        assert_whole(there)
        assert [node.pid for node in there.nodes] == pids
        assert all(node.is_up() for node in there.nodes)
