"""Random sends, acknowledgements, deaths and waits against what the contract says must always hold."""

from __future__ import annotations

import shutil
import tempfile
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from wake.conftest import Room

from tessera.testing import World
from tessera.wake import deliveries, states
from tessera.wake.errors import IdempotencyConflict, InvalidState, Unavailable

KEYS = st.sampled_from(["k1", "k2", "k3"])


class Wakes(RuleBasedStateMachine):
    """One repository, a changing cast of endpoints, three keys."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(prefix="twm"))
        self.room = Room(self.folder, World())
        self.cap = 3
        self.known: dict[str, str] = {}  # key -> message id
        self.acked: set[str] = set()
        self.leases: list[tuple[str, str]] = []
        self.names = 0
        self.attempts: dict[str, list[tuple[Any, ...]]] = {}

    def teardown(self) -> None:
        self.room.close()
        shutil.rmtree(self.folder)

    def endpoints(self) -> list[str]:
        return [one["endpoint_id"] for one in self.room.call("endpoints", live=True)["endpoints"]]

    @rule(mode=st.sampled_from(["acknowledged", "injected"]))
    def register(self, mode: str) -> None:
        self.names += 1
        self.room.file_endpoint(f"f{self.names}", delivery_ack_mode=mode, delivery_max_attempts=self.cap)

    @rule(which=st.integers(0, 5))
    def detach(self, which: int) -> None:
        if live := self.endpoints():
            self.room.call("detach", endpoint_id=live[which % len(live)])

    @rule(key=KEYS, which=st.integers(0, 5))
    def send(self, key: str, which: int) -> None:
        live = self.endpoints()
        with suppress(Unavailable, IdempotencyConflict):
            answer = self.room.send(key, endpoint_id=live[which % len(live)] if live else None)
            assert answer["deduplicated"] == (key in self.known)
            assert self.known.setdefault(key, answer["message_id"]) == answer["message_id"]

    @precondition(lambda self: self.known)
    @rule(key=KEYS)
    def acknowledge(self, key: str) -> None:
        if key in self.known:
            answer = self.room.call("ack", message_id=self.known[key])
            assert answer["already"] == (self.known[key] in self.acked)
            self.acked.add(self.known[key])

    @precondition(lambda self: self.known)
    @rule(key=KEYS)
    def retry(self, key: str) -> None:
        if key in self.known:
            failed = self.room.message(self.known[key])["state"] == "failed"
            with nullcontext() if failed else pytest.raises(InvalidState):
                self.room.call("retry", message_id=self.known[key])

    @precondition(lambda self: self.known)
    @rule(key=KEYS)
    def claim_and_die(self, key: str) -> None:
        if key in self.known:
            taken = self.room.service.store.run(deliveries.claim, self.known[key])
            if taken is not None:
                self.leases.append((self.known[key], taken.lease_id))

    @precondition(lambda self: self.leases)
    @rule(outcome=st.sampled_from(states.OUTCOMES))
    def report_late(self, outcome: str) -> None:
        message_id, lease_id = self.leases.pop()
        self.room.service.store.run(deliveries.report, message_id, lease_id, outcome, None)

    @rule(seconds=st.sampled_from([0.5, 6.0, 31.0, 400.0]))
    def wait(self, seconds: float) -> None:
        self.room.pass_seconds(seconds)

    @rule()
    def restart(self) -> None:
        self.room.reopen()

    @invariant()
    def holds(self) -> None:
        for message_id in self.known.values():
            message = self.room.message(message_id)
            assert (message["state"] == "acknowledged") == (message_id in self.acked)
            assert message["attempt_count"] <= min(self.cap, message["total_attempts"])
            assert [one["n"] for one in message["attempts"]] == [
                n + 1 for n in range(message["total_attempts"])
            ]
            ended = [(one["n"], one["outcome"]) for one in message["attempts"] if one["ended_at"]]
            before = self.attempts.get(message_id, [])
            assert [n for n, _ in ended[: len(before)]] == [n for n, _ in before]
            self.attempts[message_id] = ended
            assert sum(one["ended_at"] is None for one in message["attempts"]) <= 1
            if message["state"] in ("injected", "awaiting_ack"):
                assert any(one["outcome"] == "written" for one in message["attempts"])
            if message["state"] == "failed":
                assert message["attempt_count"] >= 1
                assert message["last_failure_reason"]


TestWakes = Wakes.TestCase
TestWakes.settings = settings(max_examples=25, stateful_step_count=25, deadline=None)
