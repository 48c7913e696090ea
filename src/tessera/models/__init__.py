"""What travels: requests and answers, strict and frozen. The wire, the library and the docs share these.
(Contract §3.)

A request field with a default may be left out. An answer shows every field, null when empty. Times are
RFC 3339 strings, durations are seconds. Documents (briefs, outputs, inputs) stay `Raw` inside the house:
canonical text goes from the store to the wire without being parsed.
"""

from msgspec import Raw

from tessera.models.base import NULL, AnyModel, EffectClass, Model, Nothing, decode
from tessera.models.keys import Approval, ApprovalBody, IssuedKey, IssueKeyBody, KeyGrant, KeyRef, Keys
from tessera.models.leases import (
    Cancel,
    Child,
    Children,
    Claim,
    Empty,
    Heartbeat,
    Input,
    Lease,
    Outcome,
    Park,
    Reaped,
    Receipt,
    Release,
    Result,
    Results,
    Resume,
    Split,
    Submit,
)
from tessera.models.looks import (
    AskCounts,
    Counts,
    Event,
    Events,
    Health,
    ListEvents,
    QueueCounts,
    QueueHealth,
)
from tessera.models.queues import DefineQueue, QueueConfig, QueueRef, Queues
from tessera.models.tasks import Enqueued, ListTasks, TaskRef, Tasks, TaskSpec, TaskView

__all__ = [
    "NULL",
    "AnyModel",
    "Approval",
    "ApprovalBody",
    "AskCounts",
    "Cancel",
    "Child",
    "Children",
    "Claim",
    "Counts",
    "DefineQueue",
    "EffectClass",
    "Empty",
    "Enqueued",
    "Event",
    "Events",
    "Health",
    "Heartbeat",
    "Input",
    "IssueKeyBody",
    "IssuedKey",
    "KeyGrant",
    "KeyRef",
    "Keys",
    "Lease",
    "ListEvents",
    "ListTasks",
    "Model",
    "Nothing",
    "Outcome",
    "Park",
    "QueueConfig",
    "QueueCounts",
    "QueueHealth",
    "QueueRef",
    "Queues",
    "Raw",
    "Reaped",
    "Receipt",
    "Release",
    "Result",
    "Results",
    "Resume",
    "Split",
    "Submit",
    "TaskRef",
    "TaskSpec",
    "TaskView",
    "Tasks",
    "decode",
]
