"""The store in your own process: one method per verb, synchronous, safe from any thread.

Arguments travel as JSON and are checked by the same models as a request over HTTP, so what one door refuses
the other does too. Answers are the models of the wire, with documents (briefs, outputs, inputs) as Python
values. Every refusal is a `TesseraError` with a `code`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, BinaryIO, NoReturn, Protocol, Unpack

from msgspec.structs import asdict

from tessera import limits, models
from tessera.canonical import strict_json
from tessera.errors import TesseraError, from_problem
from tessera.library.blobs import BlobVerbs
from tessera.library.fields import QueueSettings, TaskFields
from tessera.library.keys import KeyVerbs
from tessera.library.lite import LiteVerbs
from tessera.library.recall import RecallVerbs
from tessera.library.records import RecordVerbs
from tessera.library.upkeep import UpkeepVerbs
from tessera.values import with_values


class Door(Protocol):
    """Where verbs are carried out: this process's store, or a service somewhere."""

    def call(self, verb: str, ask: bytes, body: bytes | BinaryIO = b"") -> Any:
        """Run the verb that the surface lists under this name; return its answer or raise its refusal. `body`
        is for verbs that take bytes.
        """

    def as_key(self, secret: str) -> Door:
        """The same door for the holder of a key."""

    def close(self) -> None:
        """Let go of the store."""


