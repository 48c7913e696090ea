"""What travels: requests and answers, strict and frozen. The wire, the library and the docs share these.
(Contract §3.)

A request field with a default may be left out. An answer shows every field, null when empty. Times are
RFC 3339 strings, durations are seconds. Documents (briefs, outputs, inputs) stay `Raw` inside the house:
canonical text goes from the store to the wire without being parsed.
"""

from msgspec import Raw

from tessera.models.base import NULL, Answer, AnyModel, EffectClass, Model, Nothing, convert, decode
from tessera.models.blobs import (
    OCTETS,
    Blob,
    BlobRef,
    BucketConfig,
    BucketInfo,
    Buckets,
    Content,
    GetBlob,
    GetObject,
    ListObjects,
    ObjectMeta,
    ObjectRef,
    Objects,
    ObjectVersions,
    PutBlob,
    PutObject,
    Versions,
)
from tessera.models.feeds import FeedHead, FeedItem, FeedPage, Feeds, PollFeed, Published, PublishFeed
from tessera.models.jobs import Job, Jobs, KnownJob, ListJobs, RegisterJob, UpdateJob
from tessera.models.keys import Approval, ApprovalBody, IssuedKey, IssueKeyBody, KeyGrant, KeyRef, Keys
from tessera.models.leases import (
    Cancel,
    Child,
    Children,
    Claim,
    ClaimBatch,
    Empty,
    Heartbeat,
    Input,
    Lease,
    Leases,
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
    SubmitBatch,
    Submitted,
)
from tessera.models.lite import (
    Agent,
    AssignQueue,
    ClaimAnswer,
    Claimed,
    ClaimNext,
    Claims,
    ClaimTask,
    ClaimView,
    DefineAgent,
    DefineRole,
    DefineWorkspace,
    Details,
    ListClaims,
    LiteTaskSpec,
    Missed,
    NoTasks,
    Recovered,
    Rejected,
    Role,
    Workspace,
    WorkspaceQueue,
    WorkspaceRef,
    Workspaces,
    WorkspaceView,
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
from tessera.models.recall import (
    DeadEnd,
    MatchReflex,
    Noun,
    NounRef,
    Nouns,
    NounScent,
    NounText,
    NounVersion,
    ReadNoun,
    Recalled,
    ReflexMatch,
    SearchNouns,
)
from tessera.models.records import (
    History,
    ListRecords,
    PutRecord,
    PutRecords,
    RecordRef,
    Records,
    RecordVersion,
    RecordVersions,
    Stores,
    Written,
)
from tessera.models.tasks import (
    AskTask,
    Enqueued,
    EnqueuedBatch,
    EnqueuedBefore,
    ListTasks,
    TaskBatch,
    TaskRef,
    Tasks,
    TaskSpec,
    TaskView,
)
from tessera.models.topics import (
    AppendMessage,
    ChunkInfo,
    InitialTransaction,
    MadeTopic,
    Proof,
    ReadTopic,
    TopicMessage,
    TopicMessages,
    TopicRows,
    TopicsVerified,
    TopicVerified,
    WorkspaceSecret,
)
from tessera.models.upkeep import (
    Advice,
    BackedUp,
    Check,
    Diagnosis,
    Epoch,
    FileFigures,
    Finding,
    LateQueue,
    Moved,
    Restored,
    TimeFigures,
    Verified,
)

__all__ = [
    "NULL", "OCTETS", "Advice", "Agent", "Answer", "AnyModel", "AppendMessage", "Approval",
    "ApprovalBody", "AskCounts", "AskTask", "AssignQueue", "BackedUp", "Blob", "BlobRef", "BucketConfig",
    "BucketInfo", "Buckets", "Cancel", "Check", "Child", "Children", "ChunkInfo", "Claim", "ClaimAnswer",
    "ClaimBatch", "ClaimNext", "ClaimTask", "ClaimView", "Claimed", "Claims", "Content", "Counts",
    "DeadEnd", "DefineAgent", "DefineQueue", "DefineRole", "DefineWorkspace", "Details", "Diagnosis",
    "EffectClass", "Empty", "Enqueued", "EnqueuedBatch", "EnqueuedBefore", "Epoch", "Event", "Events",
    "FeedHead", "FeedItem", "FeedPage", "Feeds", "FileFigures", "Finding", "GetBlob", "GetObject",
    "Health", "Heartbeat", "History", "InitialTransaction", "Input", "IssueKeyBody", "IssuedKey", "Job",
    "Jobs", "KeyGrant", "KeyRef", "Keys", "KnownJob", "LateQueue", "Lease", "Leases", "ListClaims",
    "ListEvents", "ListJobs", "ListObjects", "ListRecords", "ListTasks", "LiteTaskSpec", "MadeTopic",
    "MatchReflex", "Missed", "Model", "Moved", "NoTasks", "Nothing", "Noun", "NounRef", "NounScent",
    "NounText", "NounVersion", "Nouns", "ObjectMeta", "ObjectRef", "ObjectVersions", "Objects", "Outcome",
    "Park", "PollFeed", "Proof", "PublishFeed", "Published", "PutBlob", "PutObject", "PutRecord",
    "PutRecords", "QueueConfig", "QueueCounts", "QueueHealth", "QueueRef", "Queues", "Raw", "ReadNoun",
    "ReadTopic", "Reaped", "Recalled", "Receipt", "RecordRef", "RecordVersion", "RecordVersions",
    "Records", "Recovered", "ReflexMatch", "RegisterJob", "Rejected", "Release", "Restored", "Result",
    "Results", "Resume", "Role", "SearchNouns", "Split", "Stores", "Submit", "SubmitBatch", "Submitted",
    "TaskBatch", "TaskRef", "TaskSpec", "TaskView", "Tasks", "TimeFigures", "TopicMessage",
    "TopicMessages", "TopicRows", "TopicVerified", "TopicsVerified", "UpdateJob", "Verified", "Versions",
    "Workspace", "WorkspaceQueue", "WorkspaceRef", "WorkspaceSecret", "WorkspaceView", "Workspaces",
    "Written", "convert", "decode",
]  # fmt: skip
