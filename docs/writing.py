"""What generated pages are written with."""

from __future__ import annotations

NOTE = "<!-- Made by `make docs` from the code. Change it there. -->\n"


def table(heads: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    """A table in Markdown."""
    lines = [f"| {' | '.join(heads)} |", f"|{'---|' * len(heads)}"]
    return "\n".join(lines + [f"| {' | '.join(cells)} |" for cells in rows])
