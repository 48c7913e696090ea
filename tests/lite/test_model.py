"""Any order of any agents' steps, deaths, lapses, cancels and recoveries: one winner each, and one story."""

from __future__ import annotations

import os
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from lite.workshop import Steps, assert_sound, claims, file_of, fresh, furnish, next_of, one_of, put
from tessera.errors import TesseraError
from tessera.models import Claimed
from tessera.testing import World, temporary_store

LONG = os.environ.get("TESSERA_LONG") == "1"
AGENTS = st.sampled_from(["agt_ann", "agt_bob", "agt_cem"])
SETTINGS = settings(
    max_examples=200 if LONG else 12, stateful_step_count=60 if LONG else 35, deadline=None,
    suppress_health_check=list(HealthCheck), derandomize=not LONG,
)  # fmt: skip


class Claims(RuleBasedStateMachine):
    """Calls under way, each step of which anybody else's may come between."""

    def __init__(self) -> None:
        super().__init__()
        self.world = World()
        self._opened = temporary_store(self.world)
        self.store = self._opened.__enter__()
        furnish(self.store, "ws_a", "drafts", "agt_ann", "agt_bob", "agt_cem")
        self.calls: list[Steps] = []
        self.leases: dict[tuple[str, int], str] = {}  # (task, token) -> the claim that was told of it

    @rule(priority=st.integers(-2, 2))
    def more_work(self, priority: int) -> None:
        """A task."""
        put(self.store, priority=priority)

    @rule(agent=AGENTS, seconds=st.sampled_from([5, 600]))
    def asks(self, agent: str, seconds: int) -> None:
        """An agent begins to claim."""
        self.calls.append(Steps(self.store, next_of(agent, key=fresh(), lease_seconds=seconds)))

    @precondition(lambda self: self.store.tasks().tasks)
    @rule(agent=AGENTS, data=st.data())
    def asks_for_one(self, agent: str, data: Any) -> None:
        """An agent begins to claim one task."""
        task = data.draw(st.sampled_from([one.task_id for one in self.store.tasks().tasks]))
        self.calls.append(Steps(self.store, one_of(task, agent)))

    @precondition(lambda self: self.calls)
    @rule(data=st.data(), steps=st.integers(1, 4))
    def goes_on(self, data: Any, steps: int) -> None:
        """A call takes some steps."""
        call = data.draw(st.sampled_from(self.calls))
        for _ in range(steps):
            if not call.over:
                call.take()
        self._note(call)

    @precondition(lambda self: self.calls)
    @rule(data=st.data())
    def dies(self, data: Any) -> None:
        """A call takes no further step."""
        call = data.draw(st.sampled_from(self.calls))
        call.die()
        self.calls.remove(call)

    @rule(seconds=st.sampled_from([1, 10, 61, 200]))
    def time_passes(self, seconds: int) -> None:
        """Leases lapse, claims grow old."""
        self.world.pass_seconds(seconds)
        self.store.reap()

    @rule()
    def recovers(self) -> None:
        """What was left is finished."""
        self.store.recover_claims()

    @precondition(lambda self: self.leases)
    @rule(data=st.data(), end=st.sampled_from(["submit", "release", "cancel"]))
    def a_lease_ends(self, data: Any, end: str) -> None:
        """A holder hands in or gives back, if it still can, or somebody cancels the task."""
        task_id, token = data.draw(st.sampled_from(sorted(self.leases)))
        try:
            if end == "submit":
                self.store.submit(task_id, token, 1, fresh("submit"))
            elif end == "release":
                self.store.release(task_id, token)
            else:
                self.store.cancel(task_id, "why")
        except TesseraError as refusal:
            assert refusal.code in {"stale_lease", "invalid_state"}  # noqa: PT017 - it may have ended before

    @invariant()
    def one_lease_each(self) -> None:
        """A lease is some claim's, and that claim alone has won its contest."""
        with file_of(self.store) as file:
            leases = file.execute(
                "select h.serial, h.fencing_token, count(c.claim_id) from leases h left join claims c on"
                " c.serial = h.serial and c.fencing_token = h.fencing_token and c.state = 1"
                " group by h.serial, h.fencing_token"
            ).fetchall()
        assert all(number == 1 for *_, number in leases)

    def teardown(self) -> None:
        """In the end everything is settled, and the log, the claims and the leases tell one story."""
        for call in self.calls:
            call.finish()
            self._note(call)
        self.world.pass_seconds(61)
        self.store.recover_claims()
        assert not [one for one in claims(self.store) if one.state == "reserved"]
        assert_sound(self.store)
        self._opened.__exit__(None, None, None)

    def _note(self, call: Steps) -> None:
        if isinstance(call.answer, Claimed):
            won = call.answer
            assert self.leases.setdefault((won.task_id, won.fencing_token), won.claim_id) == won.claim_id


def test_any_order() -> None:
    """However the steps of claims fall between each other's, nobody is told what another was told."""
    from hypothesis.stateful import run_state_machine_as_test

    run_state_machine_as_test(Claims, settings=SETTINGS)


@pytest.mark.parametrize("rivals", [2, 5])
def test_all_at_one_point(rivals: int) -> None:
    """Of several agents that reserved one task before any was heard, exactly one has it, whoever is heard
    last; the others are told that it is not theirs.
    """
    with temporary_store(World()) as store:
        furnish(store)
        task_id = put(store)
        calls = [Steps(store, one_of(task_id, "agt_ann", fresh())) for _ in range(rivals)]
        for call in calls:
            call.until("append_message")
        for call in reversed(calls):
            call.take()
        answers = [call.finish().status for call in calls]
        assert answers == ["missed"] * (rivals - 1) + ["claimed"]
        assert_sound(store)
