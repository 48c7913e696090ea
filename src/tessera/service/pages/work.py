"""`/work`: what waits for somebody's answer, and the form that takes it."""

from __future__ import annotations

from http import HTTPStatus

from msgspec import Raw
from msgspec.json import encode

from tessera import models
from tessera.errors import InvalidRequest, NotFound
from tessera.models import Resume, TaskRef
from tessera.rules import forms
from tessera.service.answers import Answer
from tessera.service.pages.desk import Desk, Visit, drawn, elsewhere, path_of, refuse_fields
from tessera.service.pages.render import seconds_between
from tessera.verbs import pages as looks
from tessera.verbs.guarded import Guarded

_PARKED = Guarded(looks.parked, None)
_ONE = Guarded(looks.parked_task, None)
_MODES = ("fields", "text", "json")


class Work:
    """The pages of whoever answers."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    async def tasks(self, visit: Visit) -> Answer:
        """The parked tasks that the key may answer."""
        refuse_fields(visit.fields, "queue", "resumed")
        queue = visit.fields.get("queue") or None
        found: looks.ParkedTasks = await self._desk.look(visit, _PARKED, looks.AskParked(queue))
        return await drawn(
            self._desk, visit, "work.html", found=found, queue=queue, between=seconds_between,
            resumed=visit.fields.get("resumed"),
        )  # fmt: skip

    async def task(self, visit: Visit) -> Answer:
        """One of them, with the form for its answer."""
        refuse_fields(visit.fields, "as")
        mode = visit.fields.get("as")
        if mode not in (None, *_MODES):
            raise InvalidRequest("as: fields, text or json")
        return await self._form(visit, mode, None)

    async def resume(self, visit: Visit) -> Answer:
        """Answer it, by the verb that the API answers by."""
        mode = visit.told("mode")
        try:
            ask = Resume(
                task_id=visit.named["task_id"], input=Raw(await self._input(visit, mode)), park=_park(visit)
            )
            task: models.TaskView = await self._desk.act(visit, "resume", ask)
        except InvalidRequest as refusal:
            return await self._form(visit, mode if mode in _MODES else None, refusal.detail)
        return elsewhere(path_of("work", resumed=task.task_id))

    async def _input(self, visit: Visit, mode: str) -> bytes:
        """The input as JSON, from the fields, the text or the JSON of the form."""
        if mode == "text":
            return encode(visit.told("input").replace("\r\n", "\n"))
        if mode == "json":
            return forms.json_of(visit.told("input"), "Input")
        fields = _fields(await self._one(visit))
        if mode != "fields" or fields is None:
            raise InvalidRequest("this answer is given as text or as JSON")
        return forms.input_of(fields, visit.form)

    async def _one(self, visit: Visit) -> looks.ParkedTask:
        ask = TaskRef(task_id=visit.named["task_id"])
        if len(ask.task_id) > 128:
            raise NotFound("no such task")
        found: looks.ParkedTask = await self._desk.look(visit, _ONE, ask)
        return found

    async def _form(self, visit: Visit, mode: str | None, wrong: str | None) -> Answer:
        """The task and its form, in a form's own way if it has one; after a refusal with what was said."""
        found = await self._one(visit)
        fields = _fields(found)
        if mode is None or (mode == "fields" and fields is None):
            mode = "fields" if fields is not None else "text" if found.schema is None else "json"
        status = HTTPStatus.OK if wrong is None else HTTPStatus.BAD_REQUEST
        left = None if found.due is None else seconds_between(found.due, found.now)
        return await drawn(
            self._desk, visit, "parked.html", status, found=found, task=found.view, fields=fields or [],
            mode=mode, wrong=wrong, left=left, given=visit.form, said=visit.told("input"),
        )  # fmt: skip


def _fields(found: looks.ParkedTask) -> list[forms.Field] | None:
    return None if found.schema is None else forms.fields_of(found.schema)


def _park(visit: Visit) -> int:
    """Which park is answered: the one that the form was made for."""
    text = visit.told("park")
    if not text.isascii() or not text.isdigit() or not 0 < len(text) < 16:
        raise InvalidRequest("the form names no park: open the page again")
    return int(text)
