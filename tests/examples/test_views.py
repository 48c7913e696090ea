"""What the terminal shows."""

from __future__ import annotations

from io import StringIO

from rich.console import Console

from examples.stdlib_swarm.views import view_on
from examples.stdlib_swarm.watch import Look
from tessera.models import QueueCounts


def look(seconds: float, done: int, news: list[str] | None = None) -> Look:
    queues = {"study": QueueCounts(leased=2, done=done, ready=8 - done)}
    return Look(seconds, expected=10, queues=queues, doing={"worker-1": "json/[x].py"}, news=news or [])


def test_lines_at_most_one_a_second() -> None:
    """News of looks in between wait for the next line; a line that would say the same again is left out."""
    console = Console(file=StringIO(), width=40)
    with view_on(console) as view:
        for seconds, done, news in [
            (0, 0, []),
            (0.4, 1, ["a"]),
            (0.8, 2, ["b"]),
            (1.2, 3, []),
            (2.4, 3, []),
            (3.6, 3, []),
        ]:
            view.show(look(seconds, done, news))

    assert isinstance(console.file, StringIO)
    assert console.file.getvalue().splitlines() == [
        "   0 s  0 of 10 done; 8 ready, 2 leased",
        "   1 s  3 of 10 done; 5 ready, 2 leased; a; b",
        "   2 s  3 of 10 done; 5 ready, 2 leased",
    ]


def test_live_view_on_a_terminal() -> None:
    """A terminal gets six counts per queue, progress, who does what, and the news, as they are written."""
    console = Console(file=StringIO(), width=100, height=40, force_terminal=True, color_system=None)
    with view_on(console) as view:
        view.show(look(3, 4, ["worker-1 failed at [bold]x"]))

    assert isinstance(console.file, StringIO)
    shown = console.file.getvalue()
    for words in ("dead", "cancelled", "4 of 10 tasks", "json/[x].py", "worker-1 failed at [bold]x"):
        assert words in shown
