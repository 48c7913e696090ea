"""Views of a store as a whole: verified, backed up, restored, diagnosed."""

from __future__ import annotations

from typing import Final

from rich.console import Group, RenderableType
from rich.text import Text

from tessera import models
from tessera.cli import layout
from tessera.cli.text import visible

LEVELS: Final = {"fine": "green", "note": "yellow", "act": "bold red"}


def verified(answer: models.Verified) -> RenderableType:
    """A line a check, then the first of what is wrong."""
    rows = ((one.name, one.looked_at, one.wrong) for one in answer.checks)
    table = layout.table("check, looked at, wrong", rows, none="Nothing was checked.")
    if answer.ok:
        return Group(table, Text("The store is sound.", "green"))
    lines = (Text(visible(f"{one.check}: {one.thing} {one.says}")) for one in answer.findings)
    return Group(table, Text("The store is NOT sound:", "bold red"), *lines)


def backed_up(answer: models.BackedUp) -> RenderableType:
    """Where it is and how far it goes."""
    reach = (
        "an empty log"
        if answer.last_event_at is None
        else f"event {answer.last_seq} of {answer.last_event_at}"
    )
    state = "verified" if answer.verified.ok else "NOT sound (tessera verify says what is wrong)"
    return Text(visible(f"{answer.file}: {answer.bytes:,} bytes, {state}, up to {reach}."))


def restored(answer: models.Restored) -> RenderableType:
    """What was done, and what to look after now."""
    instant = answer.epoch.last_event_at or "its first moment"
    lines = [
        f"{answer.store} is restored from {answer.file}, as of {instant}.",
        "What the store did after that is no longer in it.",
        *_begun(answer.epoch),
        "Look over the keys (tessera keys list): one that was revoked after the backup may count again.",
        "Versions of records are counted on from the backup's: whoever read later ones reads them anew.",
    ]
    if answer.moved_aside:
        lines.append(f"The damaged file that was there is now {answer.moved_aside}.")
    return Text(visible("\n".join(lines)))


def epoch(answer: models.Epoch) -> RenderableType:
    """What does not count any more."""
    return Text(visible("\n".join(_begun(answer))))


def _begun(epoch: models.Epoch) -> list[str]:
    return [
        f"Leases ended: {epoch.leases_ended}. Their tasks are ready again, no failure counted.",
        f"The fencing tokens of unfinished tasks ({epoch.tokens_raised}) and the numbers of the log go on",
        f"from {epoch.epoch}: tokens handed out before are refused, and no number comes again.",
        f"Unused approvals ended: {epoch.approvals_ended}. Keys revoked again: {epoch.keys_revoked}.",
    ]


def moved(answer: models.Moved) -> RenderableType:
    """What was moved, and what is left to do."""
    state = "verified" if answer.verified.ok else "NOT sound (tessera verify says what is wrong)"
    lines = [
        f"{answer.target}: all {answer.rows:,} rows of {answer.source}, compared one by one, {state}.",
        "Name the new store from now on (TESSERA_STORE, --store). The old one is as it was: whoever goes on",
        "with it makes a second store of it, whose tokens and numbers mean something else.",
    ]
    return Text(visible("\n".join(lines)))


def diagnosis(answer: models.Diagnosis) -> RenderableType:
    """A line for each thing that was looked at, and what to do under those that need it."""
    lines = []
    for one in answer.advice:
        lines.append(
            Text.assemble((f"{one.level:<5}", LEVELS[one.level]), visible(f"{one.subject}: {one.says}"))
        )
        if one.do:
            lines.append(Text(visible(f"      -> {one.do}")))
    end = "Nothing needs you to act." if answer.ok else "Something needs you to act."
    return Group(*lines, Text(end, "green" if answer.ok else "bold red"))
