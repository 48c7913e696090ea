"""Writes what comes from the code: pages on states, errors, verbs and answers, and the client for event
loops. `make docs`, or `python -m docs.generate`.

A test compares the pages with what this would write, so they cannot drift.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterable
from pathlib import Path

from docs import asynchronous, verb_pages
from docs.writing import NOTE, table
from tessera import errors, states
from tessera.messages.errors import KINDS as MAIL_ERRORS
from tessera.names import EVENT_TYPES
from tessera.wake import states as wakes

HERE = Path(__file__).parent


def pages() -> dict[Path, str]:
    """Every generated page with its text."""
    return {
        HERE / "states.md": _states(),
        HERE / "errors.md": _errors(),
        HERE / "verbs.md": verb_pages.verbs(),
        HERE / "answers.md": verb_pages.answers(),
        asynchronous.HOME: asynchronous.source(),
    }


def _states() -> str:
    return _task_states() + _publication_states() + _wake_states()


def _task_states() -> str:
    rows = [
        (_state(before), _state(after), ", ".join(f"`{event}`" for event in sorted(events)))
        for (before, after), events in states.TASK.items()
    ]
    arrows = [
        f"  {'[*]' if before is states.NEW else states.STATES[before]} --> {states.STATES[after]}: "
        + ", ".join(sorted(events))
        for (before, after), events in states.TASK.items()
    ]
    ends = [f"  {states.STATES[state]} --> [*]" for state in sorted(states.ENDED)]
    return "\n".join(
        [
            "# States",
            NOTE,
            "## A task",
            "",
            "Every transition there is, and the events of the log that announce it. A waiting task also",
            f"says why it waits: {', '.join(f'`{reason}`' for reason in states.WAIT_REASONS)}.",
            "In the database states are numbers, from 0: "
            f"{', '.join(f'`{name}`' for name in states.STATES)}.",
            "",
            "```mermaid",
            "stateDiagram-v2",
            *arrows,
            *ends,
            "```",
            "",
            table(("From", "To", "Event"), rows),
            "",
            "All event types, in the order of their numbers in the database, from 0:",
            ", ".join(f"`{event}`" for event in EVENT_TYPES) + ".",
            "",
        ]
    )


def _wake_states() -> str:
    """The two tables of the wake room."""
    parts = [""]
    for title, moves in (("A wake's delivery", wakes.DELIVERY), ("An endpoint", wakes.ENDPOINT)):
        rows = [
            (f"`{before}`" if before else "(new)", f"`{after}`", _listed(events))
            for (before, after), events in moves.items()
        ]
        parts += [f"## {title}", "", table(("From", "To", "Event"), rows), ""]
    return "\n".join(parts)


def _listed(events: frozenset[str]) -> str:
    return ", ".join(f"`{event}`" for event in sorted(events))


def _publication_states() -> str:
    rows = [
        ("(new)" if before is states.NEW else f"`{before}`", f"`{after}`", f"`{point}`")
        for (before, after), point in states.PUBLICATION.items()
    ]
    arrows = [
        f"  {'[*]' if before is states.NEW else before} --> {after}: {point}"
        for (before, after), point in states.PUBLICATION.items()
    ]
    return "\n".join(
        [
            "",
            "## A message's publication",
            "",
            "What is on the disk between two steps of a send, and the crash point behind each step. Whoever",
            "comes next starts over: every step finds its own work done. A message whose row stands is not",
            "delivered again; one that the head names, `committed` and on, is only cleaned up. See the",
            "[guide](guides/message-ledger.md).",
            "",
            "```mermaid",
            "stateDiagram-v2",
            *arrows,
            f"  {states.PUBLISHED} --> [*]",
            "  abandoned --> [*]",
            "```",
            "",
            table(("From", "To", "Crash point"), rows),
            "",
        ]
    )


def _state(state: int | None) -> str:
    return "(new)" if state is None else f"`{states.STATES[state]}`"


def _errors() -> str:
    return "\n".join(
        [
            "# Errors",
            NOTE,
            "Every refusal is one of these. In Python it is a `tessera.TesseraError` with `.code`, `.status`",
            "(as HTTP counts), `.detail` and `.definite`; `.problem()` is the problem document",
            "of RFC 9457. On the command line the code is on stderr and the exit status is 1. *Definite*",
            "means the request certainly changed nothing, so trying again is safe. One code may come with",
            "several statuses: programs go by the code.",
            "",
            "A detail names the field that is wrong and what is expected of it, and does not repeat its",
            "value. Of a field that there is not it tells the one that was likely meant (`unknown field",
            "'queu': did you mean 'queue'?`), else all that are taken, as it does where one is missing.",
            "",
            _error_table(errors.KINDS),
            "",
            "## Of mail alone",
            "",
            "`tessera message` and `tessera.messages` also refuse with these.",
            "",
            _error_table(MAIL_ERRORS),
            "",
        ]
    )


def _error_table(kinds: Iterable[type[errors.TesseraError]]) -> str:
    rows = [
        (
            f"`{kind.code}`",
            str(kind.status),
            "yes" if kind.definite else "not always" if kind.code == "unavailable" else "no",
            (inspect.getdoc(kind) or "").partition("\n")[0],
        )
        for kind in kinds
    ]
    return table(("Code", "Status", "Definite", "When"), rows)


if __name__ == "__main__":
    for path, text in pages().items():
        path.write_text(text, encoding="utf-8")
        sys.stdout.write(f"{path.name}\n")
