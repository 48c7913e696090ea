"""The library's verbs for event loops. Made by `make docs` from `Tessera`. Change it there."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, BinaryIO, Unpack

from msgspec import UNSET, UnsetType
from msgspec.structs import asdict

from tessera import limits, models
from tessera.canonical import strict_json
from tessera.errors import InvalidRequest, TesseraError, from_problem
from tessera.library.blobs import _joined, _range
from tessera.library.fields import GrantFields, KeyFields, LiteTaskFields, QueueSettings, TaskFields
from tessera.library.lite import _given
from tessera.library.recall import _halves
from tessera.library.store import _listed, _one_or_more
from tessera.values import with_values


class AsyncVerbs:
    """Each method is the one of `Tessera` with the same name, to be awaited."""

    _door: Any

    async def define_queue(self, name: str, **settings: Unpack[QueueSettings]) -> models.QueueConfig:
        """Make a queue, or change the settings that are given; the others keep their values, or get their
        defaults: `heartbeat_seconds` 60 (1 to 600), `miss_limit` 3 heartbeats (1 to 10), `lease_seconds` 600
        (1 to 3,600), `max_attempts` 3 (1 to 20), `backoff_base_seconds` 30 and `backoff_cap_seconds` 900 (0
        to 30 days), `weight` 1, `paused` False. (Specification §4.)
        """
        return await self._call("define_queue", name=name, **settings)

    async def pause_queue(self, name: str) -> models.QueueConfig:
        """Give no more leases from a queue; all else goes on."""
        return await self._call("pause_queue", name=name)

    async def resume_queue(self, name: str) -> models.QueueConfig:
        """Give leases from a paused queue again."""
        return await self._call("resume_queue", name=name)

    async def queues(self) -> list[models.QueueConfig]:
        """Every queue with its settings, by name."""
        return await self._whole("queues")

    async def queues_page(self, *, limit: int = 100, after: str | None = None) -> models.Queues:
        """A page of them, at most 1,000; pass its `next` as `after` for the page that follows."""
        return await self._call("queues", limit=limit, after=after)

    async def enqueue(self, spec: Mapping[str, Any] | None = None, /, **fields: Unpack[TaskFields]) -> str:
        """Put a task on a queue; its id. Needs `queue`, `kind` and `brief` (a dict of up to 1 MiB as JSON);
        takes `effect_class` ("read"), `priority` (0, from -1,000 to 1,000; high goes first), `task_id` (one
        that the queue has changes nothing), `depends_on` (ids), `delay_seconds` (0 to 30 days) and
        `traceparent`; `spec` is the same as a dict. Refuses a queue or dependency that does not exist with
        `not_found`. (Specification §5.2.)
        """
        return (await self._call("enqueue", **{**(spec or {}), **fields})).task_id

    async def enqueue_batch(self, tasks: Iterable[Mapping[str, Any]]) -> list[str]:
        """Put up to 1,000 tasks on queues, all or none. A later one may depend on an earlier one."""
        return (await self._call("enqueue_batch", tasks=_listed(tasks))).task_ids

    async def task(self, task_id: str, *, wait_seconds: float = 0) -> models.TaskView:
        """One task; with `wait_seconds` (0 to 30) once it is done, dead or cancelled, or the time is up."""
        return await self._call("task", task_id=task_id, wait=wait_seconds)

    async def tasks(
        self,
        queue: str | None = None,
        state: str | None = None,
        kind: str | None = None,
        *,
        limit: int = 100,
        after: str | None = None,
    ) -> models.Tasks:
        """A page of tasks, oldest first; pass its `next` as `after` for the page that follows."""
        return await self._call("tasks", queue=queue, state=state, kind=kind, limit=limit, after=after)

    async def results(self, task_id: str) -> list[models.Result]:
        """Every submit of a task, oldest first."""
        return (await self._call("results", task_id=task_id)).results

    async def cancel(self, task_id: str, reason: str) -> models.TaskView:
        """End a task, and every unfinished descendant with it."""
        return await self._call("cancel", task_id=task_id, reason=reason)

    async def requeue(self, task_id: str) -> str:
        """Put a dead task's work on its queue again as a new task, and return the new id."""
        return (await self._call("requeue", task_id=task_id)).task_id

    async def claim(
        self,
        queue: str | Iterable[str],
        worker: str,
        kinds: Iterable[str] | None = None,
        effect_classes: Iterable[str] | None = None,
        *,
        idempotency_key: str | None = None,
        wait_seconds: float = 0,
    ) -> models.Lease | None:
        """The next lease, or None when nothing is ready, nor becomes so within `wait_seconds` (0 to 30).
        Several queues are served in proportion to their weight. The same idempotency key gives the same lease
        while it lives.
        """
        answer = await self.claim_or_wait(
            queue, worker, kinds, effect_classes, idempotency_key=idempotency_key, wait_seconds=wait_seconds
        )
        return answer if isinstance(answer, models.Lease) else None

    async def claim_or_wait(
        self,
        queue: str | Iterable[str],
        worker: str,
        kinds: Iterable[str] | None = None,
        effect_classes: Iterable[str] | None = None,
        *,
        idempotency_key: str | None = None,
        wait_seconds: float = 0,
    ) -> models.Lease | models.Empty:
        """The same, but an empty answer says when to come back."""
        return await self._call(
            "claim",
            worker=worker,
            kinds=_listed(kinds),
            effect_classes=_listed(effect_classes),
            idempotency_key=idempotency_key,
            wait_seconds=wait_seconds,
            **_one_or_more(queue),
        )

    async def claim_batch(
        self,
        queue: str | Iterable[str],
        worker: str,
        limit: int,
        kinds: Iterable[str] | None = None,
        effect_classes: Iterable[str] | None = None,
        *,
        idempotency_key: str | None = None,
        wait_seconds: float = 0,
    ) -> list[models.Lease]:
        """Up to `limit` leases (at most 100), or none. The same idempotency key gives those that live on."""
        answer = await self.claim_batch_or_wait(
            queue,
            worker,
            limit,
            kinds,
            effect_classes,
            idempotency_key=idempotency_key,
            wait_seconds=wait_seconds,
        )
        return answer.leases if isinstance(answer, models.Leases) else []

    async def claim_batch_or_wait(
        self,
        queue: str | Iterable[str],
        worker: str,
        limit: int,
        kinds: Iterable[str] | None = None,
        effect_classes: Iterable[str] | None = None,
        *,
        idempotency_key: str | None = None,
        wait_seconds: float = 0,
    ) -> models.Leases | models.Empty:
        """The same, but an empty answer says when to come back."""
        return await self._call(
            "claim_batch",
            worker=worker,
            limit=limit,
            kinds=_listed(kinds),
            effect_classes=_listed(effect_classes),
            idempotency_key=idempotency_key,
            wait_seconds=wait_seconds,
            **_one_or_more(queue),
        )

    async def heartbeat(self, task_id: str, fencing_token: int) -> models.Lease:
        """Keep a lease alive, never past its hard deadline. One that has lapsed, or another token than the
        latest, is `stale_lease`: stop the work, it is no longer yours.
        """
        return await self._call("heartbeat", task_id=task_id, fencing_token=fencing_token)

    async def submit(
        self,
        task_id: str,
        fencing_token: int,
        output: Any,
        idempotency_key: str,
        ok: bool = True,
        error: str | None = None,
    ) -> models.Receipt:
        """Hand in what came of a lease: `output` is any JSON of up to 1 MiB; with `ok` False the task is
        tried again, or dead after too many failures, and `error` says why. The same key again returns the
        first receipt and stores nothing. A lease that has ended is `stale_lease`. (Specification §5.4.)
        """
        return await self._call(
            "submit",
            task_id=task_id,
            fencing_token=fencing_token,
            output=output,
            idempotency_key=idempotency_key,
            ok=ok,
            error=error,
        )

    async def submit_batch(self, submits: Iterable[Mapping[str, Any]]) -> list[models.Receipt | TesseraError]:
        """Hand in up to 100 outcomes, each standing alone: its receipt, or its refusal as a value."""
        results = (await self._call("submit_batch", submits=_listed(submits))).results
        return [from_problem(one) if isinstance(one, dict) else one for one in results]

    async def split(
        self, task_id: str, fencing_token: int, children: Iterable[Mapping[str, Any]]
    ) -> list[str]:
        """Turn a task into children and let it wait for them. Returns their ids, in the order given."""
        return (
            await self._call(
                "split", task_id=task_id, fencing_token=fencing_token, children=_listed(children)
            )
        ).children

    async def park(
        self,
        task_id: str,
        fencing_token: int,
        reason: str,
        resume_within: float | None = None,
        *,
        input_schema: Mapping[str, Any] | None = None,
    ) -> models.TaskView:
        """Give a lease back, without a failure, until somebody resumes the task or `resume_within` seconds
        have passed.
        """
        return await self._call(
            "park",
            task_id=task_id,
            fencing_token=fencing_token,
            reason=reason,
            resume_within=resume_within,
            input_schema=input_schema,
        )

    async def resume(self, task_id: str, input: Any, park: int | None = None) -> models.TaskView:
        """Supply what a parked task waits for."""
        return await self._call("resume", task_id=task_id, input=input, park=park)

    async def release(self, task_id: str, fencing_token: int, delay_seconds: float = 0) -> models.TaskView:
        """Give a lease back unharmed: no failure is counted."""
        return await self._call(
            "release", task_id=task_id, fencing_token=fencing_token, delay_seconds=delay_seconds
        )

    async def reap(self) -> int:
        """Settle everything that has fallen due: lapses, retries, parks. Returns how many there were."""
        return (await self._call("reap")).reaped

    async def register_job(self, task_id: str, fencing_token: int, job_id: str, model: str) -> models.Job:
        """Note under a live lease that a model works on the task."""
        fields = dict(task_id=task_id, fencing_token=fencing_token, job_id=job_id, model=model)
        return models.Job(**asdict(await self._call("register_job", **fields)))

    async def update_job(
        self,
        job_id: str,
        status: str | None = None,
        usage: Mapping[str, Any] | None = None,
        cost_usd: float | None = None,
    ) -> models.Job:
        """Note what the model lane says of a job. One cancelled under its live lease fails its task."""
        return await self._call("update_job", job_id=job_id, status=status, usage=usage, cost_usd=cost_usd)

    async def jobs(
        self, task_id: str | None = None, *, limit: int = 100, after: str | None = None
    ) -> models.Jobs:
        """A page of jobs, oldest first, of one task or of all; pass its `next` as `after` for more."""
        return await self._call("jobs", task_id=task_id, limit=limit, after=after)

    async def counts(self, recount: bool = False) -> models.Counts:
        """Every queue's counts; with `recount` also those counted from the tasks, and whether they agree."""
        return await self._call("counts", recount=recount)

    async def health(self) -> models.Health:
        """Whether the store answers, and what waits in it."""
        return await self._call("health")

    async def events(self, after: int = 0, limit: int = 100) -> list[models.Event]:
        """A page of the log: up to 10,000 lines after a `seq`."""
        return (await self._call("events", after=after, limit=limit)).events

    async def _call(self, verb: str, **fields: Any) -> Any:
        return with_values(await self._door.call(verb, strict_json(fields)))

    async def _whole(self, verb: str) -> list[Any]:
        """A list from all its pages; the answer's field has the verb's name."""
        page = await self._call(verb, limit=limits.PAGE_MAX)
        whole = getattr(page, verb)
        while page.next is not None:
            page = await self._call(verb, limit=limits.PAGE_MAX, after=page.next)
            whole += getattr(page, verb)
        return whole

    async def issue_key(self, **body: Unpack[KeyFields]) -> models.IssuedKey:
        """Make a key. The answer is the only place that ever shows its secret. `name` is a label; left out,
        `queues` and `kinds` are all (`*`), `effect_classes` is `["read"]`, `scopes` (`admin`, `store`,
        `agent:runtime`) none, `days` 14, which is the most. `public` needs `approval`, else it is
        `scope_denied`.
        """
        return await self._call("issue_key", **body)

    async def issue_approval(self, **grant: Unpack[GrantFields]) -> models.Approval:
        """The owner's single-use word that one key of this grant may be `public`. Good for an hour."""
        return await self._call("issue_approval", **grant)

    async def revoke_key(self, key_id: str) -> models.KeyGrant:
        """Let a key count no more, at once."""
        return await self._call("revoke_key", key_id=key_id)

    async def keys(self) -> list[models.KeyGrant]:
        """Every key without its secret, oldest first."""
        return await self._whole("keys")

    async def keys_page(self, *, limit: int = 100, after: str | None = None) -> models.Keys:
        """A page of them, at most 1,000; pass its `next` as `after` for the page that follows."""
        return await self._call("keys", limit=limit, after=after)

    async def put_record(
        self, store: str, key: str, value: Any, expected_version: int | None = None
    ) -> models.RecordVersion:
        """Write a JSON value as the next version of a record, if its latest is `expected_version`; None
        expects that the key does not exist. Otherwise `version_conflict`, with `current_version`.
        """
        return await self._call(
            "put_record", store=store, key=key, value=value, expected_version=expected_version
        )

    async def put_records(self, writes: Iterable[Mapping[str, Any]]) -> list[models.RecordVersion]:
        """Write 1 to 100 of them (`store`, `key`, `value`, `expected_version`), across stores, all or
        none.
        """
        written: models.Written = await self._call("put_records", writes=list(writes))
        return written.records

    async def get_record(self, store: str, key: str, version: int | None = None) -> models.RecordVersion:
        """A record's latest version, or a given one; `not_found` if there is none."""
        return await self._call("get_record", store=store, key=key, version=version)

    async def record_history(
        self, store: str, key: str, *, limit: int = 100, after: int = 0
    ) -> models.History:
        """A page of a record's versions, oldest first; pass its `next` as `after` to go on."""
        return await self._call("record_history", store=store, key=key, limit=limit, after=after)

    async def stores(self) -> list[str]:
        """The names of the stores that hold a record, sorted."""
        return await self._whole("stores")

    async def stores_page(self, *, limit: int = 100, after: str | None = None) -> models.Stores:
        """A page of them, at most 1,000; pass its `next` as `after` for the page that follows."""
        return await self._call("stores", limit=limit, after=after)

    async def list_records(
        self, store: str, prefix: str = "", limit: int = 100, *, after: str | None = None
    ) -> models.Records:
        """A page of the records whose keys begin with `prefix`, taken literally, in their latest versions."""
        return await self._call("list_records", store=store, prefix=prefix, limit=limit, after=after)

    async def feeds(self) -> list[models.FeedHead]:
        """Every feed, by name, with the cursor of its last item."""
        return await self._whole("feeds")

    async def feeds_page(self, *, limit: int = 100, after: str | None = None) -> models.Feeds:
        """A page of them, at most 1,000; pass its `next` as `after` for the page that follows."""
        return await self._call("feeds", limit=limit, after=after)

    async def publish_feed(self, feed: str, payload: Any) -> models.Published:
        """Append a JSON value to a feed and return its cursor; the first one makes the feed."""
        return await self._call("publish_feed", feed=feed, payload=payload)

    async def poll_feed(
        self, feed: str, after: int = 0, *, limit: int = 100, wait_seconds: float = 0
    ) -> models.FeedPage:
        """The items of a feed after a cursor, at most 10,000; pass its `next` as `after` to go on. With
        `wait_seconds` (0 to 30) an empty answer is given only when nothing has come in that time.
        """
        return await self._call("poll_feed", feed=feed, after=after, limit=limit, wait=wait_seconds)

    async def put_blob(self, data: bytes | BinaryIO) -> str:
        """Store up to 16 MiB, given as bytes or as a file open for reading, and return their SHA-256. The
        same bytes again change nothing.
        """
        blob: models.Blob = await self._put("put_blob", data)
        return blob.sha256

    async def get_blob(self, sha256: str, start: int | None = None, stop: int | None = None) -> bytes:
        """A blob's bytes, or a slice of them; a negative start alone counts from the end. All of the blob is
        verified first: a damaged one is refused as `unavailable`.
        """
        return _joined(await self.blob_content(sha256, start, stop))

    async def blob_content(
        self, sha256: str, start: int | None = None, stop: int | None = None
    ) -> models.Content:
        """The same in pieces, with what they are."""
        return await self._ask("get_blob", sha256=sha256, range=_range(start, stop))

    async def blob_meta(self, sha256: str) -> models.Blob:
        """The size of a blob, without its bytes."""
        return await self._ask("blob_meta", sha256=sha256)

    async def define_bucket(self, name: str, description: str | None = None) -> models.BucketInfo:
        """Make a bucket, or give one that exists another description."""
        return await self._ask("define_bucket", name=name, description=description)

    async def buckets(self) -> list[models.BucketInfo]:
        """Every bucket, by name."""
        return await self._whole("buckets")

    async def buckets_page(self, *, limit: int = 100, after: str | None = None) -> models.Buckets:
        """A page of them, at most 1,000; pass its `next` as `after` for the page that follows."""
        return await self._ask("buckets", limit=limit, after=after)

    async def put_object(
        self,
        bucket: str,
        key: str,
        data: bytes | BinaryIO,
        expected_version: int | None = None,
        *,
        content_type: str = models.OCTETS,
    ) -> models.ObjectMeta:
        """Store bytes as the next version of an object, if its latest is `expected_version`; None expects
        that the key does not exist. Otherwise `version_conflict`, with `current_version`.
        """
        return await self._put(
            "put_object",
            data,
            bucket=bucket,
            key=key,
            expected_version=expected_version,
            content_type=content_type,
        )

    async def get_object(
        self,
        bucket: str,
        key: str,
        version: int | None = None,
        *,
        start: int | None = None,
        stop: int | None = None,
    ) -> bytes:
        """The bytes of an object's latest version or of a given one, or a slice of them, verified first."""
        return _joined(await self.object_content(bucket, key, version, start=start, stop=stop))

    async def object_content(
        self,
        bucket: str,
        key: str,
        version: int | None = None,
        *,
        start: int | None = None,
        stop: int | None = None,
    ) -> models.Content:
        """The same in pieces, with what they are."""
        return await self._ask(
            "get_object", bucket=bucket, key=key, version=version, range=_range(start, stop)
        )

    async def object_meta(self, bucket: str, key: str, version: int | None = None) -> models.ObjectMeta:
        """An object's latest version or a given one, without its bytes."""
        return await self._ask("object_meta", bucket=bucket, key=key, version=version)

    async def list_objects(
        self, bucket: str, prefix: str = "", *, limit: int = 100, after: str | None = None
    ) -> models.Objects:
        """A page of the objects whose keys begin with `prefix`, taken literally; pass its `next` as `after`
        for the page that follows.
        """
        return await self._ask("list_objects", bucket=bucket, prefix=prefix, limit=limit, after=after)

    async def object_history(
        self, bucket: str, key: str, *, limit: int = 100, after: int = 0
    ) -> models.Versions:
        """A page of an object's versions, oldest first."""
        return await self._ask("object_history", bucket=bucket, key=key, limit=limit, after=after)

    async def _ask(self, verb: str, **fields: Any) -> Any:
        return await self._door.call(verb, strict_json(fields))

    async def _put(self, verb: str, data: bytes | BinaryIO, **fields: Any) -> Any:
        if isinstance(data, bytearray | memoryview):
            data = bytes(data)
        if not isinstance(data, bytes) and (not hasattr(data, "read")):
            raise InvalidRequest("body: bytes, or a file open for reading bytes")
        return await self._door.call(verb, strict_json(fields), data)

    async def define_workspace(self, workspace_id: str, name: str) -> models.Workspace:
        """Make a workspace (`ws_…`), or give it another name. Needs an admin key, as do all definitions."""
        return await self._call("define_workspace", workspace_id=workspace_id, name=name)

    async def define_role(
        self,
        workspace_id: str,
        role_id: str,
        name: str,
        *,
        topic_id: str | None = None,
        lease_seconds: int | UnsetType | None = UNSET,
        accounts: Iterable[str] | UnsetType = UNSET,
    ) -> models.Role:
        """Make a role (`role_…`) of a workspace, or change what is given of it. Its claims go to `topic_id`,
        by default to a topic of the store's own log; `accounts` are those whose messages count there. A lease
        of None is the queue's.
        """
        return await self._call(
            "define_role",
            workspace_id=workspace_id,
            role_id=role_id,
            name=name,
            topic_id=topic_id,
            **_given(lease_seconds=lease_seconds, accounts=accounts),
        )

    async def assign_queue(self, workspace_id: str, queue_id: str) -> models.WorkspaceQueue:
        """Give a defined queue that has had no task to a workspace, for good."""
        return await self._call("assign_queue", workspace_id=workspace_id, queue_id=queue_id)

    async def define_agent(
        self,
        workspace_id: str,
        agent_id: str,
        role_ids: Iterable[str] | UnsetType = UNSET,
        capabilities: Iterable[str] | UnsetType = UNSET,
        *,
        active: bool | UnsetType = UNSET,
    ) -> models.Agent:
        """Make an agent (`agt_…`) of a workspace, active and without roles or capabilities unless they are
        given; or change those of them that are given.
        """
        return await self._call(
            "define_agent",
            workspace_id=workspace_id,
            agent_id=agent_id,
            **_given(role_ids=role_ids, capabilities=capabilities, active=active),
        )

    async def define_lite_task(
        self, spec: Mapping[str, Any] | None = None, /, **fields: Unpack[LiteTaskFields]
    ) -> str:
        """Put a task on a workspace's queue; its id. Needs `workspace_id`, `queue_id`, `title`, `brief` (a
        text) and `required_role_id`; takes `input` (any JSON), `required_capabilities`, `priority`, `task_id`
        and `depends_on`; `spec` is the same as a dict.
        """
        return (await self._call("define_lite_task", **{**(spec or {}), **fields})).task_id

    async def claim_next(
        self,
        queue_id: str,
        agent_id: str,
        idempotency_key: str,
        role_ids: Iterable[str] | None = None,
        lease_seconds: int | None = None,
    ) -> models.ClaimAnswer:
        """Contend for the next task of a workspace's queue: `Claimed` with a lease and the proof that it was
        won, `NoTasks`, or `Rejected` with a reason; each has a `status`. The same key gives the same answer.
        """
        return await self._call(
            "claim_next",
            queue_id=queue_id,
            agent_id=agent_id,
            idempotency_key=idempotency_key,
            role_ids=None if role_ids is None else list(role_ids),
            lease_seconds=lease_seconds,
        )

    async def claim_task(
        self,
        task_id: str,
        agent_id: str,
        idempotency_key: str,
        role_ids: Iterable[str] | None = None,
        lease_seconds: int | None = None,
    ) -> models.ClaimAnswer:
        """The same for one task, which may be `Missed`. `not_found` if there is no such task."""
        return await self._call(
            "claim_task",
            task_id=task_id,
            agent_id=agent_id,
            idempotency_key=idempotency_key,
            role_ids=None if role_ids is None else list(role_ids),
            lease_seconds=lease_seconds,
        )

    async def workspaces(self) -> list[models.Workspace]:
        """The workspaces that exist for the caller, by id."""
        return await self._whole("workspaces")

    async def workspaces_page(self, *, limit: int = 100, after: str | None = None) -> models.Workspaces:
        """A page of them, at most 1,000; pass its `next` as `after` for the page that follows."""
        return await self._call("workspaces", limit=limit, after=after)

    async def workspace(self, workspace_id: str) -> models.WorkspaceView:
        """One workspace with its roles, queues and agents."""
        return await self._call("workspace", workspace_id=workspace_id)

    async def claims(
        self,
        workspace_id: str | None = None,
        topic_id: str | None = None,
        state: str | None = None,
        *,
        limit: int = 100,
        after: str | None = None,
    ) -> models.Claims:
        """A page of claims, won or not, oldest first; pass its `next` as `after` for the page that
        follows.
        """
        return await self._call(
            "claims", workspace_id=workspace_id, topic_id=topic_id, state=state, limit=limit, after=after
        )

    async def topic_messages(
        self, role_id: str, workspace_id: str | None = None, *, after: int = 0, limit: int = 100
    ) -> models.TopicMessages:
        """Rows of a role's topic in the log, as a mirror node shows them; pass `next` as `after` for more.
        `workspace_id` says whose role it is, if several workspaces have one of that id.
        """
        return await self._call(
            "topic_messages", role_id=role_id, workspace_id=workspace_id, after=after, limit=limit
        )

    async def workspace_secret(self, workspace_id: str) -> str:
        """The secret that a workspace's ids are hidden under in the log, in hex; for the owner alone."""
        found: models.WorkspaceSecret = await self._call("workspace_secret", workspace_id=workspace_id)
        return found.secret

    async def recover_claims(self) -> models.Recovered:
        """Finish the claims that were left between two steps a minute ago or earlier. A service does so by
        itself.
        """
        return await self._call("recover_claims")

    async def search_nouns(
        self, query: str, store: str | None = None, bucket: str | None = None, *, limit: int = 10
    ) -> list[models.NounScent]:
        """Records and objects that have the words of a query, in any language, the best first, each told in
        at most 150 tokens. `store` looks among its records only, `bucket` among its objects only, both in
        both.
        """
        found: models.Nouns = await self._call(
            "search_nouns", query=query, store=store, bucket=bucket, limit=limit
        )
        return found.nouns

    async def noun(self, ref: str, *, home: str | None = None) -> models.Noun:
        """What is known of the noun that a scent's `ref` names, and its last versions. `home` (`store` or
        `bucket`) says which is meant where both have one of that name.
        """
        return await self._call("noun", home=home, **_halves(ref))

    async def read_noun(
        self,
        ref: str,
        first: int = 0,
        length: int = 4096,
        *,
        version: int | None = None,
        home: str | None = None,
    ) -> models.NounText:
        """Some of a noun's text, from a byte on, at most 65,536 of them; pass its `next` as `first` to go on.
        What is no text is refused: `get_object` gives bytes.
        """
        return await self._call(
            "read_noun", first=first, length=length, version=version, home=home, **_halves(ref)
        )

    async def match_reflex(self, query: str, *, limit: int = 10) -> models.Recalled:
        """What was learned for something like it (`matches`, the records of `tessera.reflexes`), and tasks
        like it that came to a dead end (`warnings`), the most alike first.
        """
        return await self._call("match_reflex", query=query, limit=limit)
