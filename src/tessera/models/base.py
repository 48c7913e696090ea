"""The manners of every model, the kinds of field they share, and the strict decoder."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar

import msgspec
from msgspec import Meta, Raw, Struct

from tessera import limits, names
from tessera.errors import InvalidRequest
from tessera.wording import expected, lone_surrogate

Name = Annotated[str, Meta(pattern=names.NAME_PATTERN)]
NameOrAll = Annotated[str, Meta(pattern=names.NAME_OR_ALL_PATTERN)]
TaskId = Annotated[str, Meta(pattern=names.TASK_ID_PATTERN)]
WorkspaceId = Annotated[str, Meta(pattern=names.WORKSPACE_PATTERN)]
KnownId = Annotated[str, Meta(min_length=1, max_length=128)]  # names a task that exists, or does not
IdempotencyKey = Annotated[str, Meta(pattern=names.IDEMPOTENCY_KEY_PATTERN)]
Worker = Annotated[str, Meta(min_length=1, max_length=limits.WORKER_CHARS_MAX)]
Token = Annotated[int, Meta(ge=1, le=limits.INTEGER_MAX)]
Priority = Annotated[int, Meta(ge=-limits.PRIORITY_MAX, le=limits.PRIORITY_MAX)]
EffectClass = Literal["read", "write-internal", "write-repo", "public"]
Scope = Literal["admin", "store", "agent:runtime"]
Dependencies = Annotated[list[TaskId], Meta(max_length=limits.DEPENDENCIES_PER_TASK_MAX)]
Delay = Annotated[float, Meta(ge=0, le=limits.DELAY_SECONDS_MAX)]
Wait = Annotated[float, Meta(ge=0, le=limits.WAIT_SECONDS_MAX)]
Reason = Annotated[str, Meta(max_length=limits.REASON_BYTES_MAX)]
State = Literal["ready", "leased", "waiting", "done", "dead", "cancelled"]
Limit = Annotated[int, Meta(ge=1, le=limits.PAGE_MAX)]
AfterId = Annotated[str, Meta(max_length=128)]  # of the last thing of the page before; empty: from the start
After = Annotated[int, Meta(ge=0, le=limits.INTEGER_MAX)]  # a cursor that is a number
Key = Annotated[str, Meta(pattern=names.KEY_PATTERN)]  # of a record or an object
Prefix = Annotated[str, Meta(max_length=256)]
Version = Annotated[int, Meta(ge=1, le=limits.INTEGER_MAX)]

# A document stays raw JSON inside the house; the library shows its value.
if TYPE_CHECKING:
    Document = Any
else:
    Document = Raw

NULL = Raw(b"null")


class Model(Struct, frozen=True, forbid_unknown_fields=True, gc=False):
    """The manners of every model, and those of a request: a field that it does not have is refused."""


class Answer(Model, frozen=True, forbid_unknown_fields=False):
    """The manners of an answer: a client passes over fields that a newer service adds."""


AnyModel = TypeVar("AnyModel", bound=Model)


def decode(document: bytes, model: type[AnyModel], elsewhere: Collection[str] = ()) -> AnyModel:
    """A request from JSON, or `invalid_request` with the field's path. What was sent is never echoed. Of
    fields that a door takes `elsewhere` than in the document no refusal says that they belong into it.
    """
    try:
        return msgspec.json.decode(document, type=model)
    except RecursionError as error:
        raise InvalidRequest("nested too deeply") from error
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        said = lone_surrogate(error, document) or _said(*expected(error, model, elsewhere=elsewhere))
        raise InvalidRequest(said) from error


def convert(fields: dict[str, str], model: type[AnyModel]) -> AnyModel:
    """A request from the strings of a path and a query, or `invalid_request` with the field's name. An empty
    `after` is the start of every list, as if it were left out: of those whose cursors are numbers too.
    """
    if fields.get("after") == "":
        fields = {name: value for name, value in fields.items() if name != "after"}
    try:
        return msgspec.convert(fields, type=model, strict=False)
    except msgspec.MsgspecError as error:
        raise InvalidRequest(_said(*expected(error, model, of_text=True))) from error


def _said(detail: str, path: str) -> str:
    """The field first, then what was expected of it."""
    if path:
        detail = f"{path}: {detail[0].lower()}{detail[1:]}"
    return detail[: limits.DETAIL_CHARS_MAX]


class Nothing(Model, frozen=True):
    """A request without fields."""


class ListNames(Model, frozen=True):
    """Which names or ids to list, in byte order; `after` is the last one of the page before."""

    limit: Limit = limits.PAGE_DEFAULT
    after: Prefix | None = None
