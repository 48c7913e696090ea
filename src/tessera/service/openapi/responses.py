"""What comes back: a verb's answer with its headers, and a problem document for each status of a refusal."""

from __future__ import annotations

from collections.abc import Iterable
from http import HTTPStatus
from itertools import groupby
from types import UnionType
from typing import Any, Final, get_args, get_origin, get_type_hints

from tessera import models
from tessera.errors import REGISTRY, RangeNotSatisfiable, TesseraError, Unauthorized, VersionConflict
from tessera.models import OCTETS, Claim, Content, GetObject, ListEvents
from tessera.service.answers import BEFORE
from tessera.service.openapi.examples import Examples
from tessera.service.openapi.refusals import Kind, refusals
from tessera.service.openapi.schemas import PROBLEM, Schema, Schemas, pointer, prose
from tessera.surface import Row

JSON: Final = "application/json"
PROBLEM_JSON: Final = "application/problem+json"
EVENTS: Final = "text/event-stream"
BYTES: Final = "*/*"

_TEXT: Final[Schema] = {"type": "string"}
_NUMBER: Final[Schema] = {"type": "integer", "minimum": 0}
_DIGITS: Final[Schema] = {"type": "string", "pattern": "^[0-9]+$"}
HEADERS: Final[dict[str, tuple[str, Schema]]] = {
    "X-Request-Id": ("The request's name in the service's log.", _TEXT),
    "Retry-After": ("Whole seconds after which asking again may help.", _NUMBER),
    "WWW-Authenticate": ("How to say who asks.", {"type": "string", "const": "Bearer"}),
    "ETag": ("The SHA-256 of the whole, in quotes.", {"type": "string", "pattern": '^"[0-9a-f]{64}"$'}),
    "Accept-Ranges": ("Parts may be asked for, in bytes.", {"type": "string", "const": "bytes"}),
    "Content-Range": ("Which bytes these are, of how many; of how many alone, with 416.", _TEXT),
    "X-Version": ("The object's version.", {"type": "integer", "minimum": 1}),
    "X-Created-At": ("When that version was stored.", _TEXT),
}
_IF_ANY: Final = {name: {"description": text, "schema": schema} for name, (text, schema) in HEADERS.items()}
_ANYTHING: Final[Schema] = {"description": "The bytes themselves, where they were stored as JSON."}
_EVENT_STREAM: Final = (
    'id: 7\nevent: enqueued\ndata: {"seq":7,"type":"enqueued","queue":"review","task_id":"t_…",…}\n\n'
)


def headers(*names: str) -> dict[str, Any]:
    """References to headers of the description, with the one that every answer has."""
    return {name: {"$ref": f"#/components/headers/{name}"} for name in ("X-Request-Id", *names)}


def header_components() -> dict[str, Any]:
    """Every header of an answer."""
    return {
        name: {"description": text, "required": True, "schema": schema}
        for name, (text, schema) in HEADERS.items()
    }


def problem_schema() -> Schema:
    """The schema of every refusal."""
    texts = {
        "type": {"type": "string", "const": "about:blank"},
        "title": {"type": "string", "description": "The code in words."},
        "status": {"type": "integer", "description": "The HTTP status again."},
        "detail": {"type": "string", "description": "What was wrong, and what to do; for people."},
        "code": {
            "type": "string", "enum": sorted(REGISTRY), "description": "What was wrong; for programs.",
        },
        "definite": {
            "type": "boolean",
            "description": "Whether the request certainly changed nothing, so that trying again is safe.",
        },
    }  # fmt: skip
    more = {
        "current_version": {
            "type": ["integer", "null"], "description": "With `version_conflict`: the version that is there.",
        },
        "size": {"type": "integer", "description": "With `range_not_satisfiable`: how many bytes there are."},
    }  # fmt: skip
    return {
        "type": "object", "description": "Why a request was refused: a problem document of RFC 9457.",
        "properties": {**texts, **more}, "required": list(texts),
    }  # fmt: skip


