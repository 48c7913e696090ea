"""Every verb and how each door offers it. Routes, OpenAPI, MCP tools, commands and docs are made from this
table, so a verb that is not here does not exist, and one that is here is offered everywhere the same.
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from tessera import models
from tessera.acts.put import put_blob, put_object
from tessera.lite import looks as lite
from tessera.lite.claiming import claim_next, claim_task
from tessera.lite.exporting import topic_messages, workspace_secret
from tessera.lite.recovery import recover_claims
from tessera.lite.tasks import define_lite_task
from tessera.lite.workspaces import assign_queue, define_agent, define_role, define_workspace
from tessera.models import Answer, Model, Nothing
from tessera.storage.port import Verb
from tessera.verbs import blobs, feeds, jobs, keys, looks, objects, recall, records
from tessera.verbs.cancel import cancel
from tessera.verbs.claim import claim, claim_batch, claims
from tessera.verbs.define_queue import define_queue, pause_queue, resume_queue
from tessera.verbs.enqueue import enqueue, enqueue_batch
from tessera.verbs.guarded import Guarded
from tessera.verbs.heartbeat import heartbeat
from tessera.verbs.keys import caller_for
from tessera.verbs.park import park
from tessera.verbs.reap import reap
from tessera.verbs.release import release
from tessera.verbs.requeue import requeue
from tessera.verbs.resume import resume
from tessera.verbs.split import split
from tessera.verbs.submit import submit, submit_batch, submits

Tool = Literal["core", "wide"] | None


class Row(Struct, frozen=True):
    """One verb: what it takes and gives, what it needs, and where it is met."""

    verb: Verb  # or an act of several transactions
    ask: type[Model]
    answer: type[Answer]
    path: str | None  # None: offered on the store's machine only
    needs: str
    command: str
    method: str = "POST"
    status: int = 200
    header: str | None = None  # a field of the ask that travels as this header
    needs_header: bool = False  # the verb refuses to go without it
    waits: bool = False  # an empty answer may be waited out
    presses: bool = False  # time runs against it: it goes before others
    body: str = "json"  # "bytes": fields travel in path, query and header, the body is what is put
    answer_body: str = "json"  # "bytes": the answer's pieces, told of by its headers
    takes_steps: bool = False  # an act, though its body is JSON: several transactions, and a log between them
    flag: str | None = None  # the query flag that picks this verb among those of its path
    tool: Tool = None  # MCP offers it under the verb's name: always, or in the wide set of tools
    many: Verb | None = None  # its form for many callers at once

    @property
    def name(self) -> str:
        """The verb's name, the same in the library, in MCP and in the docs."""
        return str(self.verb.__name__)

    @property
    def reads(self) -> bool:
        """Whether it only reads."""
        return self.method == "GET"

    def run(self) -> Guarded:
        """The verb behind the check of its caller's key."""
        return Guarded(self.verb, self.many, patient=self.waits, presses=self.presses)


_IDEMPOTENCY = "idempotency_key"
_HOLDER = "the key that claimed"
_QUEUE = "key for the queue"
_STORE = "key with store scope"
_RECORD = "/v1/stores/{store}/records/{key}"
_LITE = "/v1/lite"
_AGENT = "key with scope agent:runtime, of the queue's workspace"
_WORKSPACE = "admin, or a key of the workspace"
_OBJECT = "/v1/buckets/{bucket}/objects/{key}"

