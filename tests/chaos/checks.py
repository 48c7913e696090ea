"""What must hold of a store after a storm: nothing lost, nothing doubled, everything provable."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import tessera
from chaos.town import Town
from chaos.worker import QUEUE, TALLIES, TALLY
from conformance.audit import audit
from conformance.backend import Backend
from conformance.bench import Bench
from conformance.receipts import receipt
from tessera.library import Tessera
from tessera.models import Event


class Opened(Backend):
    """The store itself, as the suite's audit wants it."""

    def __init__(self, client: Tessera) -> None:
        self.client = client


def assert_whole(town: Town) -> None:
    """The store agrees with itself, and with everything that anybody was answered."""
    with tessera.open(town.store) as store:
        verified = store.verify()
        assert verified.ok, verified.findings
        _work_is_done(store, town)
        _leases_are_nobody_elses(town)
        _receipts_are_kept(store, town)
        _log_was_followed(store, town)
        _tallies_agree(store, town)
        bench = Bench(Opened(store), "storm")
        bench.began_after, bench.queues = 0, [QUEUE]
        audit(bench)
    for node in town.nodes:
        assert "Traceback" not in node.log.read_text(), node.log


def _work_is_done(store: Tessera, town: Town) -> None:
    """Every task that was brought came to its end, and so did all that it was split into."""
    counts = store.counts(recount=True)
    assert counts.agree
    states = counts.queues[QUEUE]
    assert (states.ready, states.leased, states.waiting, states.dead, states.cancelled) == (1, 0, 0, 0, 0)
    assert len(set(town.brought)) == len(town.brought)
    ends = Counter(store.task(task_id).state for task_id in town.brought)
    assert ends == {"done": len(town.brought)}


def _leases_are_nobody_elses(town: Town) -> None:
    """No token of a task was given to two workers."""
    given = Counter(lease for answers in town.told("lease") for lease in {tuple(one) for one in answers})
    assert given
    assert max(given.values()) == 1


def _receipts_are_kept(store: Tessera, town: Town) -> None:
    """Every submit that was answered is stored, once, and its receipt can be computed again."""
    answered = [one for answers in town.told("receipt") for one in answers]
    assert answered
    assert len({tuple(one[:2]) for one in answered}) == len(answered)
    for task_id, token, ok, sha256 in answered:
        (result,) = [one for one in store.results(task_id) if one.fencing_token == token]
        assert (result.ok, result.sha256) == (ok, sha256)
        assert sha256 == receipt(task_id, token, ok, result.output, result.error)


def _log_was_followed(store: Tessera, town: Town) -> None:
    """Who followed the log with `after=` was told every line, once, in order."""
    whole: list[Event] = []
    while page := store.events(after=whole[-1].seq if whole else 0, limit=10_000):
        whole += page
    assert [one.seq for one in town.followed] == [one.seq for one in whole]
    assert town.followed == whole
    assert all(earlier.at <= later.at for earlier, later in pairwise(whole))


def _tallies_agree(store: Tessera, town: Town) -> None:
    """Two records that only ever change together are as old as each other; no change that was answered is
    missing, none was made twice.
    """
    versions = [store.get_record(TALLY, key).version for key in TALLIES]
    assert versions[0] == versions[1]
    answered = [version for answers in town.told("tally") for both in answers for version in {*both}]
    assert len(set(answered)) == len(answered)
    assert len(answered) <= versions[0] <= sum(len(asked) for asked in town.told("tally_asked"))
