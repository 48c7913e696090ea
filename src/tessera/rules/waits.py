"""What may be waited out: work for a claim, the end of a task, more of a feed. Pure. (Contract §3.)"""

from __future__ import annotations

from typing import Any

from tessera.models import AskTask, Claim, Empty, FeedPage, Model, PollFeed, TaskView
from tessera.states import ENDED_STATES


def seconds(ask: Model) -> float:
    """For how long a request may wait; 0 for one that never does."""
    match ask:
        case Claim():
            return ask.wait_seconds
        case AskTask() | PollFeed():
            return ask.wait
        case _:
            return 0


def is_enough(answer: Any) -> bool:
    """Whether an answer is what was waited for."""
    match answer:
        case TaskView():
            return answer.state in ENDED_STATES
        case FeedPage():
            return bool(answer.items)
        case _:
            return not isinstance(answer, Empty)
