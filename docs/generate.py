"""Writes what comes from the code: pages on states, errors and verbs, and the client for event loops.
`make docs`, or `python -m docs.generate`.

A test compares the pages with what this would write, so they cannot drift.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any, get_args, get_origin

import msgspec

from docs import asynchronous
from tessera import errors, models, names, states
from tessera.messages.errors import KINDS as MAIL_ERRORS
from tessera.names import EVENT_TYPES
from tessera.surface import SURFACE, Row
from tessera.verbs.define_queue import DEFAULTS, define_queue
from tessera.wake import states as wakes

HERE = Path(__file__).parent
_FIRST = {"lease_seconds": None, "accounts": [], "role_ids": [], "capabilities": [], "active": True}
FORMS = {
    names.NAME_PATTERN: "name",
    names.NAME_OR_ALL_PATTERN: "name or `*`",
    names.TASK_ID_PATTERN: "task id",
    names.KEY_PATTERN: "record or object key",
    names.SHA256_PATTERN: "SHA-256 in hex",
    names.MEDIA_TYPE_PATTERN: "media type",
    names.IDEMPOTENCY_KEY_PATTERN: "idempotency key",
    names.TRACEPARENT_PATTERN: "W3C traceparent",
    names.WORKSPACE_PATTERN: "workspace id",
    names.AGENT_PATTERN: "agent id",
    names.ROLE_PATTERN: "role id",
    names.ENTITY_PATTERN: "topic or account",
}
NOTE = "<!-- Made by `make docs` from the code. Change it there. -->\n"


def pages() -> dict[Path, str]:
    """Every generated page with its text."""
    return {
        HERE / "states.md": _states(),
        HERE / "errors.md": _errors(),
        HERE / "verbs.md": _verbs(),
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
            "",
            "```mermaid",
            "stateDiagram-v2",
            *arrows,
            *ends,
            "```",
            "",
            _table(("From", "To", "Event"), rows),
            "",
            "All event types, in the order of their numbers in the database:",
            ", ".join(f"`{event}`" for event in EVENT_TYPES) + ".",
            "",
        ]
    )


def _wake_states() -> str:
    """The two tables of the wake room."""
    parts = [""]
    for title, table in (("A wake's delivery", wakes.DELIVERY), ("An endpoint", wakes.ENDPOINT)):
        rows = [
            (f"`{before}`" if before else "(new)", f"`{after}`", _listed(events))
            for (before, after), events in table.items()
        ]
        parts += [f"## {title}", "", _table(("From", "To", "Event"), rows), ""]
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
            _table(("From", "To", "Crash point"), rows),
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
            inspect.getdoc(kind) or "",
        )
        for kind in kinds
    ]
    return _table(("Code", "Status", "Definite", "When"), rows)


def _verbs() -> str:
    parts = [
        "# Verbs",
        NOTE,
        "What a store can be asked, the same in the library, on the command line and over",
        "HTTP ([the service](guides/service.md)). Sizes and ranges are refused with",
        "`invalid_request`, naming the field. Times are RFC 3339 in UTC, durations are seconds;",
        "names, task ids and keys have the forms of the [glossary](glossary.md#forms). A list's `after` is",
        "the `next` of the page before, or the last thing that it showed; empty, or left out, it is the",
        "start.",
        "",
        _table(
            ("Verb", "Command", "HTTP", "Needs"),
            [
                (f"[`{row.name}`](#{row.name})", f"`tessera {row.command}`", _http(row), row.needs)
                for row in SURFACE.values()
            ],
        ),
        "",
    ]
    for row in SURFACE.values():
        parts += _verb(row)
    return "\n".join(parts)


def _http(row: Row) -> str:
    """Where a verb is met over HTTP, and its status where that is not 200."""
    if row.path is None:
        return ""
    return f"`{row.method} {row.path}`" + ("" if row.status == 200 else f" {row.status}")


def _verb(row: Row) -> list[str]:
    lines = [f"## {row.name}", "", " ".join((inspect.getdoc(row.verb) or "").split()), ""]
    if row.tool is not None:
        wide = " in the wide set" if row.tool == "wide" else ""
        lines += [f"A tool over MCP{wide}: [agents over MCP](guides/mcp.md).", ""]
    if fields := msgspec.structs.fields(row.ask):
        lines += [_fields(row, fields), ""]
    for field in fields:
        part = _listed_model(field.type)
        if part is not None and part not in {other.ask for other in SURFACE.values()}:
            lines += [f"Each {part.__name__}:", "", _fields(row, msgspec.structs.fields(part)), ""]
    if row.body == "bytes":
        lines += ["The bytes travel beside these fields.", ""]
    answer = ", ".join(f"`{field.name}`" for field in msgspec.structs.fields(row.answer))
    lines += [f"Answers `{row.answer.__name__}`: {answer}.", ""]
    return lines


def _fields(row: Row, fields: tuple[msgspec.structs.FieldInfo, ...]) -> str:
    rows = [
        (f"`{field.name}`", _type(field.type), "required" if field.required else _default(row, field))
        for field in fields
    ]
    return _table(("Field", "Type", "Default"), rows)


def _default(row: Row, field: msgspec.structs.FieldInfo) -> str:
    value = field.default if field.default is not msgspec.NODEFAULT else field.default_factory()  # type: Any
    if value is msgspec.UNSET:
        first = getattr(DEFAULTS, field.name) if row.verb is define_queue else _FIRST[field.name]
        return f"`{msgspec.json.encode(first).decode()}` when it is new, else unchanged"
    return f"`{msgspec.json.encode(value).decode()}`"


def _type(kind: Any) -> str:
    """A field's type in words, from its JSON Schema."""
    if kind is models.Raw:
        return "any JSON"
    if (model := _listed_model(kind)) is not None:
        return f"list of {model.__name__}{_bounds_of(kind)}"
    (schema,), parts = msgspec.json.schema_components([kind])
    return _words(schema, parts)


