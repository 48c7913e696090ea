"""Every transition of a task, as a table. A pair that is missing here is a bug in whoever asked for it.

`steps.tasks` is the only writer of states and looks each move up here; `docs/states.md` is drawn from the
table. It is the diagram of specification §5.1 with one row more: a ready task whose stored brief no longer
matches its hash is dead-lettered instead of being handed out.
"""

from typing import Final

READY, LEASED, WAITING, DONE, DEAD, CANCELLED = range(6)
STATES: Final = ("ready", "leased", "waiting", "done", "dead", "cancelled")
STATE_NUMBER: Final = {name: number for number, name in enumerate(STATES)}
ENDED: Final = frozenset({DONE, DEAD, CANCELLED})
ENDED_STATES: Final = frozenset(STATES[number] for number in ENDED)

CHILDREN, DEPENDENCIES, INPUT = range(3)
WAIT_REASONS: Final = ("children", "dependencies", "input")

NEW: Final = None

CANCEL_REQUESTED: Final = "cancel_requested"
JOB_RUNNING: Final = frozenset({"queued", "in_progress"})
JOB_ENDED: Final = frozenset({"completed", "failed", "cancelled", "incomplete"})

# (from, to) -> the events that may announce it
TASK: Final[dict[tuple[int | None, int], frozenset[str]]] = {
    (NEW, READY): frozenset({"enqueued", "requeued"}),
    (NEW, WAITING): frozenset({"enqueued"}),
    (READY, LEASED): frozenset({"claimed"}),
    (LEASED, DONE): frozenset({"submitted"}),
    (LEASED, READY): frozenset({"retry_scheduled", "released"}),
    (LEASED, DEAD): frozenset({"dead_lettered"}),
    (LEASED, WAITING): frozenset({"split", "parked"}),
    (WAITING, READY): frozenset({"parent_ready", "dependencies_met", "resumed", "park_expired"}),
    (READY, DEAD): frozenset({"dead_lettered"}),
    (READY, CANCELLED): frozenset({"cancelled"}),
    (LEASED, CANCELLED): frozenset({"cancelled"}),
    (WAITING, CANCELLED): frozenset({"cancelled"}),
}

PUBLISHED: Final = "published"

# (from, to) -> the crash point behind the step. Recovery starts over: every step finds its own work done. A
# message whose row stands is not delivered again, and one that the head names is only cleaned up.
PUBLICATION: Final[dict[tuple[str | None, str], str]] = {
    (NEW, "reserved"): "message.pending",
    ("reserved", "active"): "message.active",
    ("active", "delivered"): "message.recipient",
    ("delivered", "recorded"): "message.row",
    ("recorded", "linked"): "message.node",
    ("linked", "committed"): "message.head",
    ("committed", "receipted"): "message.key",
    ("receipted", "cleared"): "message.pending_cleanup",
    ("cleared", PUBLISHED): "message.active_cleanup",
    ("reserved", "abandoned"): "message.abandoned",
    ("active", "abandoned"): "message.abandoned",
    ("delivered", "abandoned"): "message.abandoned",
}
