"""Views of what was found and recalled."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.text import Text

from tessera import models
from tessera.cli import layout
from tessera.cli.text import visible


def nouns(answer: models.Nouns) -> RenderableType:
    """A line for each that was found, and its summary under it."""
    if not answer.nouns:
        return Text("Nothing has these words.")
    return Group(*(_scent(one) for one in answer.nouns))


def noun(answer: models.Noun) -> RenderableType:
    """Its facts, and a line for each of its last versions."""
    facts: dict[str, str | None] = {
        "title": answer.title,
        "home": "store" if answer.bucket is None else "bucket",
        "type": answer.content_type,
        "size": f"{answer.size:,} bytes",
        "sha256": answer.sha256,
        "version": str(answer.version),
        "written": layout.moment(answer.created_at),
    }
    rows = ((one.version, f"{one.size:,}", layout.moment(one.created_at)) for one in answer.versions)
    return Group(layout.Facts(answer.ref, facts, ""), layout.table("version, bytes, written", rows, none=""))


def text(answer: models.NounText) -> RenderableType:
    """The bare text."""
    return Text(visible(answer.text))


def recalled(answer: models.Recalled) -> RenderableType:
    """Steps, then warnings, each with how alike it is."""
    steps = (
        (one.key, "exact" if one.exact else f"{one.score:.2f}", layout.short(one.step))
        for one in answer.matches
    )
    table = layout.table("reflex, alike, step", steps, none="Nothing was learned for that.")
    if not answer.warnings:
        return table
    ends = ((one.task_id, f"{one.score:.2f}", one.kind, one.error) for one in answer.warnings)
    warnings = layout.table("task, alike, kind, error", ends, none="")
    return Group(table, Text("Given up before:", "bold"), warnings)


def _scent(one: models.NounScent) -> RenderableType:
    home = "store" if one.bucket is None else "bucket"
    head = Text.assemble(
        (one.ref, "bold"), f"  {home}  {one.score:.2f}  {visible(one.title)}  ({one.size:,} bytes)"
    )
    return Group(head, Text("\n".join(f"    {line}" for line in visible(one.summary).splitlines())))
