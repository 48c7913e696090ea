"""What may come next, drawn by what there is: what leads on is likelier than what will be refused."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from model import asks
from model.oracle import Oracle

Move = tuple[Any, ...]  # a method of the machine, then its arguments

_several = st.lists(st.none() | asks.acts, min_size=1, max_size=3)
_claim_keys = st.none() | st.sampled_from(asks.CLAIM_KEYS)
_seconds = st.sampled_from([0.000001, 0.5, 1, 3, 10])
_jumps = st.sampled_from([-3_600, -5, -1, 2, 30])
_verbs_on_tasks = st.sampled_from(["cancel", "requeue", "resume"])
_parks = st.sampled_from([None, None, 1, 2])
_pauses = st.sampled_from([None, None, False, False, True])


@st.composite
def moves(draw: st.DrawFn, oracle: Oracle, given: set[tuple[str, int]]) -> Move:
    """The next move: a tuple of plain values, so that a failing play can be read and played again."""
    tasks = list(oracle.tasks.values())
    ids = [task.task_id for task in tasks]
    held = [(task.task_id, task.token) for task in tasks if task.lease]
    parked = [task.task_id for task in tasks if task.waits_for == "input"]
    dead = [task.task_id for task in tasks if task.state == "dead"]
    sound = [task.task_id for task in tasks if not (task.lease or task.ended or task.damaged)]
    ready = [task.queue for task in tasks if task.state == "ready" and task.start_at is None]
    deadlines = [task.due for task in tasks if task.due is not None]
    never = [(task.task_id, task.token + 1) for task in tasks] + [(asks.UNKNOWN, 1)]

    def one(choices: list[Any]) -> Any:
        return draw(st.sampled_from(choices))

    move = one(
        ["work"] * (10 if ready else 1)
        + ["act"] * (10 if held else 0)
        + ["resume"] * (4 if parked else 0)
        + ["hurry", "deepen"] * bool(held)
        + ["pass_to"] * (4 if deadlines else 0)
        + ["enqueue"] * (1 if sum(not task.ended for task in tasks) > 15 else 3)
        + ["claimed", "pass_seconds", "change_process"] * 2
        + ["come_too_late", "reap", "treat_any_task", "administer", "set_clock", "restart"]
        + ["requeue"] * bool(dead)
        + ["rot"] * bool(sound)
        + ["compare_what_is_shown"]
    )
    match move:
        case "enqueue":
            return move, draw(st.lists(asks.specs(ids), min_size=1, max_size=3))
        case "work":
            return move, one([*ready, *asks.QUEUES]), draw(_several)
        case "hurry" | "deepen":
            return move, one(held)
        case "act":
            return move, one(held), draw(asks.acts)
        case "come_too_late":
            return "act", one([*sorted(given), *never]), draw(asks.acts)
        case "claimed":
            worker, kinds, effects = draw(asks.workers), draw(asks.filters), draw(asks.effect_filters)
            return move, draw(asks.queues), worker, kinds, effects, draw(_claim_keys)
        case "resume":
            return move, one(parked), draw(asks.documents), draw(_parks)
        case "requeue":
            return move, one(dead)
        case "treat_any_task":
            return draw(_verbs_on_tasks), one([*ids, asks.UNKNOWN])
        case "administer":
            return move, draw(asks.queues), draw(asks.settings), draw(_pauses)
        case "pass_to":
            return move, one(deadlines), one([-1, 0, 1])
        case "pass_seconds":
            return move, draw(_seconds)
        case "set_clock":
            return move, draw(_jumps)
        case "rot":
            return move, one(sound)
    return (move,)