_ROWS: tuple[Row, ...] = (
    Row(define_queue, models.DefineQueue, models.QueueConfig, "/v1/queues/define", "admin", "queues define"),
    Row(pause_queue, models.QueueRef, models.QueueConfig, "/v1/queues/pause", "admin", "queues pause"),
    Row(resume_queue, models.QueueRef, models.QueueConfig, "/v1/queues/resume", "admin", "queues resume"),
    Row(
        looks.queues, models.ListNames, models.Queues, "/v1/queues", "any key", "queues list", method="GET",
        tool="core",
    ),
    Row(
        enqueue, models.TaskSpec, models.Enqueued, "/v1/tasks",
        "key for the queue, the kind and each dependency's queue, holding the effect class (admin for "
        "write-repo and public)", "enqueue", status=201, tool="wide",
    ),
    Row(
        enqueue_batch, models.TaskBatch, models.EnqueuedBatch, "/v1/tasks/batch",
        "what enqueuing each of them needs", "enqueue-batch", status=201,
    ),
    Row(
        claim, models.Claim, models.Lease, "/v1/tasks/claim", "key for the queue, kind and effect class",
        "claim", header=_IDEMPOTENCY, waits=True, tool="core", many=claims,
    ),
    Row(
        claim_batch, models.ClaimBatch, models.Leases, "/v1/tasks/claim-batch",
        "key for the queue, kind and effect class", "claim --limit", header=_IDEMPOTENCY, waits=True,
        many=claims,
    ),
    Row(
        heartbeat, models.Heartbeat, models.Lease, "/v1/tasks/heartbeat", _HOLDER, "heartbeat", presses=True,
        tool="core",
    ),
    Row(
        submit, models.Submit, models.Receipt, "/v1/tasks/submit", _HOLDER, "submit", header=_IDEMPOTENCY,
        needs_header=True, tool="core", many=submits,
    ),
    Row(
        submit_batch, models.SubmitBatch, models.Submitted, "/v1/tasks/submit-batch", _HOLDER, "submit-batch",
    ),
    Row(
        split, models.Split, models.Children, "/v1/tasks/split",
        "the key that claimed, holding each child's effect class", "split", tool="core",
    ),
    Row(park, models.Park, models.TaskView, "/v1/tasks/park", _HOLDER, "park", tool="core"),
    Row(
        resume, models.Resume, models.TaskView, "/v1/tasks/resume",
        "key for the queue and the effect class (admin for write-repo and public), other than the key that "
        "parked it (an admin key may be that one)", "resume", tool="core",
    ),
    Row(
        release, models.Release, models.TaskView, "/v1/tasks/release", _HOLDER, "release", tool="wide",
    ),
    Row(
        cancel, models.Cancel, models.TaskView, "/v1/tasks/cancel", "key for the queue and the effect class",
        "cancel", tool="wide",
    ),
    Row(requeue, models.TaskRef, models.Enqueued, "/v1/tasks/requeue", "admin", "requeue"),
    Row(
        jobs.register_job, models.RegisterJob, models.Job, "/v1/jobs", _HOLDER, "jobs register", status=201,
    ),
    Row(
        jobs.update_job, models.UpdateJob, models.Job, "/v1/jobs/{job_id}", _HOLDER, "jobs update",
    ),
    Row(jobs.jobs, models.ListJobs, models.Jobs, "/v1/jobs", "any key; shows its queues", "jobs list", "GET"),
    Row(reap, Nothing, models.Reaped, "/v1/admin/reap", "admin", "reap"),
    Row(
        looks.task, models.AskTask, models.TaskView, "/v1/tasks/{task_id}", _QUEUE, "tasks show", "GET",
        tool="wide",
    ),
    Row(
        looks.tasks, models.ListTasks, models.Tasks, "/v1/tasks", "any key; shows its queues",
        "tasks list", "GET",
    ),
    Row(
        looks.results, models.TaskRef, models.Results, "/v1/tasks/{task_id}/results", _QUEUE, "tasks results",
        "GET", tool="wide",
    ),
    Row(looks.counts, models.AskCounts, models.Counts, "/v1/counts", "any key", "counts", "GET"),
    Row(looks.health, Nothing, models.Health, "/v1/health", "nothing", "health", "GET"),
    Row(looks.events, models.ListEvents, models.Events, "/v1/events", "admin", "events", "GET"),
    Row(
        records.put_record, models.PutRecord, models.RecordVersion, _RECORD, _STORE, "records put",
        many=records.puts, tool="wide",
    ),
    Row(
        records.put_records, models.PutRecords, models.Written, "/v1/stores/batch", _STORE,
        "records put-batch", many=records.puts,
    ),
    Row(
        records.get_record, models.RecordRef, models.RecordVersion, _RECORD, _STORE, "records get", "GET",
        tool="wide",
    ),
    Row(
        records.record_history, models.RecordVersions, models.History, f"{_RECORD}/history", _STORE,
        "records history", "GET", tool="wide",
    ),
    Row(records.stores, models.ListNames, models.Stores, "/v1/stores", _STORE, "records stores", "GET"),
    Row(
        records.list_records, models.ListRecords, models.Records, "/v1/stores/{store}/records", _STORE,
        "records list", "GET", tool="wide",
    ),
    Row(feeds.feeds, models.ListNames, models.Feeds, "/v1/feeds", _STORE, "feeds list", "GET", tool="wide"),
    Row(
        feeds.publish_feed, models.PublishFeed, models.Published, "/v1/feeds/{feed}", _STORE, "feeds publish",
        status=201, tool="wide",
    ),
    Row(
        feeds.poll_feed, models.PollFeed, models.FeedPage, "/v1/feeds/{feed}", _STORE, "feeds poll", "GET",
        waits=True, tool="wide",
    ),
    Row(
        put_blob, models.PutBlob, models.Blob, "/v1/blobs", _STORE, "blobs put", status=201, body="bytes",
    ),
    Row(
        blobs.get_blob, models.GetBlob, models.Content, "/v1/blobs/{sha256}", _STORE, "blobs get", "GET",
        header="range", answer_body="bytes",
    ),
    Row(
        blobs.blob_meta, models.BlobRef, models.Blob, "/v1/blobs/{sha256}", _STORE, "blobs show", "GET",
        flag="meta",
    ),
    Row(
        objects.define_bucket, models.BucketConfig, models.BucketInfo, "/v1/buckets/define", _STORE,
        "buckets define",
    ),
    Row(objects.buckets, models.ListNames, models.Buckets, "/v1/buckets", _STORE, "buckets list", "GET"),
    Row(
        put_object, models.PutObject, models.ObjectMeta, _OBJECT, _STORE, "objects put", status=201,
        header="content_type", body="bytes",
    ),
    Row(
        objects.get_object, models.GetObject, models.Content, _OBJECT, _STORE, "objects get", "GET",
        header="range", answer_body="bytes",
    ),
    Row(
        objects.object_meta, models.ObjectRef, models.ObjectMeta, _OBJECT, _STORE, "objects show", "GET",
        flag="meta",
    ),
    Row(
        objects.list_objects, models.ListObjects, models.Objects, "/v1/buckets/{bucket}/objects", _STORE,
        "objects list", "GET",
    ),
    Row(
        objects.object_history, models.ObjectVersions, models.Versions, _OBJECT, _STORE, "objects history",
        "GET", flag="history",
    ),
    Row(
        recall.search_nouns, models.SearchNouns, models.Nouns, "/v1/nouns", _STORE, "nouns search", "GET",
        tool="wide",
    ),
    Row(
        recall.noun, models.NounRef, models.Noun, "/v1/nouns/{place}/{key}", _STORE, "nouns show", "GET",
        tool="wide",
    ),
    Row(
        recall.read_noun, models.ReadNoun, models.NounText, "/v1/nouns/{place}/{key}/text", _STORE,
        "nouns read", "GET", tool="wide",
    ),
    Row(
        recall.match_reflex, models.MatchReflex, models.Recalled, "/v1/reflexes", _STORE, "reflex match",
        "GET", tool="wide",
    ),
    Row(
        keys.issue_key, models.IssueKeyBody, models.IssuedKey, "/v1/admin/keys", "admin", "keys issue",
        status=201,
    ),
    Row(keys.keys, models.ListNames, models.Keys, "/v1/admin/keys", "admin", "keys list", "GET"),
    Row(
        keys.revoke_key, models.KeyRef, models.KeyGrant, "/v1/admin/keys/{key_id}/revoke", "admin",
        "keys revoke",
    ),
    Row(
        claim_next, models.ClaimNext, models.Claimed, "/v1/queues/{queue_id}/claim-next", _AGENT,
        "lite claim-next", takes_steps=True,
    ),
    Row(
        claim_task, models.ClaimTask, models.Claimed, "/v1/tasks/{task_id}/claim", _AGENT, "lite claim",
        takes_steps=True,
    ),
    Row(define_workspace, models.DefineWorkspace, models.Workspace, f"{_LITE}/workspaces", "admin",
        "lite workspace define"),
    Row(define_role, models.DefineRole, models.Role, f"{_LITE}/roles", "admin", "lite role define",
        takes_steps=True),
    Row(assign_queue, models.AssignQueue, models.WorkspaceQueue, f"{_LITE}/queues", "admin",
        "lite queue assign"),
    Row(define_agent, models.DefineAgent, models.Agent, f"{_LITE}/agents", "admin", "lite agent define"),
    Row(define_lite_task, models.LiteTaskSpec, models.Enqueued, f"{_LITE}/tasks", "admin",
        "lite task define", status=201),
    Row(lite.workspaces, models.ListNames, models.Workspaces, f"{_LITE}/workspaces", "any key; shows its own",
        "lite workspace list", "GET"),
    Row(lite.workspace, models.WorkspaceRef, models.WorkspaceView, f"{_LITE}/workspaces/{{workspace_id}}",
        _WORKSPACE, "lite workspace show", "GET"),
    Row(lite.claims, models.ListClaims, models.Claims, f"{_LITE}/claims", _WORKSPACE, "lite claims", "GET"),
    Row(topic_messages, models.TopicRows, models.TopicMessages, f"{_LITE}/topics/{{role_id}}/messages",
        _WORKSPACE, "lite export", "GET", takes_steps=True),
    Row(workspace_secret, models.WorkspaceRef, models.WorkspaceSecret, None,
        "the owner, on the store's machine", "lite secret", "GET"),
    Row(recover_claims, Nothing, models.Recovered, f"{_LITE}/recover", "admin", "lite recover",
        takes_steps=True),
    Row(
        keys.issue_approval, models.ApprovalBody, models.Approval, None,
        "the owner, on the store's machine", "approvals issue",
    ),
)  # fmt: skip

SURFACE: dict[str, Row] = {row.name: row for row in _ROWS}

__all__ = ["SURFACE", "Row", "caller_for"]
