"""`/admin`: the operator's desk. What it does, it does by the verbs of the API."""

from __future__ import annotations

from tessera import models
from tessera.errors import InvalidRequest, NotFound
from tessera.limits import KEYS_SHOWN_MAX, TASKS_SHOWN_MAX
from tessera.models import Cancel, KeyRef, ListNames, ListTasks, Nothing, QueueRef, TaskRef
from tessera.rows import Relative
from tessera.rules import grants
from tessera.service.answers import Answer
from tessera.service.pages.charts import picture
from tessera.service.pages.desk import Desk, Visit, drawn, elsewhere, path_of, refuse_fields
from tessera.service.pages.leases import leases_of
from tessera.states import STATE_NUMBER
from tessera.verbs import pages as looks
from tessera.verbs.guarded import Guarded

_STORY = Guarded(looks.story, None)
_QUEUES = Guarded(looks.every_queue, None)
_FILTERS = ("queue", "state", "kind", "after")


class Admin:
    """The pages of operators."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    async def queues(self, visit: Visit) -> Answer:
        """Every queue that the key covers, with its counts."""
        refuse_fields(visit.fields, "did")
        grants.is_admin(visit.caller)
        queues: list[models.QueueConfig] = await self._desk.look(visit, _QUEUES, Nothing())
        health: models.Health = await self._desk.look(visit, "health", Nothing())
        return await drawn(
            self._desk, visit, "admin.html", did=visit.fields.get("did"), health=health,
            queues=[one for one in queues if grants.sees_queue(visit.caller, one.name)],
        )  # fmt: skip

    async def tasks(self, visit: Visit) -> Answer:
        """A page of tasks by queue, state and kind."""
        refuse_fields(visit.fields, *_FILTERS)
        grants.is_admin(visit.caller)
        given = {name: value for name, value in visit.fields.items() if value}
        ask = models.convert({**given, "limit": str(TASKS_SHOWN_MAX)}, ListTasks)
        found: models.Tasks = await self._desk.look(visit, "tasks", ask)
        following = None
        if found.next is not None:
            following = path_of("admin", "tasks", **{**given, "after": found.next})
        return await drawn(self._desk, visit, "tasks.html", found=found, given=given, following=following)

    async def task(self, visit: Visit) -> Answer:
        """One task's whole story."""
        refuse_fields(visit.fields, "since", "did")
        grants.is_admin(visit.caller)
        ask = looks.AskStory(_task_id(visit), _since(visit.fields.get("since")))
        story: looks.Story = await self._desk.look(visit, _STORY, ask)
        task = story.view
        itself = Relative(
            serial=story.family.serial, task_id=task.task_id, queue=task.queue, kind=task.kind,
            state=STATE_NUMBER[task.state], parent=_parent(story), place=0,
        )  # fmt: skip
        family = picture(itself, story.family.relatives, story.family.edges)
        return await drawn(
            self._desk, visit, "story.html", story=story, task=task, did=visit.fields.get("did"),
            leases=leases_of(story.events), picture=family,
        )  # fmt: skip

    async def keys(self, visit: Visit) -> Answer:
        """A page of the keys, without their secrets."""
        refuse_fields(visit.fields, "did", "after")
        after = visit.fields.get("after") or ""
        ask = models.convert({"limit": str(KEYS_SHOWN_MAX), "after": after}, ListNames)
        found: models.Keys = await self._desk.look(visit, "keys", ask)
        now: models.Counts = await self._desk.look(visit, "counts", models.AskCounts())
        following = None if found.next is None else path_of("admin", "keys", after=found.next)
        return await drawn(
            self._desk, visit, "keys.html", keys=found.keys, now=now.as_of, following=following,
            here=path_of(after=after).removeprefix("/"), did=visit.fields.get("did"),
        )  # fmt: skip

    async def cancel(self, visit: Visit) -> Answer:
        """End a task and all under it."""
        ask = Cancel(task_id=_task_id(visit), reason=visit.told("reason").replace("\r\n", "\n"))
        await self._desk.act(visit, "cancel", ask)
        return elsewhere(path_of("admin", "tasks", ask.task_id, did="cancelled"))

    async def requeue(self, visit: Visit) -> Answer:
        """Put a dead task's work on its queue again."""
        new: models.Enqueued = await self._desk.act(visit, "requeue", TaskRef(task_id=_task_id(visit)))
        return elsewhere(path_of("admin", "tasks", new.task_id, did="requeued"))

    async def pause(self, visit: Visit) -> Answer:
        """Give no leases of a queue any more."""
        await self._desk.act(visit, "pause_queue", _queue(visit))
        return elsewhere(path_of("admin", did="paused"))

    async def resume(self, visit: Visit) -> Answer:
        """Give leases of a paused queue again."""
        await self._desk.act(visit, "resume_queue", _queue(visit))
        return elsewhere(path_of("admin", did="resumed"))

    async def revoke(self, visit: Visit) -> Answer:
        """End a key."""
        await self._desk.act(visit, "revoke_key", models.convert({"key_id": visit.named["key_id"]}, KeyRef))
        return elsewhere(path_of("admin", "keys", did="revoked", after=visit.fields.get("after")))


def _queue(visit: Visit) -> QueueRef:
    return models.convert({"name": visit.named["queue"]}, QueueRef)


def _task_id(visit: Visit) -> str:
    task_id = visit.named["task_id"]
    if len(task_id) > 128:
        raise NotFound("no such task")
    return task_id


def _since(text: str | None) -> int | None:
    if text is None:
        return None
    if not text.isascii() or not text.isdigit() or len(text) > 15:
        raise InvalidRequest("since: a number of the log")
    return int(text)


def _parent(story: looks.Story) -> int | None:
    return next((one.serial for one in story.family.relatives if one.task_id == story.view.parent_id), None)
