"""The guard before every verb that a key may ask for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tessera.models import Model
from tessera.rules.grants import Caller
from tessera.runtime import Runtime
from tessera.steps import keys
from tessera.steps.outcomes import refusal_or
from tessera.storage.port import Transaction, Verb


class Guarded:
    """A verb behind a check, in its own transaction, that its caller's key still counts at this instant. If
    the verb has a form for many callers, an engine may run several of its calls as one. If it is provisional,
    nobody relies on what it wrote until a later verb has: an engine need not wait for the disk. If it is
    patient, others go first; if it presses, it goes before them.
    """

    def __init__(
        self, verb: Verb, many: Verb | None, *, provisional: bool = False, patient: bool = False,
        presses: bool = False,
    ) -> None:  # fmt: skip
        self.verb = verb
        self._many = many
        self.provisional = provisional
        self.patient = patient
        self.presses = presses
        self.__name__ = verb.__name__

    def __call__(self, tx: Transaction, runtime: Runtime, caller: Caller, ask: Model) -> Any:
        keys.standing(tx, caller)
        return self.verb(tx, runtime, caller, ask)

    @property
    def for_many(self) -> Verb | None:
        """The form for many callers: `for_many(tx, runtime, asks)` gives an outcome for each (caller, ask),
        a refusal as a value.
        """
        return None if self._many is None else self._run_many

    def _run_many(self, tx: Transaction, runtime: Runtime, asks: Sequence[tuple[Caller, Model]]) -> list[Any]:
        assert self._many is not None
        callers = {caller.key_id: caller for caller, _ in asks}
        refused = {key_id: refusal_or(keys.standing, tx, caller) for key_id, caller in callers.items()}
        if not any(refused.values()):
            return list(self._many(tx, runtime, asks))
        good = [(caller, ask) for caller, ask in asks if refused[caller.key_id] is None]
        outcomes = iter(self._many(tx, runtime, good) if good else [])
        return [refused[caller.key_id] or next(outcomes) for caller, _ in asks]
