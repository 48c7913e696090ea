"""What travels: requests and answers, strict and frozen. The wire, the library and the docs share these.
(Contract §3.)

A request field with a default may be left out. An answer shows every field, null when empty. Times are
RFC 3339 strings, durations are seconds. Documents (briefs, outputs, inputs) stay `Raw` inside the house:
canonical text goes from the store to the wire without being parsed.
"""

from msgspec import Raw

from tessera.models.base import AnyModel, EffectClass, Model, NULL, Nothing, decode
from tessera.models.jobs import Job, Jobs, ListJobs, RegisterJob, UpdateJob
from tessera.models.keys import Approval, ApprovalBody, IssueKeyBody, IssuedKey, KeyGrant, KeyRef, Keys
from tessera.models.leases import Cancel, Child, Children, Claim, ClaimBatch, Empty, Heartbeat, Input, Lease, Leases, Outcome, Park, Reaped, Receipt, Release, Result, Results, Resume, Split, Submit, SubmitBatch, Submitted
from tessera.models.looks import AskCounts, Counts, Event, Events, Health, ListEvents, QueueCounts, QueueHealth
from tessera.models.queues import DefineQueue, QueueConfig, QueueRef, Queues
from tessera.models.tasks import Enqueued, EnqueuedBatch, ListTasks, TaskBatch, TaskRef, TaskSpec, TaskView, Tasks

__all__ = ["AnyModel", "Approval", "ApprovalBody", "AskCounts", "Cancel", "Child", "Children", "Claim", "ClaimBatch", "Counts", "DefineQueue", "EffectClass", "Empty", "Enqueued", "EnqueuedBatch", "Event", "Events", "Health", "Heartbeat", "Input", "IssueKeyBody", "IssuedKey", "Job", "Jobs", "KeyGrant", "KeyRef", "Keys", "Lease", "Leases", "ListEvents", "ListJobs", "ListTasks", "Model", "NULL", "Nothing", "Outcome", "Park", "QueueConfig", "QueueCounts", "QueueHealth", "QueueRef", "Queues", "Raw", "Reaped", "Receipt", "RegisterJob", "Release", "Result", "Results", "Resume", "Split", "Submit", "SubmitBatch", "Submitted", "TaskBatch", "TaskRef", "TaskSpec", "TaskView", "Tasks", "UpdateJob", "decode"]
