"""A backend that does nothing, to prove that the suite notices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from conformance.backend import Backend
from tessera.library import Tessera

# Empty answers of the right shape are harder to tell from work than None is.
ANSWERS: dict[str, Callable[[], Any]] = {
    "enqueue": str, "requeue": str, "split": list, "queues": list, "results": list, "events": list,
    "keys": list, "reap": int, "enqueue_batch": list, "claim_batch": list, "submit_batch": list,
    "put_blob": str, "get_blob": bytes, "get_object": bytes, "buckets": list,
}  # fmt: skip


class Nothing:
    """A client that takes every call, does nothing, and answers with nothing."""

    def __getattr__(self, verb: str) -> Callable[..., Any]:
        return lambda *_arguments, **_fields: ANSWERS.get(verb, lambda: None)()


class EmptyBackend(Backend):
    """Nothing is stored, no time passes, no key is needed."""

    def __init__(self) -> None:
        self.client = cast(Tessera, Nothing())

    def pass_seconds(self, seconds: float) -> None:
        """There is no clock."""

    def restart(self) -> None:
        """There is nothing to restart."""

    def close(self) -> None:
        """There is nothing to let go of."""

    def keyed(self, **grant: Any) -> Tessera:
        return self.client
