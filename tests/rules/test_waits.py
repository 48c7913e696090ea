"""What may be waited out, for how long, and when it is there."""

from __future__ import annotations

import pytest

from tessera.models import AskTask, Claim, ClaimBatch, Empty, FeedItem, FeedPage, PollFeed, TaskRef
from tessera.rules import waits


def test_how_long_a_request_waits() -> None:
    """A claim by `wait_seconds`, a task and a feed by `wait`; nothing else waits."""
    assert waits.seconds(Claim(worker="w", queue="q", wait_seconds=1.5)) == 1.5
    assert waits.seconds(ClaimBatch(worker="w", queue="q", limit=2, wait_seconds=2)) == 2
    assert waits.seconds(AskTask("t", 3)) == 3
    assert waits.seconds(PollFeed("f", wait=4)) == 4
    assert waits.seconds(TaskRef("t")) == waits.seconds(Claim(worker="w", queue="q")) == 0


@pytest.mark.parametrize(
    ("answer", "enough"),
    [(Empty(retry_after_seconds=1), False), (FeedPage("f", [], 0), False),
     (FeedPage("f", [FeedItem(1, 1, "now")], 1), True), ("anything else", True)],
)  # fmt: skip
def test_what_was_waited_for(answer: object, enough: bool) -> None:
    """No work and no items are waited out; whatever else is answered is what was waited for."""
    assert waits.is_enough(answer) is enough