class Tessera(KeyVerbs, RecordVerbs, BlobVerbs, LiteVerbs, RecallVerbs, UpkeepVerbs):
    """An open store. Opened directly on a file it has all rights; `as_key` gives the view of a key."""

    def __init__(self, door: Door) -> None:
        self._door = door

    @property
    def door(self) -> Door:
        """Where its verbs are carried out."""
        return self._door

    def as_key(self, secret: str) -> Tessera:
        """The same store with only the rights of a key. Its verbs raise `unauthorized` for an unknown one."""
        return Tessera(self._door.as_key(secret))

    def close(self) -> None:
        """Let go of the store; nothing that was answered is lost."""
        self._door.close()

    def __reduce__(self) -> NoReturn:
        """An open store belongs to its process."""
        raise TypeError("an open store is neither copied nor pickled: open it again where it is needed")

    def __enter__(self) -> Tessera:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # Queues

    def define_queue(self, name: str, **settings: Unpack[QueueSettings]) -> models.QueueConfig:
        """Make a queue, or change the settings that are given; the others keep their values, or get their
        defaults: `heartbeat_seconds` 60 (1 to 600), `miss_limit` 3 heartbeats (1 to 10), `lease_seconds` 600
        (1 to 3,600), `max_attempts` 3 (1 to 20), `backoff_base_seconds` 30 and `backoff_cap_seconds` 900 (0
        to 30 days), `weight` 1, `paused` False. (Specification §4.)
        """
        return self._call("define_queue", name=name, **settings)

    def pause_queue(self, name: str) -> models.QueueConfig:
        """Give no more leases from a queue; all else goes on."""
        return self._call("pause_queue", name=name)

    def resume_queue(self, name: str) -> models.QueueConfig:
        """Give leases from a paused queue again."""
        return self._call("resume_queue", name=name)

    def queues(self) -> list[models.QueueConfig]:
        """Every queue with its settings, by name."""
        return self._whole("queues")

    def queues_page(self, *, limit: int = 100, after: str | None = None) -> models.Queues:
        """A page of them, at most 1,000; pass its `next` as `after` for the page that follows."""
        return self._call("queues", limit=limit, after=after)

    # Tasks

    def enqueue(self, spec: Mapping[str, Any] | None = None, /, **fields: Unpack[TaskFields]) -> str:
        """Put a task on a queue; its id. Needs `queue`, `kind` and `brief` (a dict of up to 1 MiB as JSON);
        takes `effect_class` ("read"), `priority` (0, from -1,000 to 1,000; high goes first), `task_id` (one
        that the queue has changes nothing), `depends_on` (ids), `delay_seconds` (0 to 30 days) and
        `traceparent`; `spec` is the same as a dict. Refuses a queue or dependency that does not exist with
        `not_found`. (Specification §5.2.)
        """
        return self._call("enqueue", **{**(spec or {}), **fields}).task_id

    def enqueue_batch(self, tasks: Iterable[Mapping[str, Any]]) -> list[str]:
        """Put up to 1,000 tasks on queues, all or none. A later one may depend on an earlier one."""
        return self._call("enqueue_batch", tasks=_listed(tasks)).task_ids

    def task(self, task_id: str, *, wait_seconds: float = 0) -> models.TaskView:
        """One task; with `wait_seconds` (0 to 30) once it is done, dead or cancelled, or the time is up."""
        return self._call("task", task_id=task_id, wait=wait_seconds)

    def tasks(
        self, queue: str | None = None, state: str | None = None, kind: str | None = None, *,
        limit: int = 100, after: str | None = None,
    ) -> models.Tasks:  # fmt: skip
        """A page of tasks, oldest first; pass its `next` as `after` for the page that follows."""
        return self._call("tasks", queue=queue, state=state, kind=kind, limit=limit, after=after)

    def results(self, task_id: str) -> list[models.Result]:
        """Every submit of a task, oldest first."""
        return self._call("results", task_id=task_id).results

    def cancel(self, task_id: str, reason: str) -> models.TaskView:
        """End a task, and every unfinished descendant with it."""
        return self._call("cancel", task_id=task_id, reason=reason)

    def requeue(self, task_id: str) -> str:
        """Put a dead task's work on its queue again as a new task, and return the new id."""
        return self._call("requeue", task_id=task_id).task_id

    # Leases

    def claim(
        self, queue: str | Iterable[str], worker: str, kinds: Iterable[str] | None = None,
        effect_classes: Iterable[str] | None = None, *, idempotency_key: str | None = None,
        wait_seconds: float = 0,
    ) -> models.Lease | None:  # fmt: skip
        """The next lease, or None when nothing is ready, nor becomes so within `wait_seconds` (0 to 30).
        Several queues are served in proportion to their weight. The same idempotency key gives the same lease
        while it lives.
        """
        answer = self.claim_or_wait(
            queue, worker, kinds, effect_classes, idempotency_key=idempotency_key, wait_seconds=wait_seconds
        )
        return answer if isinstance(answer, models.Lease) else None

    def claim_or_wait(
        self, queue: str | Iterable[str], worker: str, kinds: Iterable[str] | None = None,
        effect_classes: Iterable[str] | None = None, *, idempotency_key: str | None = None,
        wait_seconds: float = 0,
    ) -> models.Lease | models.Empty:  # fmt: skip
        """The same, but an empty answer says when to come back."""
        return self._call(
            "claim", worker=worker, kinds=_listed(kinds), effect_classes=_listed(effect_classes),
            idempotency_key=idempotency_key, wait_seconds=wait_seconds, **_one_or_more(queue),
        )  # fmt: skip

    def claim_batch(
        self, queue: str | Iterable[str], worker: str, limit: int, kinds: Iterable[str] | None = None,
        effect_classes: Iterable[str] | None = None, *, idempotency_key: str | None = None,
        wait_seconds: float = 0,
    ) -> list[models.Lease]:  # fmt: skip
        """Up to `limit` leases (at most 100), or none. The same idempotency key gives those that live on."""
        answer = self.claim_batch_or_wait(
            queue, worker, limit, kinds, effect_classes, idempotency_key=idempotency_key,
            wait_seconds=wait_seconds,
        )  # fmt: skip
        return answer.leases if isinstance(answer, models.Leases) else []

    def claim_batch_or_wait(
        self, queue: str | Iterable[str], worker: str, limit: int, kinds: Iterable[str] | None = None,
        effect_classes: Iterable[str] | None = None, *, idempotency_key: str | None = None,
        wait_seconds: float = 0,
    ) -> models.Leases | models.Empty:  # fmt: skip
        """The same, but an empty answer says when to come back."""
        return self._call(
            "claim_batch", worker=worker, limit=limit, kinds=_listed(kinds),
            effect_classes=_listed(effect_classes), idempotency_key=idempotency_key,
            wait_seconds=wait_seconds, **_one_or_more(queue),
        )  # fmt: skip

    def heartbeat(self, task_id: str, fencing_token: int) -> models.Lease:
        """Keep a lease alive, never past its hard deadline. One that has lapsed, or another token than the
        latest, is `stale_lease`: stop the work, it is no longer yours.
        """
        return self._call("heartbeat", task_id=task_id, fencing_token=fencing_token)

    def submit(
        self, task_id: str, fencing_token: int, output: Any, idempotency_key: str, ok: bool = True,
        error: str | None = None,
    ) -> models.Receipt:  # fmt: skip
        """Hand in what came of a lease: `output` is any JSON of up to 1 MiB; with `ok` False the task is
        tried again, or dead after too many failures, and `error` says why. The same key again returns the
        first receipt and stores nothing. A lease that has ended is `stale_lease`. (Specification §5.4.)
        """
        return self._call(
            "submit", task_id=task_id, fencing_token=fencing_token, output=output,
            idempotency_key=idempotency_key, ok=ok, error=error,
        )  # fmt: skip

    def submit_batch(self, submits: Iterable[Mapping[str, Any]]) -> list[models.Receipt | TesseraError]:
        """Hand in up to 100 outcomes, each standing alone: its receipt, or its refusal as a value."""
        results = self._call("submit_batch", submits=_listed(submits)).results
        return [from_problem(one) if isinstance(one, dict) else one for one in results]

    def split(self, task_id: str, fencing_token: int, children: Iterable[Mapping[str, Any]]) -> list[str]:
        """Turn a task into children and let it wait for them. Returns their ids, in the order given."""
        return self._call(
            "split", task_id=task_id, fencing_token=fencing_token, children=_listed(children)
        ).children

    def park(
        self, task_id: str, fencing_token: int, reason: str, resume_within: float | None = None, *,
        input_schema: Mapping[str, Any] | None = None,
    ) -> models.TaskView:  # fmt: skip
        """Give a lease back, without a failure, until somebody resumes the task or `resume_within` seconds
        have passed.
        """
        return self._call(
            "park", task_id=task_id, fencing_token=fencing_token, reason=reason, resume_within=resume_within,
            input_schema=input_schema,
        )  # fmt: skip

    def resume(self, task_id: str, input: Any, park: int | None = None) -> models.TaskView:
        """Supply what a parked task waits for."""
        return self._call("resume", task_id=task_id, input=input, park=park)

    def release(self, task_id: str, fencing_token: int, delay_seconds: float = 0) -> models.TaskView:
        """Give a lease back unharmed: no failure is counted."""
        return self._call(
            "release", task_id=task_id, fencing_token=fencing_token, delay_seconds=delay_seconds
        )

    def reap(self) -> int:
        """Settle everything that has fallen due: lapses, retries, parks. Returns how many there were."""
        return self._call("reap").reaped

    # Model jobs

    def register_job(self, task_id: str, fencing_token: int, job_id: str, model: str) -> models.Job:
        """Note under a live lease that a model works on the task."""
        fields = dict(task_id=task_id, fencing_token=fencing_token, job_id=job_id, model=model)
        return models.Job(**asdict(self._call("register_job", **fields)))  # new or known, the same

    def update_job(
        self, job_id: str, status: str | None = None, usage: Mapping[str, Any] | None = None,
        cost_usd: float | None = None,
    ) -> models.Job:  # fmt: skip
        """Note what the model lane says of a job. One cancelled under its live lease fails its task."""
        return self._call("update_job", job_id=job_id, status=status, usage=usage, cost_usd=cost_usd)

    def jobs(self, task_id: str | None = None, *, limit: int = 100, after: str | None = None) -> models.Jobs:
        """A page of jobs, oldest first, of one task or of all; pass its `next` as `after` for more."""
        return self._call("jobs", task_id=task_id, limit=limit, after=after)

    # Looks

    def counts(self, recount: bool = False) -> models.Counts:
        """Every queue's counts; with `recount` also those counted from the tasks, and whether they agree."""
        return self._call("counts", recount=recount)

    def health(self) -> models.Health:
        """Whether the store answers, and what waits in it."""
        return self._call("health")

    def events(self, after: int = 0, limit: int = 100) -> list[models.Event]:
        """A page of the log: up to 10,000 lines after a `seq`."""
        return self._call("events", after=after, limit=limit).events

    def _call(self, verb: str, **fields: Any) -> Any:
        return with_values(self._door.call(verb, strict_json(fields)))

    def _whole(self, verb: str) -> list[Any]:
        """A list from all its pages; the answer's field has the verb's name."""
        page = self._call(verb, limit=limits.PAGE_MAX)
        whole = getattr(page, verb)
        while page.next is not None:
            page = self._call(verb, limit=limits.PAGE_MAX, after=page.next)
            whole += getattr(page, verb)
        return whole


def _listed(items: Iterable[Any] | None) -> Any:
    """A list for JSON; a lone string, and what is no list at all, is left for the model to refuse."""
    return list(items) if isinstance(items, Iterable) and not isinstance(items, str) else items


def _one_or_more(queue: str | Iterable[str]) -> dict[str, Any]:
    """One queue by its name, or several."""
    return {"queue": queue} if isinstance(queue, str) else {"queues": _listed(queue)}