class Responses:
    """The answers of rows. Refusals are shared between operations."""

    def __init__(self, schemas: Schemas) -> None:
        self._schemas = schemas
        self.shared: dict[str, Any] = {}

    def of(self, rows: list[Row]) -> dict[str, Any]:
        """Every documented status of the rows that one method of a path may mean."""
        found: dict[str, Any] = {}
        for row in rows:
            for status, response in self._good(row).items():
                _join(found.setdefault(str(int(status)), response), response)
        kinds = set().union(*map(refusals, rows))
        return {**found, **self.refused(kinds)}

    def refused(self, kinds: Iterable[Kind]) -> dict[str, Any]:
        """References to the problem documents of some classes of errors, by their statuses."""
        found = {}
        for status, alike in groupby(sorted(kinds, key=_place), key=lambda kind: kind.status):
            several = list(alike)
            name = "Or".join("Internal" if kind is TesseraError else kind.__name__ for kind in several)
            self.shared.setdefault(name, _problem(several))
            found[str(status)] = {"$ref": f"#/components/responses/{name}"}
        return found

    def _good(self, row: Row) -> dict[HTTPStatus, dict[str, Any]]:
        if row.answer is Content:
            return _bytes(row)
        models_of = _answers(row)
        text = " Or: ".join(map(prose, models_of))
        content: dict[str, Any] = {JSON: self._document(self._schemas.answered(models_of))}
        if row.ask is ListEvents:
            content[EVENTS] = {
                "schema": {"type": "string", "description": "With `follow`: an event for each `Event`."},
                "example": _EVENT_STREAM,
            }
        found = {HTTPStatus(row.status): {"description": text, "headers": headers(), "content": content}}
        for kind in BEFORE:
            if issubclass(kind, row.answer) and row.status != HTTPStatus.OK:
                before = prose(kind)
                found[HTTPStatus.OK] = {"description": before, "headers": headers(), "content": content}
        if issubclass(row.ask, Claim):
            nothing = prose(models.Empty).partition(";")[0]
            found[HTTPStatus.NO_CONTENT] = {
                "description": f"{nothing}.", "headers": headers("Retry-After")
            }  # fmt: skip
        return found

    def _document(self, schema: Schema) -> dict[str, Any]:
        return {"schema": schema, "example": Examples(self._schemas.written).answered(schema)}


def _answers(row: Row) -> list[type[Any]]:
    """The models that a row's answer may be of. One that bears a tag is one of several, which the verb's own
    annotation names; an act's answer is what its generator returns.
    """
    if row.answer.__struct_config__.tag is None:
        return [row.answer]
    said = get_type_hints(row.verb)["return"]
    said = get_args(said)[-1] if get_origin(said) is not None and not isinstance(said, UnionType) else said
    return list(get_args(said)) or [row.answer]


def _bytes(row: Row) -> dict[HTTPStatus, dict[str, Any]]:
    names = ["ETag", "Accept-Ranges", *(["X-Version", "X-Created-At"] if row.ask is GetObject else [])]
    media_type = BYTES if row.ask is GetObject else OCTETS  # an object's is what it was stored with
    content: dict[str, Any] = {media_type: {"schema": {}}}  # bytes are of no JSON type
    return {
        HTTPStatus.OK: {"description": "The bytes.", "headers": headers(*names), "content": content},
        HTTPStatus.PARTIAL_CONTENT: {
            "description": "The bytes that `Range` asked for.",
            "headers": headers(*names, "Content-Range"), "content": content,
        },
        HTTPStatus.NOT_MODIFIED: {
            "description": "The client has them: `If-None-Match` names them.", "headers": headers("ETag"),
        },
    }  # fmt: skip


def _join(into: dict[str, Any], other: dict[str, Any]) -> None:
    """Let one answer be another too: what a flag picks is told beside what comes without it. A header that
    only one of them has need not be there.
    """
    if into is other:
        return
    into["description"] = f"{into['description']} {other['description']}"
    both = into["headers"].keys() & other["headers"].keys()
    into["headers"] = {
        name: one if name in both else _IF_ANY[name]
        for name, one in {**into["headers"], **other["headers"]}.items()
    }
    for media_type, said in other["content"].items():
        there = into["content"].setdefault(media_type, said)
        if there is not said and there["schema"] != said["schema"]:
            several = there["schema"].get("anyOf", [there["schema"]])
            into["content"][media_type] = {**there, "schema": {"anyOf": [*several, said["schema"]]}}
    if BYTES in into["content"] and JSON in into["content"]:
        told = into["content"][JSON]["schema"].get("anyOf", [into["content"][JSON]["schema"]])
        schemas = [*told, *([_ANYTHING] if _ANYTHING not in told else [])]
        into["content"][JSON] = {**into["content"][JSON], "schema": {"anyOf": schemas}}


def _place(kind: Kind) -> tuple[int, str, str]:
    return kind.status, kind.code, kind.__name__


def _problem(kinds: list[Kind]) -> dict[str, Any]:
    """One status's answer."""
    texts = [f"`{kind.code}`: {prose(kind)}" for kind in kinds]
    codes = sorted({kind.code for kind in kinds})
    narrowed = {
        "type": "object",
        "properties": {"status": {"const": kinds[0].status}, "code": {"enum": codes}},
    }
    names = [
        *(["WWW-Authenticate"] if Unauthorized in kinds else []),
        *(["Content-Range"] if RangeNotSatisfiable in kinds else []),
        *(["Retry-After"] if kinds[0].status in (429, 503) else []),
    ]
    examples = {kind.code: {"value": _example(kind)} for kind in kinds}
    content = {"schema": {"allOf": [pointer(PROBLEM), narrowed]}, "examples": examples}
    return {"description": " ".join(texts), "headers": headers(*names), "content": {PROBLEM_JSON: content}}


def _example(kind: Kind) -> dict[str, object]:
    more: dict[str, Any] = {}
    if kind is VersionConflict:
        more["current_version"] = 2
    if kind is RangeNotSatisfiable:
        more["size"] = 4
    return kind(**more).problem()
