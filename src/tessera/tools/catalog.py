"""Which verbs are tools, and everything that a client is told of each."""

from __future__ import annotations

from functools import cache
from typing import Any, Final

import msgspec
from msgspec import UNSET, Struct, UnsetType

from tessera.canonical import strict_json
from tessera.errors import InvalidRequest, TesseraError
from tessera.limits import TOOL_WAIT_SECONDS_MAX
from tessera.models import Claim, Empty, Lease, Model, decode
from tessera.surface import SURFACE, Row
from tessera.tools import texts
from tessera.tools.schemas import Schema, input_schema, output_schema

_REPEATABLE: Final = frozenset({"heartbeat", "submit"})  # twice the same does no more than once
_ENDING: Final = frozenset({"cancel"})  # what cannot be undone
_WAITS: Final = ("wait_seconds", "wait")
_encode = msgspec.json.Encoder().encode


class Claimed(Model, frozen=True):
    """A claim's answer as a tool gives it: a lease, or null and when to come back."""

    lease: Lease | None
    retry_after_seconds: int | UnsetType = UNSET


class Tool(Struct, frozen=True):
    """One verb as a tool."""

    row: Row
    name: str
    title: str
    description: str
    takes: Schema
    gives: Schema
    reads: bool
    repeatable: bool
    ending: bool

    def ask(self, arguments: dict[str, Any]) -> tuple[Model, bytes]:
        """What the verb is asked, and the same as JSON. Refuses unknown and wrong arguments with
        `invalid_request`, and repeats nothing of them but their names.
        """
        document = strict_json(arguments)
        for name in _WAITS:  # first, for a verb's own bound is wider
            if isinstance(wait := arguments.get(name), int | float) and wait > TOOL_WAIT_SECONDS_MAX:
                raise InvalidRequest(f"{name}: at most {TOOL_WAIT_SECONDS_MAX} seconds over MCP")
        return decode(document, self.row.ask), document

    def answer(self, answer: Any) -> bytes:
        """The result's JSON: what a service answers over HTTP; a claim's says in words that there is none."""
        if issubclass(self.row.ask, Claim):
            if isinstance(answer, Empty):
                answer = Claimed(None, answer.retry_after_seconds)
            else:
                answer = Claimed(answer)
        return _encode(answer)


def problem(refusal: TesseraError) -> bytes:
    """A refusal's problem document, with what to do next. Of what is unforeseen no detail leaves."""
    if type(refusal) is TesseraError:
        refusal = TesseraError()
    document = refusal.problem()
    document["next"] = texts.NEXT.get(refusal.code, texts.NEXT_ELSE)
    return _encode(document)


@cache
def catalog(wide: bool) -> dict[str, Tool]:
    """The tools by name: the seven of a worker, or with them those for enqueuing, looking and sharing."""
    return {row.name: _tool(row) for row in SURFACE.values() if row.tool == "core" or (wide and row.tool)}


def _tool(row: Row) -> Tool:
    name = row.name
    answer = Claimed if issubclass(row.ask, Claim) else row.answer
    required = frozenset({row.header} if row.header is not None and row.needs_header else ())
    takes = input_schema(row.ask, texts.FIELDS.get(name, {}), required)
    for wait in _WAITS:
        if wait in takes["properties"]:
            takes["properties"][wait]["maximum"] = TOOL_WAIT_SECONDS_MAX
    return Tool(
        row, name, texts.TITLES[name], texts.DESCRIPTIONS[name], takes, output_schema(answer), row.reads,
        row.reads or name in _REPEATABLE, name in _ENDING,
    )  # fmt: skip
