"""The numbers that pictures are made of: bars of a chart, places and lines of a family. Pure; the templates
draw them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from msgspec import Struct

from tessera.limits import SAMPLES_MAX
from tessera.rows import EdgeRow, Relative

CHART_WIDTH: Final = 240
CHART_HEIGHT: Final = 40
NODE_WIDTH: Final = 190
NODE_HEIGHT: Final = 44
COLUMN: Final = 250
ROW: Final = 58
MARGIN: Final = 12
LOOP: Final = 24  # how far a line between two of one column goes around them
_DEPENDENT: Final = 9


def bars(minutes: Sequence[int]) -> str:
    """The path of a bar chart of the last hour: one subpath a minute, the current one at the right edge. A
    minute that did anything is at least a pixel high.
    """
    highest = max(minutes, default=0)
    step = CHART_WIDTH / SAMPLES_MAX
    left = CHART_WIDTH - step * len(minutes)
    parts = []
    for place, done in enumerate(minutes):
        if done:
            height = max(1, round(CHART_HEIGHT * done / highest))
            x = left + place * step
            parts.append(f"M{x:g} {CHART_HEIGHT}v-{height}h{step - 1:g}v{height}z")
    return "".join(parts)


class Node(Struct, frozen=True):
    """A task in the picture, `x` and `y` its upper left corner."""

    relative: Relative
    x: int
    y: int


class Line(Struct, frozen=True):
    """A line from one task to another; what `depends` is drawn broken."""

    path: str
    depends: bool


class Picture(Struct, frozen=True):
    """A family, ready to be drawn."""

    nodes: list[Node]
    lines: list[Line]
    width: int
    height: int


def picture(itself: Relative, relatives: Sequence[Relative], edges: Iterable[EdgeRow]) -> Picture:
    """Columns from left to right: parent and dependencies, the task, its descendants by generation with those
    that depend on it beside the first.
    """
    columns: dict[int, list[Relative]] = {}
    for one in [*relatives, itself]:
        columns.setdefault(_column(one), []).append(one)
    tallest = max(len(column) for column in columns.values())
    nodes: dict[int, Node] = {}
    for place, number in enumerate(sorted(columns)):
        top = MARGIN + (tallest - len(columns[number])) * ROW // 2
        for row, one in enumerate(columns[number]):
            nodes.setdefault(one.serial, Node(one, MARGIN + place * COLUMN, top + row * ROW))
    lines = [
        _line(nodes[one.parent], nodes[one.serial], depends=False)
        for one in [*relatives, itself]
        if one.parent in nodes and one.serial in nodes and one.parent is not None
    ]
    for edge in edges:
        if edge.dependency in nodes and edge.dependent in nodes:
            lines.append(_line(nodes[edge.dependency], nodes[edge.dependent], depends=True))
    width = 2 * MARGIN + (len(columns) - 1) * COLUMN + NODE_WIDTH + LOOP
    return Picture(list(nodes.values()), lines, width, 2 * MARGIN + (tallest - 1) * ROW + NODE_HEIGHT)


def _column(one: Relative) -> int:
    if one.place < 0:
        return -1
    return 1 if one.place == _DEPENDENT else one.place


def _line(start: Node, end: Node, *, depends: bool) -> Line:
    """From the right edge of one task to the left edge of another; within a column, around it."""
    y1, y2 = start.y + NODE_HEIGHT // 2, end.y + NODE_HEIGHT // 2
    x1 = start.x + NODE_WIDTH
    if start.x < end.x:
        middle = (x1 + end.x) // 2
        return Line(f"M{x1} {y1}C{middle} {y1} {middle} {y2} {end.x} {y2}", depends)
    x2, out = end.x + NODE_WIDTH, max(x1, end.x + NODE_WIDTH) + LOOP
    return Line(f"M{x1} {y1}C{out} {y1} {out} {y2} {x2} {y2}", depends)