def _listed_model(kind: Any) -> type[models.Model] | None:
    """The model of a list of models."""
    kind = get_args(kind)[0] if get_origin(kind) is Annotated else kind
    part = get_args(kind)[0] if get_origin(kind) is list else None
    return part if isinstance(part, type) and issubclass(part, models.Model) else None


def _bounds_of(kind: Any) -> str:
    meta = next(iter(get_args(kind)[1:]), None)
    return "" if meta is None else f" ({meta.min_length or 0} to {meta.max_length:,})"


def _words(schema: dict[str, Any], parts: dict[str, Any]) -> str:
    if "$ref" in schema:
        return schema["$ref"].rsplit("/", 1)[-1]
    if "anyOf" in schema:
        return " or ".join(_words(option, parts) for option in schema["anyOf"])
    if "enum" in schema:
        return " · ".join(f"`{value}`" for value in schema["enum"])
    if schema.get("type") == "array":
        return f"list of {_words(schema['items'], parts)}{_bounds(schema, 'minItems', 'maxItems')}"
    bounds = _bounds(schema, "minimum", "maximum") or _bounds(schema, "minLength", "maxLength")
    if "pattern" in schema:
        return FORMS[schema["pattern"]]
    return f"{schema.get('type', 'any JSON')}{bounds}"


def _bounds(schema: dict[str, Any], low: str, high: str) -> str:
    if low not in schema and high not in schema:
        return ""
    return f" ({schema.get(low, 0)} to {schema[high]:,})" if high in schema else f" (from {schema[low]})"


def _table(heads: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    lines = [f"| {' | '.join(heads)} |", f"|{'---|' * len(heads)}"]
    return "\n".join(lines + [f"| {' | '.join(cells)} |" for cells in rows])


if __name__ == "__main__":
    for path, text in pages().items():
        path.write_text(text, encoding="utf-8")
        sys.stdout.write(f"{path.name}\n")
