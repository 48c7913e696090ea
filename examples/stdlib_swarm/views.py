"""What the terminal shows while the swarm works: a live view on a terminal, else at most a line a second."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Final, Protocol

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from examples.stdlib_swarm.watch import Look
from tessera.models import QueueCounts

STATES: Final = QueueCounts.__struct_fields__
NEWS_ROWS: Final = 8


class View(Protocol):
    """Shows looks."""

    def show(self, look: Look) -> None:
        """Show a look."""


@contextmanager
def view_on(console: Console) -> Iterator[View]:
    """The view that suits the console, for as long as the block runs."""
    if console.is_terminal:
        with Live(console=console, refresh_per_second=8) as live:
            yield LiveView(live)
    else:
        yield Lines(console)


class Lines:
    """For logs and pipes: at most a line a second, and only when there is something new in it."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._news: list[str] = []
        self._last = ("", -1.0)

    def show(self, look: Look) -> None:
        """Print a line if a second has passed."""
        self._news += look.news
        text, at = self._last
        if look.seconds - at < 1 and look.unfinished:
            return
        states = {state: sum(getattr(one, state) for one in look.queues.values()) for state in STATES}
        counted = ", ".join(
            f"{count} {state}" for state, count in states.items() if count and state != "done"
        )
        line = "; ".join(
            [f"{look.done} of {look.expected} done", *([counted] if counted else []), *self._news]
        )
        if line != text:
            self._console.print(
                f"{look.seconds:4.0f} s  {line}", markup=False, highlight=False, soft_wrap=True
            )
        self._last = line, look.seconds
        self._news = []


class LiveView:
    """For a terminal: queues, progress, who does what, and the latest turns of the story."""

    def __init__(self, live: Live) -> None:
        self._live = live
        self._news: deque[Text] = deque(maxlen=NEWS_ROWS)

    def show(self, look: Look) -> None:
        """Draw a look in place of the last."""
        self._news += (Text.assemble((f"{look.seconds:4.0f} s  ", "dim"), news) for news in look.news)
        self._live.update(
            Group(
                _table(("queue", *STATES), ((name, *_figures(one)) for name, one in look.queues.items())),
                Text(),
                _progress(look),
                Text(),
                _table(("worker", "is at"), look.doing.items()),
                Text(),
                *self._news,
            )
        )


def _figures(counts: QueueCounts) -> Sequence[str]:
    return [str(getattr(counts, state) or "·") for state in STATES]


def _progress(look: Look) -> RenderableType:
    grid = Table.grid(padding=(0, 2))
    bar = ProgressBar(total=look.expected, completed=look.done, width=48)
    grid.add_row(bar, f"{look.done} of {look.expected} tasks", Text(f"{look.seconds:.0f} s", "dim"))
    return grid


def _table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in columns:
        table.add_column(column, justify="right" if column in STATES else "left", min_width=9)
    for row in rows:
        table.add_row(*map(Text, row))
    return table
