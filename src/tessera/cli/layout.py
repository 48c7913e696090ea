"""What the views are made of: a table, facts under a title, a document as text.

Everything from a task goes through `visible`: a brief cannot drive somebody's terminal. Colour never says
what a word does not.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

import msgspec
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.constrain import Constrain
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from tessera.cli.text import shortened, visible

STYLES: Final = {
    "ready": "cyan", "leased": "yellow", "waiting": "magenta", "done": "green", "dead": "bold red",
    "cancelled": "dim", "paused": "yellow", "revoked": "red",
}  # fmt: skip
NATURAL_WIDTH: Final = 10_000
LONG_TEXT: Final = 60  # characters of a document in a table's cell


def write(content: RenderableType) -> None:
    """Put it on standard output. Facts fit a terminal. A table keeps its natural width, there and in a pipe:
    an id stays in one piece, to be copied.
    """
    console = Console(highlight=False, emoji=False, markup=False)
    console.width = NATURAL_WIDTH
    put = console.print
    put(content, crop=False)


def table(columns: str, rows: Iterable[Iterable[object]], none: str) -> RenderableType:
    """A plain table, or the sentence to say when it would be empty."""
    drawn = Table(*columns.split(", "), box=None, pad_edge=False, header_style="bold")
    for row in rows:
        drawn.add_row(*(_cell(value) for value in row))
    return drawn if drawn.row_count else Text(none)


def _cell(value: object) -> Text:
    text = "" if value is None else visible(str(value))
    return Text(text, STYLES.get(text, ""), overflow="fold")


class Facts:
    """Named facts under a title, those without a value left out: on a terminal in a frame that fits it, in a
    pipe as lines.
    """

    def __init__(self, title: str, facts: dict[str, str | None], state: str) -> None:
        self._title = Text(visible(title), STYLES.get(state, ""))
        self._facts = {name: visible(fact) for name, fact in facts.items() if fact}

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        if console.is_terminal:
            yield Constrain(self._framed(), Console().width)
            return
        yield self._title
        indent = max(map(len, self._facts), default=0) + 2
        for name, fact in self._facts.items():
            first, *others = fact.split("\n")
            lines = [f"{name:{indent}}{first}", *(" " * indent + line for line in others)]
            yield Text("\n".join(lines), no_wrap=True, overflow="ignore")

    def _framed(self) -> Panel:
        grid = Table.grid(padding=(0, 2))
        for name, fact in self._facts.items():
            grid.add_row(Text(name, "bold"), Text(fact, overflow="fold"))
        return Panel(grid, title=self._title, title_align="left", expand=False)


def pretty(document: Any) -> str:
    """A document over several lines."""
    return msgspec.json.format(msgspec.json.encode(document), indent=2).decode()


def short(document: Any) -> str:
    """A document on one line, cut where it is long."""
    return shortened(msgspec.json.encode(document).decode(), LONG_TEXT)


def short_or_none(document: Any) -> str | None:
    """The same, and nothing for null."""
    return None if document is None else short(document)


def moment(time: str) -> str:
    """A time to the second, still in UTC."""
    return f"{time[:19]}Z".replace("T", " ")


def seconds(age: float | None) -> str | None:
    """An age, when there is one."""
    return None if age is None else f"{age:.0f} s"


def counted(**counts: int) -> str:
    """How many there are of each: "1 attempt, 0 failures"."""
    return ", ".join(f"{count} {word}{'' if count == 1 else 's'}" for word, count in counts.items())
