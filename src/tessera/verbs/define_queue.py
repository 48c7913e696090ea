"""define_queue, pause_queue, resume_queue: make a queue, change its settings."""

from __future__ import annotations

from msgspec import UNSET
from msgspec.structs import asdict

from tessera.models import DefineQueue, QueueConfig, QueueRef
from tessera.rows import QueueRow
from tessera.rules import grants
from tessera.rules.grants import Caller
from tessera.runtime import Runtime
from tessera.steps import tasks
from tessera.storage.port import Transaction

DEFAULTS = QueueConfig(
    name="", heartbeat_seconds=60, miss_limit=3, lease_seconds=600, max_attempts=3, backoff_base_seconds=30,
    backoff_cap_seconds=900, weight=1, paused=False,
)  # fmt: skip


def define_queue(tx: Transaction, runtime: Runtime, caller: Caller, ask: DefineQueue) -> QueueConfig:
    """Make a queue, or change the settings that are given of one that exists. Leases that are out keep their
    hard deadline.
    """
    grants.is_admin(caller)
    grants.covers_queue(caller, ask.name)
    queue: QueueRow | None = tx.one("queue_named", name=ask.name)
    number = tx.one("next_queue").value if queue is None else queue.queue
    before = DEFAULTS if queue is None else shown(queue)
    given = {name: value for name, value in asdict(ask).items() if value is not UNSET}
    after = QueueConfig(**{**asdict(before), **given})
    runtime.reach("define_queue.read")

    tx.write("define_queue", queue=number, **asdict(after))
    if queue is None:
        tx.write("start_counts", queue=number)
    tx.event("queue_defined", number, key_id=caller.key_id)
    if after.paused != before.paused:
        _note_pause(tx, caller, number, after.paused)
    runtime.reach("define_queue.written")
    return after


def pause_queue(tx: Transaction, runtime: Runtime, caller: Caller, ask: QueueRef) -> QueueConfig:
    """Give no more leases from a queue; all else goes on. Pausing twice changes nothing."""
    return _set_paused(tx, runtime, caller, ask.name, paused=True)


def resume_queue(tx: Transaction, runtime: Runtime, caller: Caller, ask: QueueRef) -> QueueConfig:
    """Give leases from a queue again. Resuming one that is not paused changes nothing."""
    return _set_paused(tx, runtime, caller, ask.name, paused=False)


def shown(queue: QueueRow) -> QueueConfig:
    """A queue's settings as the wire has them."""
    settings = asdict(queue)
    del settings["queue"], settings["workspace_id"]
    return QueueConfig(**{**settings, "paused": bool(queue.paused)})


def _set_paused(tx: Transaction, runtime: Runtime, caller: Caller, name: str, *, paused: bool) -> QueueConfig:
    grants.is_admin(caller)
    queue = tasks.queue_known(tx, caller, name)
    grants.covers_queue(caller, name)
    after = QueueConfig(**{**asdict(shown(queue)), "paused": paused})
    runtime.reach("pause_queue.read")
    if paused == queue.paused:
        return after

    tx.write("define_queue", queue=queue.queue, **asdict(after))
    _note_pause(tx, caller, queue.queue, paused)
    runtime.reach("pause_queue.written")
    return after


def _note_pause(tx: Transaction, caller: Caller, queue: int, paused: bool) -> None:
    tx.event("queue_paused" if paused else "queue_resumed", queue, key_id=caller.key_id)
    if not paused:
        tx.ready(queue)
