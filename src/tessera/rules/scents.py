"""The scent of a noun: what it is and why it was found, in at most 150 tokens and without a model. Pure.
(Specification §6, contract §3.)
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from tessera.limits import SCENT_TOKEN_BYTES, SCENT_TOKENS_MAX
from tessera.rules.documents import cut
from tessera.rules.words import Phrase, folded

_BYTES_MAX = SCENT_TOKENS_MAX * SCENT_TOKEN_BYTES
_BEFORE_CHARS = 60  # of a long line, shown before what was found in it


class Scent(Struct, frozen=True):
    """A summary that fits, and how much of the query the noun has."""

    summary: str
    tokens: int
    share: float  # of the query's words, 0 to 1


def scent(title: str, key: str, text: str, wanted: Sequence[Phrase]) -> Scent:
    """The first lines of a noun and, if it stands further down, the line that has most of what was wanted."""
    room = _BYTES_MAX - len(title.encode())
    lines = text.split("\n") if text else []
    place, found = _best(lines, wanted)
    lead = _lead(lines, room)
    if place < len(lead) and lead[place] == lines[place]:
        summary = "\n".join(lead)
    elif place < len(lines):
        passage = f"… {_around(lines[place], wanted, room // 2)}"
        summary = "\n".join([*_lead(lines[:place], room - len(passage.encode()) - 1), passage])
    else:
        summary = "\n".join(lead)
    summary = cut(summary, room)
    share = _share(f"{title} {key}\n{text}", found, wanted) if wanted else 0.0
    return Scent(summary, tokens(title, summary), share)


def tokens(title: str, summary: str) -> int:
    """About how many tokens a model reads: a quarter of the bytes, rounded up."""
    return -(-(len(title.encode()) + len(summary.encode())) // SCENT_TOKEN_BYTES)


def score(share: float, rank: float, best: float) -> float:
    """From 0 to 1: how many of the query's words a noun has, and among equals how well the index ranks it."""
    return round(share * (0.5 + 0.5 * (rank / best if best > 0 else 1.0)), 4)


def _best(lines: Sequence[str], wanted: Sequence[Phrase]) -> tuple[int, int]:
    """The first line that has most of what is wanted, and how much; beyond the last if none has any."""
    place, most = len(lines), 0
    for number, one in enumerate(lines):
        said = folded(one)
        has = sum(phrase.within(said) for phrase in wanted)
        if has > most:
            place, most = number, has
            if has == len(wanted):
                break
    return place, most


def _share(all_of_it: str, in_one_line: int, wanted: Sequence[Phrase]) -> float:
    """How much of what was wanted a noun has. The index found it, so at least one thing."""
    if in_one_line < len(wanted):
        said = folded(all_of_it)
        in_one_line = max(1, sum(phrase.within(said) for phrase in wanted))
    return in_one_line / len(wanted)


def _lead(lines: Sequence[str], room: int) -> list[str]:
    """As many of the first lines as fit, the last perhaps in part."""
    lead: list[str] = []
    for one in lines:
        said = cut(one, room)
        if not said:
            break
        lead.append(said)
        room -= len(said.encode()) + 1
        if said != one:
            break
    return lead


def _around(line: str, wanted: Sequence[Phrase], room: int) -> str:
    """The part of a line that has the first thing wanted."""
    said = folded(line)
    places = [place for phrase in wanted if (place := said.find(phrase.pieces[0])) >= 0]
    first = max(min(places, default=0) - _BEFORE_CHARS, 0) if len(line.encode()) > room else 0
    if first:
        first = line.find(" ", first, first + _BEFORE_CHARS) + 1 or first
    return cut(line[first:], room)
