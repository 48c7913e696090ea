"""Claims and submits of many callers at once: each is answered as if it had come alone, one after another."""

from __future__ import annotations

import random
from typing import Any

import msgspec
import pytest
from verbs.bench import LAPSE, SETTINGS
from verbs.tables import Tables, file_of, tables

from tessera.errors import TesseraError
from tessera.library import Tessera
from tessera.models import decode
from tessera.surface import SURFACE
from tessera.testing import World, temporary_store

VERBS = ()
QUEUES = ("q", "r", "s")
Asks = list[tuple[Tessera, dict[str, Any]]]


def answers(store: Tessera, verb: str, asks: Asks, together: bool) -> list[Any]:
    """What a verb answers to callers that come in this order: together, as an engine runs them, or apart."""
    engine, run, model = store._door._engine, SURFACE[verb].run(), SURFACE[verb].ask
    asked = [(holder._door._caller(), decode(msgspec.json.encode(ask), model)) for holder, ask in asks]
    if together:
        found = engine.submit(lambda tx, runtime: run.for_many(tx, runtime, asked)).result()
    else:
        found = [_alone(engine, run, *one) for one in asked]
    return [_plain(one) for one in found]


def _plain(answer: Any) -> Any:
    """An answer or a refusal as it would travel."""
    if isinstance(answer, TesseraError):
        return answer.problem()
    return msgspec.json.decode(msgspec.json.encode(answer))


def _alone(engine: Any, run: Any, caller: Any, ask: Any) -> Any:
    """A verb's answer to one caller; a refusal as a value."""
    try:
        return engine.submit(run, caller, ask).result()
    except TesseraError as refusal:
        return refusal


def unordered(found: Tables) -> Tables:
    """Tables without what the order of work within one instant decides."""
    for table, column in (("events", "seq"), ("tasks", "revision")):
        found[table] = sorted(({**row, column: None} for row in found[table]), key=repr)
    return found


class Play:
    """Random turns of random callers, the same for the same seed."""

    def __init__(self, seed: int, store: Tessera, world: World, together: bool) -> None:
        self._chance, self._store, self._world, self._together = random.Random(seed), store, world, together
        for queue in QUEUES:
            store.define_queue(queue, **{**SETTINGS, "weight": self._chance.randint(1, 3)})
        grants: list[dict[str, Any]] = [{}, {"queues": ["q", "r"]}, {"kinds": ["a"]}]
        self._callers = [store] + [store.as_key(store.issue_key(**grant).key) for grant in grants]
        self._keys = [f"key-{n}" for n in range(6)]
        self._leases: list[tuple[Tessera, str, int]] = []

    def turns(self, number: int) -> list[Any]:
        """What all callers of so many turns were answered."""
        return [self._turn() for _ in range(number)]

    def _turn(self) -> Any:
        acts = [self._fill, self._claims, self._claims, self._submits, self._settle]
        return self._chance.choice(acts)()

    def _fill(self) -> Any:
        pick = self._chance.choice
        return self._store.enqueue_batch(
            {"queue": pick(QUEUES), "kind": pick("ab"), "brief": {}, "priority": pick([0, 0, 1]),
             "delay_seconds": pick([0, 0, 0, LAPSE])} for _ in range(self._chance.randint(1, 12))
        )  # fmt: skip

    def _settle(self) -> None:
        """Time passes, now and then enough for what is out to lapse; a brief is damaged."""
        self._world.pass_seconds(self._chance.choice([0.1, LAPSE]))
        if self._chance.random() < 0.3:
            file = file_of(self._store)
            file.execute(
                "update briefs set brief = '{\"x\":1}' where serial = (select max(serial) from tasks)"
            )
            file.close()

    def _claims(self) -> list[Any]:
        verb, asks = self._chance.choice(["claim", "claim_batch"]), []
        for _ in range(self._chance.randint(2, 9)):
            ask: dict[str, Any] = {"worker": f"w{self._chance.randrange(3)}"}
            names = self._chance.sample(QUEUES, self._chance.choice([1, 1, 2, 3]))
            ask |= {"queue": names[0]} if len(names) == 1 else {"queues": names}
            for field, values in (("idempotency_key", self._keys), ("kinds", [["a"], ["b"], ["b", "a"]])):
                if self._chance.random() < 0.4:
                    ask[field] = self._chance.choice(values)
            if verb == "claim_batch":
                ask["limit"] = self._chance.randint(1, 4)
            asks.append((self._chance.choice(self._callers), ask))
        found = answers(self._store, verb, asks, self._together)
        for (holder, _), answer in zip(asks, found, strict=True):
            leases = answer.get("leases", [answer] if "worker" in answer else [])
            self._leases += [(holder, lease["task_id"], lease["fencing_token"]) for lease in leases]
        return found

    def _submits(self) -> list[Any]:
        asks: Asks = []
        for _ in range(self._chance.randint(2, 9) if self._leases else 0):
            holder, task_id, token = self._chance.choice(self._leases[-12:])
            asks.append((
                holder if self._chance.random() < 0.9 else self._chance.choice(self._callers),
                {"task_id": task_id, "fencing_token": token, "ok": self._chance.random() < 0.7,
                 "output": self._chance.randrange(9), "idempotency_key": f"s{self._chance.randrange(40)}"},
            ))  # fmt: skip
        return answers(self._store, "submit", asks, self._together) if asks else []


def played(seed: int, together: bool) -> tuple[list[Any], Tables]:
    """What was answered, and what is left."""
    world = World(u=0.4)
    with temporary_store(world) as store:
        return Play(seed, store, world, together).turns(40), unordered(tables(store))


@pytest.mark.parametrize("seed", range(30))
def test_together_is_as_one_after_another(seed: int) -> None:
    """Random claims and submits of four callers give the same answers and leave the same tables."""
    together, apart = played(seed, together=True), played(seed, together=False)

    assert together[0] == apart[0]
    assert together[1] == apart[1]
